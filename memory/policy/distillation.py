"""What was said, distilled in stages: some hundred bytes of talk to a fact of 80 characters to a few words.

By rule the fact is the sentence that says most, cut to its length, and the core are its words of most content. A model
gives the same as JSON, which is held to the same limits.

Invariant: a fact has at most 80 characters and no more bytes than its limit, a core less than 30 bytes, and neither is
cut within a character. The links, commands and paths of the text stand whole in the metadata of every stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from memory.policy.aspects import (
    MOST_ACTIONS,
    MOST_TOPICS,
    NEUTRAL,
    OUTCOMES,
    actions_in,
    emotion_of,
    is_content,
    outcome_of,
    people_in,
    topics_in,
)
from memory.policy.loose_json import read_json
from memory.policy.metadata import URL, metadata_of
from memory.policy.text import clean

FACT_CHARACTERS = 80
FACT_BYTES = 100
CORE_BYTES = 29

_CORE_AIM = 17  # bytes; what is added beyond them would make it longer than it need be
_LONGEST_SENTENCE = 2_000  # characters; further on no clause is looked for
_WORTH_ADDING = 2.0  # as ``_says`` weighs a sentence
_SHORTEST_PART = 40  # characters; what is shorter is cut within a clause
_LONGEST_TERM = 40  # characters of an emotion, a topic or an action
_MOST_PEOPLE = 10
_SENTENCE_END = re.compile(r"(?<=[.!?。！？…])\s*(?<=[\s。！？])|\n+")
_CLAUSE_END = re.compile(r"(?<=[,;:，；])\s*|\s+(?=(?:because|but|and|so|which|while|although)\b)|\s+-+\s+")
_OPENING = re.compile(
    r"\A(?:(?:hey|hi|hello|wow|woah|yeah|yep|yes|no|oh|well|so|um+|uh|ok|okay|thanks|thank you|actually|honestly|anyway"
    r"|lol|haha|by the way|you know|i mean|i think|i guess|sure|sounds great|and|but)\b[\s,.!-]*)+",
    re.I,
)
_SPEAKER = re.compile(r"\A[^\W\d_][\w'’.-]{0,30}:\s+")
_WORD = re.compile(r"\w[\w'’+#.-]*\w|\w")
_EDGES = " ,;:-–—.!，；。"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A text in its second and third stage.

    Attributes:
        fact: at most 80 characters.
        core: less than 30 bytes, by which the index of the tree tells what is filed in a category.
        emotion: a feeling, a change of it as ``anxious -> relieved``, or ``neutral``.
        people, topics, actions: of topics at most five, of actions at most three.
        outcome: ``positive``, ``negative``, ``pending`` or ``ongoing``.
        metadata: ``urls``, ``commands`` and ``paths`` of the whole text; only what there is.
    """

    fact: str
    core: str
    emotion: str = NEUTRAL
    people: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    outcome: str = "ongoing"
    metadata: Mapping[str, list[str]] = field(default_factory=dict)


def distilled(text: str, *, max_bytes: int = FACT_BYTES) -> Distilled:
    """A text distilled by rule.

    Args:
        text: any text; of an empty one everything is empty.
        max_bytes: of the fact.
    """
    text = clean(text)
    metadata = metadata_of(text)
    plain = URL.sub(_host, text).replace("`", "")
    fact = _fact(plain, max_bytes)
    people = people_in(plain)
    return Distilled(
        fact=fact,
        core=core_of(fact),
        emotion=emotion_of(plain),
        people=tuple(people),
        topics=tuple(topics_in(plain, without=people)),
        actions=tuple(action[:_LONGEST_TERM] for action in actions_in(plain)),
        outcome=outcome_of(plain),
        metadata=metadata,
    )


def distilled_from(answer: str, text: str, *, max_bytes: int = FACT_BYTES) -> Distilled | None:
    """What a model distilled, held to the limits; None where its answer has no fact.

    Args:
        answer: JSON with ``fact``, ``emotion``, ``people``, ``topics``, ``actions`` and ``outcome``.
        text: what it was made from, for the metadata.
        max_bytes: of the fact.
    """
    said = read_json(answer)
    if isinstance(said, list):
        said = next((item for item in said if isinstance(item, dict)), None)
    fact = shortened(_term(said, "fact"), FACT_CHARACTERS, max_bytes) if said else ""
    if not said or not fact:
        return None
    outcome = _term(said, "outcome").lower()
    return Distilled(
        fact=fact,
        core=core_of(fact),
        emotion=_term(said, "emotion")[:_LONGEST_TERM].lower() or NEUTRAL,
        people=_terms(said, "people", _MOST_PEOPLE),
        topics=_terms(said, "topics", MOST_TOPICS),
        actions=_terms(said, "actions", MOST_ACTIONS),
        outcome=outcome if outcome in OUTCOMES else outcome_of(text),
        metadata=metadata_of(text),
    )


def details_of(found: Distilled) -> dict[str, Any]:
    """What of it is kept beside an entry's text: only what there is."""
    told = {
        "core": found.core,
        "emotion": "" if found.emotion == NEUTRAL else found.emotion,
        "people": list(found.people),
        "topics": list(found.topics),
        "actions": list(found.actions),
        "outcome": found.outcome,
    }
    return {**found.metadata, **{name: value for name, value in told.items() if value}}


def core_of(fact: str) -> str:
    """The words of most content of a fact, in their order, in less than 30 bytes; 17 where that is possible."""
    words = list(dict.fromkeys(word.strip(".") for word in _WORD.findall(fact)))
    weighty = sorted((word for word in words if is_content(word.lower())), key=_weight, reverse=True) or words
    chosen: list[str] = []
    for word in weighty:
        if _bytes(" ".join([*chosen, word])) <= (_CORE_AIM if chosen else CORE_BYTES):
            chosen.append(word)
    if not chosen:
        return _cut_to_bytes(fact, CORE_BYTES).strip(_EDGES)
    return " ".join(word for word in words if word in chosen)


def shortened(text: str, characters: int, max_bytes: int) -> str:
    """A text cut between two words, or within one that is too long, and never within a character."""
    text = " ".join(text.split())
    if len(text) <= characters and _bytes(text) <= max_bytes:
        return text
    cut = _cut_to_bytes(text[:characters], max_bytes)
    at_word = cut if text[len(cut) : len(cut) + 1] == " " else cut.rpartition(" ")[0]
    return (at_word if 2 * len(at_word) >= len(cut) else cut).rstrip(_EDGES)


def _fact(text: str, max_bytes: int) -> str:
    """The sentence that says most, with others that fit beside it; of a longer one the clauses that do."""
    sentences = [told for part in _SENTENCE_END.split(text) if (told := _plain(part))]
    if not sentences:
        return shortened(text, FACT_CHARACTERS, max_bytes)
    weights = [_says(told) for told in sentences]
    ranked = sorted(range(len(sentences)), key=lambda place: (-weights[place], place))
    chosen: list[int] = []
    for place in ranked:
        joined = " ".join(sentences[one] for one in sorted([*chosen, place])).rstrip(_EDGES)
        if _fits(joined, max_bytes) and (not chosen or weights[place] >= _WORTH_ADDING):
            chosen.append(place)
        elif not chosen:
            return shortened(_clauses(sentences[place], max_bytes), FACT_CHARACTERS, max_bytes).rstrip(_EDGES)
    return " ".join(sentences[place] for place in sorted(chosen)).rstrip(_EDGES)


def _clauses(sentence: str, max_bytes: int) -> str:
    """Of a long sentence the clause that says most and those after it that fit; it alone where it is too long."""
    sentence = sentence[:_LONGEST_SENTENCE]
    starts = [0, *(found.end() for found in _CLAUSE_END.finditer(sentence))]
    best = max((sentence[start:] for start in starts), key=lambda rest: _says(rest[:FACT_CHARACTERS]))
    ends = [found.start() for found in _CLAUSE_END.finditer(best)]
    fitting = [end for end in ends if end >= _SHORTEST_PART and _fits(best[:end], max_bytes)]
    return best[: fitting[-1]] if fitting else best


def _plain(sentence: str) -> str:
    """A sentence without its speaker, and without words that only open it."""
    told = _SPEAKER.sub("", " ".join(sentence.split()))
    return _OPENING.sub("", told).strip()


def _fits(text: str, max_bytes: int) -> bool:
    return len(text) <= FACT_CHARACTERS and _bytes(text) <= max_bytes


def _says(text: str) -> float:
    """How much a text says: its words with content, of which numbers and names count twice, and that something is done.

    A question says little, and so does a single word.
    """
    words = _WORD.findall(text[: 2 * FACT_CHARACTERS])
    first, content = words[:1], {word for word in words if is_content(word.lower())}
    weight = sum(1.0 if [word] == first else _weight(word)[0] for word in content) + 2.0 * bool(actions_in(text))
    return weight / 3 if len(content) < 2 or text.endswith(("?", "？")) else weight


def _weight(word: str) -> tuple[float, int]:
    is_special = any(letter.isdigit() for letter in word) or word[:1] != word[:1].lower()
    return (2.0 if is_special else 1.0), len(word)


def _host(link: re.Match[str]) -> str:
    try:
        return urlsplit(link[0]).hostname or "link"
    except ValueError:  # an address such as http://[
        return "link"


def _cut_to_bytes(text: str, most: int) -> str:
    return text.encode(errors="replace")[:most].decode(errors="ignore")


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def _term(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return " ".join(clean(value).split()) if isinstance(value, str) else ""


def _terms(said: Mapping[str, Any], name: str, most: int) -> tuple[str, ...]:
    values: Iterable[Any] = said.get(name) if isinstance(said.get(name), list) else ()  # type: ignore[assignment]
    terms = (" ".join(clean(value).split())[:_LONGEST_TERM] for value in values if isinstance(value, str))
    return tuple(dict.fromkeys(term for term in terms if term))[:most]
