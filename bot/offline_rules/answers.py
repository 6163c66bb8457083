"""Answers to questions about what is remembered: by the table of known questions, then by words in common.

Invariant: an answer is a line of core memory, or a quotation with the day it was said. Nothing is concluded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from bot.offline_rules.dates import first_date, names_a_date, spoken, with_weekday
from bot.offline_rules.experience import days_asked_about, told_how, told_of_a_time
from bot.offline_rules.question_rules import known_question
from bot.offline_rules.reading import Evidence, Origin, Turn
from bot.offline_rules.statement_words import AGE
from bot.offline_rules.statements import facts_in
from bot.offline_rules.wording import PETS, RELATIONS, names_in, sentences, terms, told, words
from memory.policy.time_expressions import names_only_a_time

# Share of a question's words that a text must hold to answer it: one of two, two of three; pairs of characters of
# scripts without spaces overlap less, so it is not half.
_ENOUGH = 0.4
_LINES = 12
_QUOTES = 3
_LONGEST_QUOTE = 240
# What is pasted behind a question says no more about what is asked.
_LONGEST_QUESTION = 400

_KIN = frozenset().union(*map(terms, (*RELATIONS, *PETS)))
_LIST = re.compile(r"(?:my|the|our) (?P<name>[\w-]+(?: [\w-]+)?)[ -]list\b", re.I)
_TALK = re.compile(
    r"\b(?:said|say|told?|tell|talk(?:ed)?|discuss(?:ed)?|mention(?:ed)?|chat(?:ted)?|wrote?|write)\b", re.I
)
_ABOUT = re.compile(r"\b(?:about|regarding|concerning)\b", re.I)
_WHEN = re.compile(r"\b(?:when|what (?:day|date|time)|how long)\b", re.I)
_HOW_OLD = re.compile(r"\bhow old\b|\bwhat age\b", re.I)
_AN_AGE = re.compile(rf"\b(?:{AGE}|\d+)\b", re.I)
_FACT = re.compile(
    r"User(?:'s| (?P<verb>is|has|lives|works|likes|loves|hates|prefers|drinks|never|can't))(?P<rest> [^:]+)"
)
_NAME = re.compile(r"\b(?:called|named?|names)\b", re.I)
_TODAY = re.compile(
    r"what(?:'s| is) (?:the date|today's date)\b.*|what (?:day|date) is (?:it|today)\b.*|what(?:'s| is) today\W*",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search worth making.

    Attributes:
        tool: the tool's name.
        arguments: its arguments.
    """

    tool: str
    arguments: dict[str, str]


def answer(question: str, turn: Turn) -> str | None:
    """The answer to a question from what the turn holds, or None where nothing there answers it."""
    asked = _plain(question)
    if _TODAY.fullmatch(asked) and turn.today:
        return f"It is {with_weekday(turn.today)}."
    if listed := _LIST.search(asked):
        return _list_answer(listed["name"].lower(), turn)
    if (day := _day_talked_about(asked, turn)) is not None:
        return _quotes(piece for piece in turn.evidence if piece.origin is Origin.SAID and piece.day == day)
    if told_before := _told_of_a_time(asked, turn) or told_how(asked, turn.procedures):
        return told_before
    known = known_question(asked)
    if known is None:
        notes = (Evidence(text=line, day=None, origin=Origin.CORE) for line in reversed(turn.core))
        return _by_words(asked, (*notes, *turn.evidence))
    return " ".join(_core_matches(known.lines, turn.core) or _stated(known.lines, turn)) or None


def known_of(question: str, turn: Turn) -> str | None:
    """What core memory says of those whom a question names, where it does not say what was asked; None for nothing."""
    named = terms(_plain(question)) & (_KIN | names_in(_plain(question)))
    lines = [told(line) for line in turn.core if named & terms(line)]
    return f"I don't know that. What I know: {' '.join(lines[:_QUOTES])}" if lines else None


def searches(question: str, turn: Turn) -> tuple[Search, ...]:
    """What to search for next: first the question's own words, in a second round its most telling word alone."""
    asked = _plain(question)
    if (day := _day_talked_about(asked, turn)) is not None:
        found = Search(
            tool="conversation_search_date", arguments={"start_date": day.isoformat(), "end_date": day.isoformat()}
        )
        return (found,) if turn.search_rounds == 0 else ()
    if listed := _LIST.search(asked):
        found = Search(tool="archival_search", arguments={"query": f"{listed['name']} list"})
        return (found,) if turn.search_rounds == 0 else ()
    query = _query(asked, turn.search_rounds)
    tools = ("conversation_search", "archival_search") if query else ()
    return tuple(Search(tool=tool, arguments={"query": query}) for tool in tools)


def _plain(question: str) -> str:
    return question[:_LONGEST_QUESTION].replace("’", "'")


def _query(question: str, search_rounds: int) -> str:
    about = words(question)
    if search_rounds == 0:
        known = known_question(question)
        return known.search if known else " ".join(about)
    return max(about, key=len) if search_rounds == 1 and len(set(about)) > 1 else ""


def _day_talked_about(question: str, turn: Turn) -> date | None:
    """The day of a question such as "what did I tell you on 8 May 2023?", or None."""
    return first_date(question, turn.today, past=True) if _TALK.search(question) else None


def _told_of_a_time(question: str, turn: Turn) -> str | None:
    """What is told of the sessions of a time; without any, and where the time alone is asked about, what was said."""
    said = [piece for piece in turn.evidence if piece.origin is Origin.SAID and piece.day]
    known = {piece.day for piece in said if piece.day} | {session.day for session in turn.sessions}
    days = days_asked_about(question, known, turn.today)
    told_then = told_of_a_time(question, turn.sessions, days)
    if told_then is None and names_only_a_time(question):
        return _quotes(piece for piece in said if piece.day in days)
    return told_then


def _core_matches(line: str, core: Iterable[str]) -> list[str]:
    """The lines of core memory that say such a line, also in the person's own words, as after a correction."""
    said = [
        note for line_of_core in core for note in (line_of_core, *(fact.line for fact in facts_in(line_of_core, None)))
    ]
    return [told(note) for note in said if re.match(line, note, re.I)][:_LINES]


def _stated(line: str, turn: Turn) -> list[str]:
    """Quotations of the person whose words say such a line, newest first."""
    stated = [
        _quoted(piece)
        for piece in turn.evidence
        if piece.origin is Origin.SAID
        and any(re.match(line, fact.line, re.I) for fact in facts_in(piece.text, piece.day))
    ]
    return list(dict.fromkeys(stated))[:_QUOTES]


def _list_answer(name: str, turn: Turn) -> str | None:
    """The items of a list from core memory and from the archive, where a long list goes on."""
    if "archival_search" in turn.tools and not turn.search_rounds:
        return None
    beginning = f"{name} list: "
    lines = [*turn.core, *(piece.text for piece in turn.evidence if piece.origin is Origin.ARCHIVE)]
    items = [line[len(beginning) :].rstrip(".") for line in lines if line.lower().startswith(beginning)]
    return f"On your {name} list: {', '.join(dict.fromkeys(items))}." if items else None


def _by_words(question: str, pieces: Sequence[Evidence]) -> str | None:
    wanted = terms(question)
    if not wanted:
        return None
    if _HOW_OLD.search(question):
        pieces = [piece for piece in pieces if _AN_AGE.search(piece.text)]
    needed = wanted & (_KIN | names_in(question))
    scored = [((_overlap(wanted, needed, piece.text), _says_so(question, piece.text)), piece) for piece in pieces]
    answering = [(score, piece) for score, piece in scored if score[0] >= _ENOUGH]
    if not _ABOUT.search(question):
        answering = sorted(answering, key=lambda scored: scored[0], reverse=True)[:1]
    return _quotes(_shortened(piece, wanted) for _, piece in answering)


def _says_so(question: str, text: str) -> bool:
    """Whether the text says what kind of thing is asked for: a time, or a name."""
    if _WHEN.search(question):
        return names_a_date(text)
    return bool(_NAME.search(question) and _NAME.search(text))


def _overlap(wanted: frozenset[str], needed: frozenset[str], text: str) -> float:
    """The share of the wanted terms in a text; 0 where a needed one is missing."""
    present = wanted & terms(text)
    return len(present) / len(wanted) if needed <= present else 0.0


def _shortened(piece: Evidence, wanted: frozenset[str]) -> Evidence:
    if len(piece.text) <= _LONGEST_QUOTE:
        return piece
    telling = max(sentences(piece.text), key=lambda sentence: len(wanted & terms(sentence)))
    return replace(piece, text=telling)


def _quotes(pieces: Iterable[Evidence]) -> str | None:
    lines = list(dict.fromkeys(_quoted(piece) for piece in pieces))[:_QUOTES]
    return "\n".join(lines) or None


def _quoted(piece: Evidence) -> str:
    text = piece.text if len(piece.text) <= _LONGEST_QUOTE else piece.text[:_LONGEST_QUOTE].rstrip() + "…"
    on_day = f"on {spoken(piece.day)}" if piece.day else "earlier"
    match piece.origin:
        case Origin.CORE:
            return told(piece.text)
        case Origin.SAID:
            return f'You told me {on_day}: "{text}"'
        case Origin.ARCHIVE:
            if fact := _FACT.fullmatch(piece.text):
                subject = fact["verb"].capitalize() if fact["verb"] else "Their"
                return f"I noted {on_day}: {told(subject + fact['rest'])}"
            return f'I noted {on_day}: "{text}"'
        case Origin.SUMMARY:
            return f'My summary says: "{text}"'
