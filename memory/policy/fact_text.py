"""What a fact looks like in words: when two are the same, the forms it is shown in, and what stands in it.

Invariant: facts that say the same but for case, spacing, width and outer punctuation have one hash, and no others.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping

from memory.records import Fact

_SPACE = re.compile(r"\s+")
_OUTER = " .!,;:。！、…"

_MOST_URLS = 10
_MOST_COMMANDS = 5
_MOST_PATHS = 10
_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}»”’。、]")
_CODE = re.compile(r"`([^`\n]{2,200})`")
_PROMPT_LINE = re.compile(r"^[ \t]*\$ (\S[^\n]{0,199})$", re.MULTILINE)
_PROGRAMS = """
    apt apt-get aws brew bundle cargo cat cd chmod chown cmake cp curl deno docker docker-compose gcloud gem git go
    gradle grep helm java kubectl ls make mkdir mvn mv node npm npx pip pip3 pipx pnpm poetry psql pytest python
    python3 rm rsync ruff scp sed ssh sudo systemctl tar terraform uv uvx vim wget yarn
"""
_COMMAND_WORDS = frozenset(_PROGRAMS.split())
# A path has at least two parts and begins at a root, a home, a drive or this folder, or ends in a short extension.
_PATH = re.compile(
    r"(?<![\w/.:~\\@+-])(?:(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]*[\w@+-]|~/[\w.@+-]*[\w@+-]|/(?:etc|home|opt|srv|tmp|usr|var)\b"
    r"|[A-Za-z]:\\(?:[\w.@+ -]+\\)*[\w.@+-]*[\w@+-]|(?:[\w.@+-]+/)+[\w@+-]+\.[A-Za-z]\w{0,4})(?![\w/\\])"
)


def normalised(text: str) -> str:
    """The text without what makes no difference: case, width, spacing, and full stops and commas at its ends."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _SPACE.sub(" ", folded).strip(_OUTER)


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


def extracted(text: str) -> Mapping[str, list[str]]:
    """The ``urls``, ``commands`` and ``paths`` that stand in a text, each in order and once; only what there is.

    Commands are the lines after a ``$`` prompt, and text in backticks whose first word is a known program.
    Limits: 10 URLs, 5 commands, 10 paths.
    """
    commands = [code.strip() for code in _CODE.findall(text) if _is_command(code)]
    found = {
        "urls": _distinct(_URL.findall(text), _MOST_URLS),
        "commands": _distinct([*_PROMPT_LINE.findall(text), *commands], _MOST_COMMANDS),
        "paths": _distinct(_PATH.findall(_URL.sub(" ", text)), _MOST_PATHS),
    }
    return {name: values for name, values in found.items() if values}


def _is_command(code: str) -> bool:
    return not _COMMAND_WORDS.isdisjoint(code.split(maxsplit=1)[:1])


def _distinct(values: Iterable[str], limit: int) -> list[str]:
    return list(dict.fromkeys(values))[:limit]


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
