"""The statements by which single search entries are looked up.

Invariant: an entry is asked for by its id first and by its reach second. Asked the other way round, as SQLite's
planner would, each statement walks all of a scope's rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product
from typing import Any

from sqlalchemy import FromClause, ScalarSelect, Select, bindparam, case, func, null, select, tuple_, union_all
from sqlalchemy.engine import Connection

from memory.prepared import Prepared, Row
from memory.records import Reach, Source
from memory.schema import listed, search_entries
from memory.stores.scoped import closed_audiences, id_batches, in_any_reach_by_key, reach_values


def entries_within(connection: Connection, reach: Reach, entry_ids: Collection[int]) -> list[Row]:
    """Those of these entries, of any source, that are within reach.

    Returns:
        of each its id, person, audience, source and record.
    """
    return _rows(connection, (_ENTRIES, _ENTRIES_IN_AUDIENCES), reach, entry_ids)


def entries_of(connection: Connection, reach: Reach, source: Source, record_ids: Collection[int]) -> list[Row]:
    """The entries of these records that are within reach.

    Returns:
        of each its id, person, audience, record, embedder and vector.
    """
    statement = _OF_RECORDS if reach.audiences is None else _OF_RECORDS_IN_AUDIENCES
    return [
        row
        for own, some_ids in product(reach.of_each, id_batches(record_ids))
        for row in statement.rows(connection, {**reach_values(own), "of_source": source.value, "ids": some_ids})
    ]


def entries_around(
    connection: Connection, reach: Reach, source: Source, entry_ids: Sequence[int], *, among: int
) -> list[Row]:
    """The same entries and those beside the first of them, each once.

    Beside a message stand the messages before and after it, and beside a piece of any record its other pieces.

    Args:
        connection: where to read.
        reach: what may be read.
        source: the entries' kind.
        entry_ids: what is asked for.
        among: of how many of them, from the first on, also what stands beside them.

    Returns:
        of each entry its id, embedder, vector, tokens, record and text; of one of the first also the ids of what
        stands before and after it; and the id of one that was asked for which it is or stands beside, and whose scope
        it has.
    """
    statements = (_IN_RECORD, _IN_RECORD_IN_AUDIENCES)
    if source is Source.RECALL:
        statements = (_AROUND, _AROUND_IN_AUDIENCES)
    return _rows(connection, statements, reach, entry_ids, source=source.value, first=list(entry_ids[:among]))


def _rows(
    connection: Connection,
    statements: tuple[Prepared, Prepared],
    reach: Reach,
    entry_ids: Collection[int],
    **values: object,
) -> list[Row]:
    anywhere, in_audiences = statements
    if reach.audiences is not None:
        values["audiences"] = sorted(reach.audiences)
    statement = anywhere if reach.audiences is None else in_audiences
    rows: list[Row] = []
    for own, some_ids in product(reach.of_each, id_batches(entry_ids)):
        asked = {**values, "person": own.person, "ids": some_ids, "most": len(some_ids)}
        rows += statement.rows(connection, asked)
    return rows


def _of_records(*, in_audiences: bool) -> Select[Any]:
    entry = search_entries.c
    return select(entry.id, entry.person, entry.audience, entry.record_id, entry.embedder, entry.vector).where(
        in_any_reach_by_key(search_entries, in_audiences=in_audiences),
        entry.source == bindparam("of_source"),
        entry.record_id.in_(listed("ids")),
    )


def _asked_for(*, in_audiences: bool) -> Select[Any]:
    """The entries of ``ids`` within reach: whose they are, and of which record."""
    # The limit keeps the planner from merging the inner statement into the outer one.
    own = search_entries.c
    entry = (
        select(own.id, own.person, own.audience, own.source, own.record_id, own.chunk)
        .where(own.id.in_(listed("ids")))
        .limit(bindparam("most"))
        .subquery("entry")
    )
    within = select(entry).where(
        entry.c.person == bindparam("person"),
        entry.c.audience.not_in(closed_audiences(bindparam("person"))),
    )
    return within.where(entry.c.audience.in_(listed("audiences"))) if in_audiences else within


def _around(*, in_audiences: bool, in_record: bool = False) -> Select[Any]:
    asked = _asked_for(in_audiences=in_audiences).subquery()
    is_first = asked.c.id.in_(listed("first"))
    place = (
        select(
            asked.c.id,
            case((is_first, _next_to(asked, earlier=True, in_record=in_record))).label("before"),
            case((is_first, _next_to(asked, earlier=False, in_record=in_record))).label("after"),
        )
        .where(asked.c.source == bindparam("source"))
        .cte("place")
    )
    every = union_all(
        select(place.c.id, place.c.before, place.c.after, place.c.id.label("asked")),
        *(
            select(neighbour, null(), null(), place.c.id).where(neighbour.is_not(None))
            for neighbour in (place.c.before, place.c.after)
        ),
    ).subquery()
    near = (
        select(every.c.id, *(func.max(every.c[name]).label(name) for name in ("before", "after", "asked")))
        .group_by(every.c.id)
        .subquery()
    )
    entry = search_entries.c
    return (
        select(entry.id, entry.embedder, entry.vector, entry.tokens, entry.record_id, entry.text)
        .add_columns(near.c.before, near.c.after, near.c.asked)
        .select_from(near.join(search_entries, entry.id == near.c.id))
    )


def _next_to(entry: FromClause, *, earlier: bool, in_record: bool) -> ScalarSelect[int]:
    """The id of the entry before or after each one, in the order of its scope's records and their pieces."""
    other = search_entries.alias()
    own, place = tuple_(entry.c.record_id, entry.c.chunk), tuple_(other.c.record_id, other.c.chunk)
    order = [other.c.record_id, other.c.chunk]
    conditions = [place < own if earlier else place > own]
    if in_record:  # by its equality alone SQLite finds the record; by the pair it would walk all those before it
        before = other.c.chunk < entry.c.chunk if earlier else other.c.chunk > entry.c.chunk
        order, conditions = [other.c.chunk], [other.c.record_id == entry.c.record_id, before]
    return (
        select(other.c.id)
        .where(
            other.c.person == entry.c.person,
            other.c.audience == entry.c.audience,
            other.c.source == entry.c.source,
            *conditions,
        )
        .order_by(*([column.desc() for column in order] if earlier else order))
        .limit(1)
        .scalar_subquery()
    )


_BOTH = (False, True)  # whether the reach names its audiences
_OF_RECORDS, _OF_RECORDS_IN_AUDIENCES = (Prepared(_of_records(in_audiences=named)) for named in _BOTH)
_ENTRIES, _ENTRIES_IN_AUDIENCES = (Prepared(_asked_for(in_audiences=named)) for named in _BOTH)
_AROUND, _AROUND_IN_AUDIENCES = (Prepared(_around(in_audiences=named)) for named in _BOTH)
_IN_RECORD, _IN_RECORD_IN_AUDIENCES = (Prepared(_around(in_audiences=named, in_record=True)) for named in _BOTH)
