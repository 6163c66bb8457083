"""Full text over search entries, in the FTS5 table ``search_text(owner, body)`` of the same database.

The owner of an entry is an indexed token, so that a search walks the rows of one person alone however many others
there are. How texts and queries become words is ``words``'.

Invariant: a search returns entries within its reach only, twice over: by the owner's token, and by the scope of the
row of ``search_entries`` that it must join. No query text, whatever it holds, raises or widens the reach.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from sqlalchemy import Row, Select, bindparam, func, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.indexes.term_scores import Ids, Term, best, by_length, rarity
from memory.indexes.words import indexed, query_terms
from memory.records import EntryScore, Reach, Scope, SearchEntry, Source
from memory.schema import closed_scopes, listed, search_entries

_MAX_HOLDERS = 1_000  # of a word, the newest: what more entries hold says little of any of them
_MAX_SCORED = 3_000
_MAX_COMMON_TERMS = 3  # the commonest hardly tell entries apart
_MAX_COUNTED = 10_000  # to weigh words by how rare they are this is as good as all of them
_LEAST_COMPARED = 100  # in length, of those that hold the most and the rarest words
_COMPARED_OF_EACH = 3
_SCRUB_PAGES = 64

# The newest entries that each query finds, as ids with commas between them: as rows they would take longer to read than
# to find.
_HOLDERS = text(
    "SELECT asked.key AS place, (SELECT group_concat(id) FROM (SELECT rowid AS id FROM search_text WHERE search_text "
    "MATCH asked.value ORDER BY rowid DESC LIMIT :most)) AS ids FROM json_each(:asked) AS asked"
)
_PUT = text("INSERT OR REPLACE INTO search_text (rowid, owner, body) VALUES (:id, :owner, :body)")
_TOTALS = text(
    "SELECT owned.key AS source, (SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text MATCH owned.value "
    "LIMIT :most)) AS entries FROM json_each(:owners) AS owned"
)


def _lengths(*, in_audiences: bool) -> Select[Any]:
    """The entries of ``ids`` within reach. Made once: making a statement takes longer than running it."""
    # The limit keeps the planner from asking for the person first, which would walk all of their entries.
    entry = search_entries.c
    asked = (
        select(entry.id, entry.person, entry.audience, entry.source, entry.record_id)
        .add_columns(func.length(entry.text).label("characters"))
        .where(entry.id.in_(listed("ids")))
        .limit(bindparam("most"))
        .subquery()
    )
    closed = select(closed_scopes.c.audience).where(closed_scopes.c.person == bindparam("person"))
    within = select(asked).where(asked.c.person == bindparam("person"), asked.c.audience.not_in(closed))
    return within.where(asked.c.audience.in_(listed("audiences"))) if in_audiences else within


_LENGTHS, _LENGTHS_IN_AUDIENCES = _lengths(in_audiences=False), _lengths(in_audiences=True)


class SqliteTextIndex:
    """Full text over search entries on SQLite's FTS5, ranked by their words (see ``term_scores``)."""

    async def add(self, connection: AsyncConnection, entries: Sequence[SearchEntry]) -> None:
        """Index entries; one already there is replaced."""
        if entries:
            await connection.execute(
                _PUT,
                [{"id": entry.id, "owner": _owner(entry), "body": indexed(entry.text)} for entry in entries],
            )

    async def remove(self, connection: AsyncConnection, entry_ids: Sequence[int]) -> None:
        """Remove entries; unknown ones are ignored."""
        if entry_ids:
            await connection.execute(
                text("DELETE FROM search_text WHERE rowid = :id"), [{"id": entry_id} for entry_id in entry_ids]
            )

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
        withins = {source: f"owner : ({' OR '.join(own)})" for source in limits if (own := _owners(reach, source))}
        totals = _totals(connection, withins)
        searched = {source: withins[source] for source in totals if limits[source]}
        scores = {
            source: best(*terms, max(_LEAST_COMPARED, _COMPARED_OF_EACH * limits[source]))
            for source, terms in _weighed(connection, searched, totals, query_terms(query)).items()
        }
        rows = _within(connection, reach, [entry_id for some in scores.values() for entry_id in some])
        return {
            source: _ranked(scores.get(source, {}), rows.get(source, ()), source, limits[source]) for source in totals
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


def _totals(connection: Connection, withins: Mapping[Source, str]) -> dict[Source, int]:
    """How many entries of each source are within reach; those without any are left out.

    Args:
        withins: by source, the FTS5 query for everything within reach.
    """
    owners = {source.value: within for source, within in withins.items()}
    rows = connection.execute(_TOTALS, {"owners": json.dumps(owners), "most": _MAX_COUNTED}).all()
    return {Source(row.source): row.entries for row in rows if row.entries}


def _weighed(
    connection: Connection, withins: Mapping[Source, str], totals: Mapping[Source, int], terms: Sequence[str]
) -> dict[Source, tuple[list[Term], list[Term]]]:
    """Of each source the terms that make a candidate, and those that only add to what is one already.

    Common words alone do not make a candidate while there are rarer ones, as in MaxScore (Turtle and Flood 1995); the
    rarest of them add to the score of those that have a rarer one.
    """
    every = _holders(connection, {source: (within, terms) for source, within in withins.items()})
    split = {source: _by_rarity(holders) for source, holders in every.items() if holders}
    added = _holders(
        connection,
        {
            source: (f"{withins[source]} AND body : ({' OR '.join(rare)})", common)
            for source, (rare, common) in split.items()
            if common
        },
    )

    def weighed(source: Source, held: Mapping[str, Ids], terms: Iterable[str]) -> list[Term]:
        return [
            Term(entries=held[term], weight=rarity(len(every[source][term]), totals[source]))
            for term in terms
            if term in held
        ]

    return {
        source: (weighed(source, every[source], rare), weighed(source, added.get(source, {}), common))
        for source, (rare, common) in split.items()
    }


def _by_rarity(holders: Mapping[str, Ids]) -> tuple[list[str], list[str]]:
    """The rare terms, and a few of the common ones, the rarest first."""
    terms = sorted(holders, key=lambda term: len(holders[term]))
    sums = accumulate(len(holders[term]) for term in terms)
    fits = (
        entries <= _MAX_SCORED and len(holders[term]) < _MAX_HOLDERS for entries, term in zip(sums, terms, strict=True)
    )
    rare = sum(fits) or 1
    return terms[:rare], terms[rare : rare + _MAX_COMMON_TERMS]


def _holders(
    connection: Connection, wanted: Mapping[Source, tuple[str, Sequence[str]]]
) -> dict[Source, dict[str, Ids]]:
    """Of each source the newest entries that hold each term; terms that none holds are left out.

    Args:
        wanted: by source, the FTS5 query for what may be found, and the terms.
    """
    places = [(source, term) for source, (_, terms) in wanted.items() for term in terms]
    if not places:
        return {}
    asked = [f"{within} AND body : {term}" for within, terms in wanted.values() for term in terms]
    held: dict[Source, dict[str, Ids]] = {source: {} for source in wanted}
    for row in connection.execute(_HOLDERS, {"asked": json.dumps(asked), "most": _MAX_HOLDERS}).all():
        if row.ids:
            source, term = places[row.place]
            held[source][term] = np.fromstring(row.ids, dtype=np.int64, sep=",")
    return held


def _within(connection: Connection, reach: Reach, ids: Sequence[int]) -> dict[Source, list[Row[Any]]]:
    """Those of these entries that are within reach, with the lengths of their texts, by source."""
    rows: defaultdict[Source, list[Row[Any]]] = defaultdict(list)
    values: dict[str, object] = {"ids": ids, "most": len(ids)}
    statement = _LENGTHS
    if reach.audiences is not None:
        statement, values["audiences"] = _LENGTHS_IN_AUDIENCES, sorted(reach.audiences)
    for own in reach.of_each if ids else ():
        for row in connection.execute(statement, {**values, "person": own.person}).all():
            rows[Source(row.source)].append(row)
    return rows


def _ranked(scores: Mapping[int, float], rows: Sequence[Row[Any]], source: Source, limit: int) -> list[EntryScore]:
    """The best entries with their length counted, best first; of equals the newest."""
    final = by_length(scores, {row.id: row.characters for row in rows})
    known = [row for row in rows if row.id in final]
    first = sorted(known, key=lambda row: (-final[row.id], -row.id))[:limit]
    return [
        EntryScore(
            entry_id=row.id,
            scope=Scope(person=row.person, audience=row.audience),
            source=source,
            record_id=row.record_id,
            text_score=final[row.id],
        )
        for row in first
    ]


def _token(*parts: str) -> str:
    # The last character is a digit, so that the Porter stemmer leaves the token alone.
    return "o" + hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest() + "0"


def _owner(entry: SearchEntry) -> str:
    person, audience, source = entry.scope.person, entry.scope.audience, entry.source.value
    return f"{_token(source, person)} {_token(source, person, audience)}"


def _owners(reach: Reach, source: Source) -> list[str]:
    persons = [own.person for own in reach.of_each]
    if reach.audiences is None:
        return [_token(source.value, person) for person in persons]
    return [_token(source.value, person, audience) for person in persons for audience in sorted(reach.audiences)]
