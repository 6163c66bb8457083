"""What a model answered about facts, as values: candidates of an extraction, operations of a reconciliation.

Invariant: one item that cannot be used never loses the others; an answer in which nothing can be used is None, which
is something else than an answer that found nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from memory.policy.fact_text import normalised, text_hash, triple_text
from memory.policy.loose_json import read_json
from memory.policy.metadata import metadata_of
from memory.policy.text import clean
from memory.records import Candidate, CandidateKind, FactOp, FactOperation

_LONGEST_TEXT = 1_000  # characters; what is longer is no short standalone sentence
_LONGEST_TERM = 200  # characters of a subject, predicate or object
_DEEPEST_CATEGORY = 4
_MOST_CANDIDATES = 50  # of one exchange; a model that finds more has lost its way
_PERSON = frozenset({"user", "the user", "i", "me", "the person", "person"})
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_RELATIVE_DAYS = {"yesterday": -1, "today": 0, "now": 0, "tomorrow": 1}
_WORDS = re.compile(r"\w+")


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object in an answer, however it is wrapped; a bare list as the ``items`` of one.

    Args:
        text: a model's whole answer: thinking tags, prose, code fences, trailing commas, comments, single quotes,
            words of Python, unquoted keys and a cut-off end are all borne with.

    Returns:
        None where there is no JSON object or list in it.
    """
    value = read_json(text)
    return {"items": value} if isinstance(value, list) else value


def candidates_from(answer: str, *, now: datetime, zone: tzinfo = UTC) -> list[Candidate] | None:
    """The candidates of an extraction, each once, in order; the first 50 of more.

    Read are ``{"candidates": [{"text", "kind", ...}]}``, ``{"facts": ["..."]}`` and lists of ``{"subject",
    "predicate", "object", "confidence"}``.

    Args:
        answer: the model's answer.
        now: when the exchange took place.
        zone: the person's time zone; dates without one are meant in it.

    Returns:
        None where the answer does not parse, or holds items of which none can be used.
    """
    items = _items(answer, alone="text")
    if items is None:
        return None
    found = [candidate for item in items if (candidate := _candidate(item, now, zone)) is not None]
    if items and not found:
        return None
    return list({text_hash(candidate.text): candidate for candidate in reversed(found)}.values())[::-1][
        :_MOST_CANDIDATES
    ]


def operations_from(answer: str, *, candidates: Sequence[Candidate], ids: Sequence[int]) -> list[FactOperation] | None:
    """The operations of a reconciliation, in the order given.

    Read are ``{"ops": [{"candidate", "op", "id", "text"}]}`` and the same without ``candidate``. An operation that
    names no candidate belongs to the one whose words its text shares most; one without text to the same as the
    operation after it.

    Args:
        answer: the model's answer.
        candidates: what was asked about; the model counts from 1.
        ids: the facts it was shown; the model counts from 1. A number beyond them becomes None, which
            ``reconcile.guarded`` rejects for that operation alone.

    Returns:
        None where the answer does not parse, or holds items of which none can be used.
    """
    items = _items(answer, alone="op")
    if items is None or not candidates:
        return None if items is None else []
    operations: list[FactOperation] = []
    following = candidates[0]
    for item in reversed(items):
        if (operation := _operation(item, candidates, ids, following)) is not None:
            operations.append(operation)
            following = operation.candidate
    return None if items and not operations else operations[::-1]


def _items(answer: str, *, alone: str) -> list[Any] | None:
    """The list in an answer: under any name, bare, or the answer itself where it is a single item."""
    parsed = parse_object(answer)
    if parsed is None:
        return None
    if isinstance(parsed.get(alone), str) or {"subject", "predicate", "object"} <= parsed.keys():
        return [parsed]
    lists = [value for value in parsed.values() if isinstance(value, list)]
    if lists:
        return lists[0]
    return [] if parsed and all(value is None for value in parsed.values()) else None


def _candidate(item: Any, now: datetime, zone: tzinfo) -> Candidate | None:
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, dict):
        return None
    subject, predicate, object_ = (_term(item.get(name)) for name in ("subject", "predicate", "object"))
    subject = "user" if subject.lower() in _PERSON else subject
    text = _text(item.get("text"))
    if not text and subject and predicate and object_:
        text = triple_text(subject, predicate, object_)
    if not _WORDS.search(text) or len(text) > _LONGEST_TEXT:
        return None
    return Candidate(
        text=text,
        kind=CandidateKind.EVENT if _term(item.get("kind")).lower() == "event" else CandidateKind.FACT,
        subject=subject,
        predicate=re.sub(r"[\s-]+", "_", predicate.lower()),
        object=object_,
        confidence=share_of(item.get("confidence"), 1.0),
        category=_category(item.get("category")),
        importance=share_of(item.get("importance"), 0.5),
        metadata=metadata_of(text),
        valid_from=_moment(item.get("valid_from"), now, zone, at_its_end=False),
        expires_at=_moment(item.get("expires_at"), now, zone, at_its_end=True),
    )


def _text(value: Any) -> str:
    return clean(value) if isinstance(value, str) else ""


def _term(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    term = " ".join(_text(value).split())
    return term if len(term) <= _LONGEST_TERM else ""


def _category(value: Any) -> str:
    parts = [" ".join(part.split()).lower() for part in _text(value).split("/")]
    return "/".join([part for part in parts if 0 < len(part) <= _LONGEST_TERM][:_DEEPEST_CATEGORY]) or "general"


def share_of(value: Any, otherwise: float) -> float:
    """A share of 1 as a number, as text or in percent; ``otherwise`` for anything else."""
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return otherwise
    return min(1.0, max(0.0, share)) if math.isfinite(share) else otherwise


def _moment(value: Any, now: datetime, zone: tzinfo, *, at_its_end: bool) -> datetime | None:
    """A date or time as UTC. Of a day, month or year the first moment, or the first one after it."""
    text = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    try:
        if text in _RELATIVE_DAYS:
            text = (now.astimezone(zone) + timedelta(days=_RELATIVE_DAYS[text])).date().isoformat()
        if period := _DAY.fullmatch(text):
            return _edge(period, zone, at_its_end=at_its_end)
        moment = datetime.fromisoformat(text.upper())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _edge(period: re.Match[str], zone: tzinfo, *, at_its_end: bool) -> datetime:
    year, month, day = (int(part) if part else None for part in period.groups())
    start = datetime(year or 0, month or 1, day or 1, tzinfo=zone)
    if at_its_end and day:
        start += timedelta(days=1)
    elif at_its_end and month:
        start = start.replace(year=start.year + month // 12, month=month % 12 + 1)
    elif at_its_end:
        start = start.replace(year=start.year + 1)
    return start.astimezone(UTC)


def _operation(
    item: Any, candidates: Sequence[Candidate], ids: Sequence[int], following: Candidate
) -> FactOperation | None:
    if not isinstance(item, dict) or (name := _term(item.get("op")).upper()) not in FactOp.__members__:
        return None
    op = FactOp[name]
    text = _text(item.get("text")) or None
    if text is not None and len(text) > _LONGEST_TEXT:
        return None
    place, number = _number(item.get("candidate")), _number(item.get("id"))
    if place is not None and 1 <= place <= len(candidates):
        candidate = candidates[place - 1]
    else:
        candidate = _most_alike(text, candidates) if text else following
    known = number is not None and 1 <= number <= len(ids)
    return FactOperation(
        op=op,
        candidate=candidate,
        fact_id=ids[number - 1] if number is not None and known and op is not FactOp.ADD else None,
        text=text if op in (FactOp.ADD, FactOp.UPDATE) else None,
    )


def _number(value: Any) -> int | None:
    text = str(value).strip("[]# ") if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None


def _most_alike(text: str, candidates: Sequence[Candidate]) -> Candidate:
    words = set(_WORDS.findall(normalised(text)))
    return max(candidates, key=lambda candidate: len(words & set(_WORDS.findall(normalised(candidate.text)))))
