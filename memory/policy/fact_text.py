"""What a fact looks like in words: when two are the same, and the forms it is shown in.

Invariant: facts that say the same but for case, spacing, width and outer punctuation have one hash, and no others.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

from memory.records import Fact

_OUTER = " .!,;:。！、…"


def normalised(text: str) -> str:
    """The text without what makes no difference: case, width, spacing, and full stops and commas at its ends."""
    if text.isascii():  # the same, in a third of the time
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split()).strip(_OUTER)


def text_hash(text: str) -> str:
    """The same 32 hexadecimal digits for all texts that ``normalised`` makes equal."""
    return hashlib.blake2b(normalised(text).encode(errors="replace"), digest_size=16).hexdigest()


def triple_text(subject: str, predicate: str, object_: str) -> str:
    """A triple as words, for example ``user lives in Rome``."""
    return f"{subject} {_words(predicate)} {object_}"


def profile_lines(facts: Iterable[Fact]) -> str:
    """The triples as a profile, one predicate a line: ``lives in: Rome``. Facts without a triple are left out.

    Every subject but ``user`` stands before its predicate: ``Anna, birthday: 3 May``.
    """
    return "\n".join(
        f"{'' if subject == 'user' else f'{subject}, '}{_words(predicate)}: {', '.join(objects)}"
        for subject, predicates in _grouped(facts).items()
        for predicate, objects in predicates.items()
    )


def sentences(facts: Iterable[Fact]) -> str:
    """The facts as running text."""
    ended = (fact.text if fact.text.endswith((".", "!", "?", "。")) else f"{fact.text}." for fact in facts)
    return " ".join(ended)


def nested(facts: Iterable[Fact]) -> dict[str, dict[str, str | list[str]]]:
    """The triples as values for JSON: subject to predicate to object, a list where there are several."""
    return {
        subject: {name: objects[0] if len(objects) == 1 else objects for name, objects in predicates.items()}
        for subject, predicates in _grouped(facts).items()
    }


def graph_triples(facts: Iterable[Fact]) -> list[str]:
    """The triples as edges of a graph: ``(user)-[lives_in]->(Rome)``. Facts without a triple are left out."""
    return [f"({fact.subject})-[{fact.predicate}]->({fact.object})" for fact in facts if _has_triple(fact)]


def _words(predicate: str) -> str:
    return predicate.replace("_", " ")


def _has_triple(fact: Fact) -> bool:
    return bool(fact.subject and fact.predicate and fact.object)


def _grouped(facts: Iterable[Fact]) -> dict[str, dict[str, list[str]]]:
    grouped: dict[str, dict[str, list[str]]] = {}
    for fact in facts:
        if _has_triple(fact):
            objects = grouped.setdefault(fact.subject, {}).setdefault(fact.predicate, [])
            if fact.object not in objects:
                objects.append(fact.object)
    return grouped
