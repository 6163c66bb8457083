"""A passage as a row, as pieces for the search indexes, and as a hit of a search. Pure.

Invariant: a forgotten passage is not ``alive``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, and_

from memory.policy.chunking import pieces
from memory.policy.fading import Worth
from memory.policy.ranking import RankedEntry, why_found
from memory.policy.text import spoken_date
from memory.records import Passage, Scope, SearchHit, Source
from memory.schema import moment, passages
from memory.stores.scoped import in_scope, scope_of, scope_of_row

_DAY = timedelta(days=1)

_passage = passages.c
SHOWN = (
    _passage.id,
    _passage.person,
    _passage.audience,
    _passage.content,
    _passage.created_at,
    _passage.source_message,
)
"""What a hit shows of a passage, its id first."""


def searchable_passage(content: str, created_at: datetime) -> list[str]:
    """The texts under which a passage is found, its date included."""
    return pieces(content, heading=f"({spoken_date(created_at)})")


def alive(scope: Scope) -> ColumnElement[bool]:
    """The passages of a scope that are not forgotten."""
    return and_(in_scope(passages, scope), passages.c.forgotten_at.is_(None))


def worth_of_row(passage: Row[Any], now: datetime) -> Worth:
    """What a passage is worth by now."""
    return worth(passage.importance, passage.last_accessed_at, passage.access_count, now)


def worth(importance: float, last_accessed_at: datetime, accesses: int, now: datetime) -> Worth:
    """The same of the values of its columns."""
    return Worth(importance=importance, idle_days=(now - last_accessed_at) / _DAY, accesses=accesses)


def hit_of_passage(shown: tuple[Any, ...], ranked: RankedEntry, score: float) -> SearchHit:
    """A passage that a search found, with its rank, and its score with age and use counted.

    Args:
        shown: the values of ``SHOWN``, as the table holds them.
    """
    passage_id, person, audience, content, created_at, source_message = shown
    return SearchHit(
        source=Source.ARCHIVAL,
        scope=scope_of(person, audience),
        record_id=passage_id,
        score=score,
        text=content,
        author=None,
        at=moment(created_at),
        reason=why_found(ranked),
        vector=ranked.entry.vector,
        message_ids=() if source_message is None else (source_message,),
    )


def passage_of_row(row: Row[Any]) -> Passage:
    """The passage of a row of the table."""
    return Passage(
        id=row.id,
        scope=scope_of_row(row),
        content=row.content,
        memory_type=row.memory_type,
        importance=row.importance,
        created_at=row.created_at,
        last_accessed_at=row.last_accessed_at,
        access_count=row.access_count,
        metadata=row.metadata,
        source_message=row.source_message,
        forgotten_at=row.forgotten_at,
        forgotten_reason=row.forgotten_reason,
    )
