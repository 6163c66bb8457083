"""What an exchange teaches, by rule: the answer to the request that ``memory.prompt.learning`` makes.

Invariant: only the person's own words are read. The context, the summary and the assistant's reply teach nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from typing import Any

from bot.offline_rules.dates import first_date, made_absolute, names_a_date
from bot.offline_rules.foreign_statements import foreign_facts, forgotten_in
from bot.offline_rules.known_names import with_kinds
from bot.offline_rules.statements import Fact, facts_in, is_question, own_words
from bot.offline_rules.substance import is_substantial, plain_clause
from bot.offline_rules.triples import StatedFact, stated
from bot.offline_rules.wishes import Forget, wishes_in
from bot.offline_rules.wording import noted, sentences
from memory.records import WANTS_FORGOTTEN

_MESSAGE = re.compile(r"<user_message>\n(.*)\n</user_message>", re.S)
_REPLY = re.compile(r"<assistant_reply>\n(.*)\n</assistant_reply>", re.S)
_YOURS = re.compile(r"\bYour ([^.]+\.)")
_NOW = re.compile(r"<now>(\d{4}-\d\d-\d\d)")
_PLAN = re.compile(
    r"\b(?:appointment|meeting|exam|interview|flight|deadline|trip|plans|operation|surgery|is (?:on|at))\b"
)
_SINCE = re.compile(r"\bsince (?:\w+ )?(\d{4})\b")
_HAPPENED = re.compile(
    r"(?:i|we) (?:just |finally |have |'ve )?(?P<x>(?:went|visited|bought|sold|met|finished|started|got|decided|booked"
    r"|passed|failed|broke|moved|lost|won|adopted|married|quit|left|signed|joined|ran|graduated|celebrated|had) .+)",
    re.I,
)


def extracted(material: str, _agent_name: str) -> str:
    """The candidates of an exchange, as JSON.

    Args:
        material: ``<now>``, ``<user_message>`` and what only helps a model to understand it.
    """
    message = _MESSAGE.search(material)
    now = _NOW.search(material)
    today = date.fromisoformat(now[1]) if now else None
    reply = _REPLY.search(material)
    words = with_kinds(message[1].replace("&lt;", "<"), _noted(reply[1] if reply else "")) if message else ""
    candidates = {candidate["text"]: candidate for candidate in _candidates(words, today)}
    return json.dumps({"candidates": list(candidates.values())}, ensure_ascii=False)


def _noted(reply: str) -> list[str]:
    """What a reply says of the person's people, as lines of core memory: whom their names stand for."""
    return [f"Their {line}" for line in _YOURS.findall(reply)]


def _candidates(words: str, today: date | None) -> Iterator[dict[str, Any]]:
    wishes, rest = wishes_in(words, today)
    forgotten = [wish.text for wish in wishes if isinstance(wish, Forget)] or forgotten_in(words)
    for text in forgotten:
        wish = f"User wants this forgotten: {text}."
        yield _candidate(StatedFact(text=wish, predicate=WANTS_FORGOTTEN, object=text, importance=0.3), today)
    if forgotten:
        return
    for fact in (*(wish for wish in wishes if isinstance(wish, Fact)), *facts_in(rest, today)):
        yield _candidate(stated(fact.line), today)
    for foreign in foreign_facts(rest):
        yield _candidate(foreign, today)
    yield from _events(rest, today)


def _candidate(fact: StatedFact, today: date | None) -> dict[str, Any]:
    since = _SINCE.search(fact.text)
    ends = first_date(fact.text, today) if _PLAN.search(f"{fact.predicate} {fact.text}") else None
    return {
        **asdict(fact),
        "kind": "fact",
        "confidence": 1.0,
        "valid_from": since[1] if since else None,
        "expires_at": ends.isoformat() if ends else None,
    }


def _events(text: str, today: date | None) -> Iterator[dict[str, Any]]:
    """What the person says that they did on a day they name."""
    for sentence in sentences(own_words(text)):
        happened = _HAPPENED.fullmatch(plain_clause(sentence).strip(" .!"))
        if not happened or is_question(sentence) or not names_a_date(sentence) or not is_substantial(happened["x"]):
            continue
        what = noted(made_absolute(happened["x"], today))
        day = first_date(what, today)
        yield {
            **_candidate(StatedFact(text=f"User {what}.", category="events"), today),
            "kind": "event",
            "valid_from": day.isoformat() if day else None,
        }
