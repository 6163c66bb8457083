"""What the person says about their own life, as lines worth keeping.

Invariant: only what the person states in their own words is read. Questions, quotations, code and wishes state
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from bot.offline_rules.dates import made_absolute, names_a_date, spoken
from bot.offline_rules.statement_rules import STATEMENTS, StatementRule
from bot.offline_rules.substance import is_mood, is_substantial, plain_clause
from bot.offline_rules.wording import RELATIONS, STATIVE, noted, sentences, third

_LONGEST_SENTENCE = 400

_QUOTED = re.compile(r"```.*?```|`[^`]*`|^>.*$|\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]", re.S | re.M)
_QUOTATION_MARKS = '`"“”«»„'
_OPENING = re.compile(
    r"(?:hi|hello|hey|well|so|ok|okay|yes|yeah|yep|oh|ah|and|also|btw|by the way|fyi|for your information|please"
    r"|just so you know|you should know(?: that)?|i think you should know(?: that)?|nice to meet you"
    r"|did you know that|as you know|thanks|thank you)\b[\s,.!:;-]*",
    re.I,
)
_CORRECTION = re.compile(
    r"(?:actually|no|nope|sorry|correction|wait|oops|i meant|i mean|scratch that|that's wrong)\b[\s,.!:;-]*", re.I
)
_ENDING = re.compile(
    r"[\s,]+(?:now|too|as well|please|by the way|btw|currently|these days|at the moment|a lot|very much|so much"
    r"|actually|though|instead|nice to meet you)$",
    re.I,
)
_CLAUSE = re.compile(
    r"(?:,|;)?\s+(?:and|but|so|because|plus)\s+(?=(?:also\s+)?(?:i|i'm|i’m|i've|my|we|we're|our)\b)"
    r"|[,;:]\s*(?=(?:i|i'm|i’m|i've|my|we|we're)\b)",
    re.I,
)
_SECOND_VERB = re.compile(rf",?\s+(?:and|but)\s+(?=(?:{'|'.join(STATIVE)}|am|can't|don't)\s)", re.I)
_PLAIN_VERB = re.compile(r"(?:live|work|am|can't|don't)\b", re.I)
_APPOSITION = re.compile(rf"\b(?P<name>[A-Z][\w-]+), (?P<whose>[Mm]y|[Oo]ur) (?P<kin>{'|'.join(RELATIONS)}), ")
_NAME_AND_ORIGIN = re.compile(r"\b(?P<who>[Ii](?:'m| am) [A-Z][\w'-]+(?: [A-Z][\w'-]+)?) from (?=[A-Z])")
_QUESTION_MARK = re.compile(r"[?？؟]\W{0,9}\Z")
_QUESTION = re.compile(
    r"(?!when (?:i|we|you|he|she|it|they)\b.*,)(?:who|what|where|when|which|why|how|whose)(?:'s|’s|'re)?\b.*"
    r"|(?:do|did|does|can|could|would|will|am|is|are|was|were|have|has) (?:i|you|my|we|there|it)\b.*"
    r"|(?:did|does|is|are|was|were|has) (?-i:[A-Z])[\w'-]+ .*"
    r"|(?:please )?(?:tell|remind) me\b.*|(?:please )?show (?:me )?(?:my|the)\b.*|(?:search|look)(?: up)? for\b.*",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A line for core memory.

    Attributes:
        line: one short sentence in the third person.
        replaces: beginnings of lines that this one makes untrue.
        tentative: it gives way to a line that begins with one of ``replaces``.
    """

    line: str
    replaces: tuple[str, ...] = ()
    tentative: bool = False


def own_words(text: str) -> str:
    """The text without quotations and code; a quoted name of up to three words stays.

    "Leila, my cousin, studies law" is read as "my cousin Leila studies law".
    """
    plain = _QUOTED.sub(_short_quotation, text.replace("’", "'"))
    return _APPOSITION.sub(r"\g<whose> \g<kin> \g<name> ", plain)


def is_question(sentence: str) -> bool:
    """Whether the sentence asks for something to be told."""
    return bool(_QUESTION_MARK.search(sentence) or _QUESTION.fullmatch(_without_opening(sentence)[0]))


def facts_in(text: str, today: date | None) -> tuple[Fact, ...]:
    """The facts that the person states in a text, in order.

    Args:
        text: their message.
        today: the day it was said on, which "tomorrow" counts from; None where it is unknown.
    """
    found: list[Fact] = []
    correcting = False
    for sentence in sentences(own_words(text)):
        body, corrects = _without_opening(sentence)
        correcting = correcting or corrects
        if len(body) > _LONGEST_SENTENCE or is_question(body):
            continue
        found.extend(_stated(body, today, correcting=correcting))
    return tuple(found)


def _stated(sentence: str, today: date | None, *, correcting: bool) -> Iterator[Fact]:
    """The facts of a sentence. A second verb counts only where the first one stated a fact, since nouns look alike."""
    for clause in _CLAUSE.split(_NAME_AND_ORIGIN.sub(r"\g<who>, I'm from ", sentence)):
        first, *others = _SECOND_VERB.split(clause)
        spoken = re.match(r"(?:also )?i\b", first, re.I)
        fact = _fact(first, today, correcting=correcting)
        if fact is not None:
            yield fact
        for other in others:
            if spoken and (fact is not None or _PLAIN_VERB.match(other)):
                further = _fact(f"I {other}", today, correcting=correcting)
                if further is not None:
                    yield further


def _short_quotation(found: re.Match[str]) -> str:
    inner = found[0].strip(_QUOTATION_MARKS)
    return inner if len(inner.split()) <= 3 and not found[0].startswith((">", "```")) else " "


def _without_opening(sentence: str) -> tuple[str, bool]:
    body, correcting = sentence.strip(), False
    while True:
        if opening := _OPENING.match(body):
            body = body[opening.end() :]
        elif correction := _CORRECTION.match(body):
            body, correcting = body[correction.end() :], True
        else:
            return body, correcting


def _fact(clause: str, today: date | None, *, correcting: bool) -> Fact | None:
    body, corrects = _without_opening(_without_ending(plain_clause(clause)))
    for rule in STATEMENTS:
        if rule.dated and not names_a_date(body):
            continue
        if match := re.fullmatch(rule.pattern, body, re.I | re.S):
            if not _stands_alone(match):
                return None
            return _filled(rule, match, today, correcting=correcting or corrects)
    return None


def _stands_alone(match: re.Match[str]) -> bool:
    groups = match.groupdict()
    if "label" in groups:
        return bool(groups["x"].strip())
    return is_substantial(groups["x"], of_another="who" in groups) and not ("who" in groups and is_mood(groups["x"]))


def _without_ending(clause: str) -> str:
    body = clause.strip(" \t\n.,;:!-–—😀😃😄😁😊🙂❤️🎉🥳👍")
    while ending := _ENDING.search(body):
        body = body[: ending.start()]
    return body


def _filled(rule: StatementRule, match: re.Match[str], today: date | None, *, correcting: bool) -> Fact:
    groups = {name: noted(made_absolute(value or "", today)).strip() for name, value in match.groupdict().items()}
    if "verb" in groups:
        groups["verb"] = third(groups["verb"].lower())
    capitals = {name.capitalize(): _capital(value) for name, value in groups.items()}
    values = {**groups, **capitals, "today": spoken(today) if today else "an unknown day"}
    if rule.line.startswith("Name: "):
        values["x"] = _capital(values["x"])
    beginnings = rule.replaces + (rule.corrects if correcting else ())
    return Fact(
        line=rule.line.format(**values),
        replaces=tuple(beginning.format(**values) for beginning in beginnings),
        tentative=rule.tentative,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
