"""Full text over search entries, in the FTS5 table ``search_text`` of the same database.

Each word is indexed with the mark of its scope before it and with that of its person (see ``marks``), so that a search
walks the entries of that scope or person alone. How texts and queries become words is ``words``'. What is indexed
stands without the marks in ``search_words``, where FTS5 finds again what it must forget. The triggers of that table
index what is added to it, and count in ``search_marks`` the entries of each mark.

Invariant: a search returns entries within its reach only, twice over: by the marks of their words, and by the scope of
the row of ``search_entries`` that it must join. No query text, whatever it holds, raises or widens the reach.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Row, Select, bindparam, func, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.indexes.marks import mark_of, mark_of_person
from memory.indexes.term_holders import held_within, numbers, weighed_terms
from memory.indexes.term_scores import Scored, best, by_length
from memory.indexes.words import indexed_words, query_terms
from memory.prepared import Prepared
from memory.records import EntryScore, Reach, Scope, SearchEntry, Source
from memory.schema import closed_scopes, listed, search_entries

_LEAST_COMPARED = 100  # in length, of those that hold the most and the rarest words
_COMPARED_OF_EACH = 3
_SCRUB_PAGES = 64
_MOST_OLDER = 500  # at once

_PUT = text("INSERT INTO search_words (id, mark, person_mark, words) VALUES (:id, :mark, :person_mark, :words)")
# FTS5 reads from the row of an entry what it must forget, so that goes first. A trigger would do that too, but after
# each statement with a trigger FTS5 writes what it would else keep until the end, in a third of the time.
_REMOVE = (text("DELETE FROM search_text WHERE rowid = :id"), text("DELETE FROM search_words WHERE id = :id"))
# A process of an earlier version, which goes on while this one takes over, knows no marks of persons; a trigger counts
# what it adds under the empty one.
_OLDER = text("SELECT entries FROM search_marks WHERE mark = ''")
_OLDER_ENTRIES = text(
    "SELECT own.id, own.person, own.audience, own.source, own.record_id, own.chunk, own.text "
    "FROM search_words AS words JOIN search_entries AS own ON own.id = words.id "
    "WHERE words.person_mark = '' ORDER BY words.id DESC LIMIT :most"
)


def _entries(*, in_audiences: bool) -> Select[Any]:
    """The entries of ``ids`` within reach, those of a scope and source together: a row for each would take longer."""
    # The limit keeps the planner from asking for the person first, which would walk all of their entries.
    own = search_entries.c
    asked = (
        select(own.id, own.person, own.audience, own.source, own.record_id, func.length(own.text).label("characters"))
        .where(own.id.in_(listed("ids")))
        .limit(bindparam("most"))
        .subquery()
    )
    entry = asked.c
    closed = select(closed_scopes.c.audience).where(closed_scopes.c.person == bindparam("person"))
    within = (
        select(entry.person, entry.audience, entry.source)
        .add_columns(*(func.group_concat(number) for number in (entry.id, entry.record_id, entry.characters)))
        .where(entry.person == bindparam("person"), entry.audience.not_in(closed))
        .group_by(entry.person, entry.audience, entry.source)
    )
    return within.where(entry.audience.in_(listed("audiences"))) if in_audiences else within


_ENTRIES, _ENTRIES_IN_AUDIENCES = (Prepared(_entries(in_audiences=named)) for named in (False, True))

_Known = dict[int, tuple[Scope, int, int]]
"""By id of an entry whose it is, of which record, and how many characters its text has."""


class SqliteTextIndex:
    """Full text over search entries on SQLite's FTS5, ranked by their words (see ``term_scores``)."""

    async def add(self, connection: AsyncConnection, entries: Sequence[SearchEntry]) -> None:
        """Index entries; one already there is replaced."""
        if entries:
            await connection.execute(_PUT, [_row(entry) for entry in entries])

    async def remove(self, connection: AsyncConnection, entry_ids: Sequence[int]) -> None:
        """Remove entries; unknown ones are ignored."""
        if entry_ids:
            gone = [{"id": entry_id} for entry_id in entry_ids]
            for statement in _REMOVE:
                await connection.execute(statement, gone)

    async def index_older(self, connection: AsyncConnection) -> int:
        """Index anew some entries that a process of an earlier version has indexed in its own way; how many."""
        older = await connection.scalar(_OLDER)
        if not older:
            return 0
        rows = (await connection.execute(_OLDER_ENTRIES, {"most": min(older, _MOST_OLDER)})).all()
        await self.add(connection, [_entry(row) for row in rows])
        return len(rows)

    def search(
        self,
        connection: Connection,
        reach: Reach,
        query: str,
        limits: Mapping[Source, int],
    ) -> dict[Source, list[EntryScore]]:
        """The best entries within reach for a query of any content, best first, of each source; scores are above 0.

        A query without a single searchable word finds nothing and raises nothing. English words without content
        ("what", "the") are not searched for. A source of which there is nothing within reach is left out.

        Args:
            limits: how many of each source, at most; with 0 it is only told whether anything is held.
        """
        held = held_within(connection, reach, limits)
        searched = {source: own for source, own in held.items() if limits[source] > 0}
        scored = {
            source: best(*terms, max(_LEAST_COMPARED, _COMPARED_OF_EACH * limits[source]))
            for source, terms in weighed_terms(connection, searched, query_terms(query)).items()
        }
        ids = [entry_id for some in scored.values() for entry_id in some.ids.tolist()]
        known = _within(connection, reach, ids) if ids else {}
        return {
            source: _found(scored[source], source, known[source], limits[source]) if source in known else []
            for source in held
        }

    async def begin_scrub(self, connection: AsyncConnection) -> None:
        """Begin to remove the words of removed entries from the file; then ``scrub_step`` until it is done.

        FTS5 keeps them in its older segments until these are merged.
        """
        await self._merge(connection, -_SCRUB_PAGES)

    async def scrub_step(self, connection: AsyncConnection) -> bool:
        """Do one piece of that work, in a transaction of its own so that other writers get their turn.

        A piece writes at most 64 pages; it takes longer the more it finds removed.

        Returns:
            whether more is left to do.
        """
        return await self._merge(connection, _SCRUB_PAGES)

    async def _merge(self, connection: AsyncConnection, pages: int) -> bool:
        changes = text("SELECT total_changes()")
        before = (await connection.execute(changes)).scalar_one()
        await connection.execute(
            text("INSERT INTO search_text (search_text, rank) VALUES ('merge', :pages)"), {"pages": pages}
        )
        # FTS5's own documentation: a difference below 2 means that the merge found nothing to do.
        return bool((await connection.execute(changes)).scalar_one() - before >= 2)


def _within(connection: Connection, reach: Reach, ids: Sequence[int]) -> dict[Source, _Known]:
    """Those of these entries that are within reach, by source."""
    values: dict[str, object] = {"ids": ids, "most": len(ids)}
    statement = _ENTRIES
    if reach.audiences is not None:
        statement, values["audiences"] = _ENTRIES_IN_AUDIENCES, sorted(reach.audiences)
    known: defaultdict[Source, _Known] = defaultdict(dict)
    for own in reach.of_each:
        rows = statement.rows(connection, {**values, "person": own.person})
        for person, audience, source, *listings in rows:
            scope = Scope(person=person, audience=audience)
            columns = (numbers(listing).tolist() for listing in listings)
            known[Source(source)] |= {
                entry_id: (scope, record_id, characters)
                for entry_id, record_id, characters in zip(*columns, strict=True)
            }
    return known


def _found(scored: Scored, source: Source, known: _Known, limit: int) -> list[EntryScore]:
    """The best of the known entries with their length counted, best first."""
    lengths = [known[entry_id][2] if entry_id in known else -1 for entry_id in scored.ids.tolist()]
    first = by_length(scored, np.array(lengths), limit)
    found = []
    for entry_id, score in zip(first.ids.tolist(), first.scores.tolist(), strict=True):
        scope, record_id, _ = known[entry_id]
        found.append(EntryScore(entry_id=entry_id, scope=scope, source=source, record_id=record_id, text_score=score))
    return found


def _entry(row: Row[Any]) -> SearchEntry:
    return SearchEntry(
        id=row.id,
        scope=Scope(person=row.person, audience=row.audience),
        source=Source(row.source),
        record_id=row.record_id,
        chunk=row.chunk,
        text=row.text,
    )


def _row(entry: SearchEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "mark": mark_of(entry.scope, entry.source),
        "person_mark": mark_of_person(entry.scope.person, entry.source),
        "words": " ".join(indexed_words(entry.text)),
    }
