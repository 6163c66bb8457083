"""Full text over search entries, in the FTS5 table ``search_text(owner, body)`` of the same database.

The owner of an entry is an indexed token, so that a search walks the rows of one person alone however many others
there are. How texts and queries become words is ``words``'.

Invariant: a search returns entries within its reach only, twice over: by the owner's token, and by the scope of the
row of ``search_entries`` that it must join. No query text, whatever it holds, raises or widens the reach.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from sqlalchemy import Row, Select, bindparam, func, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.indexes.term_scores import Ids, Term, best, by_length, rarity
from memory.indexes.words import indexed, query_terms
from memory.records import EntryScore, Reach, Scope, SearchEntry, Source
from memory.schema import closed_scopes, search_entries

_MAX_HOLDERS = 1_000  # of a word, the newest: what more entries hold says little of any of them
_MAX_SCORED = 3_000
_MAX_COMMON_TERMS = 3  # the commonest hardly tell entries apart
_MAX_COUNTED = 50_000  # to weigh words by how rare they are this is as good as all of them
_LEAST_COMPARED = 100  # in length, of those that hold the most and the rarest words
_COMPARED_OF_EACH = 3
_SCRUB_PAGES = 64

# The newest entries that hold each term, as ids with commas between them: as rows they would take longer to read than
# to find.
_HOLDERS = text(
    "SELECT term.value AS term, (SELECT group_concat(id) FROM (SELECT rowid AS id FROM search_text WHERE search_text "
    "MATCH :within || ' AND body : ' || term.value ORDER BY rowid DESC LIMIT :most)) AS ids "
    "FROM json_each(:terms) AS term"
)
_PUT = text("INSERT OR REPLACE INTO search_text (rowid, owner, body) VALUES (:id, :owner, :body)")
_TOTAL = text("SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text MATCH :within LIMIT :most)")
_HELD = text(
    "SELECT owned.key FROM json_each(:owners) AS owned "
    "WHERE EXISTS (SELECT 1 FROM search_text WHERE search_text MATCH owned.value)"
)


def _lengths(*, in_audiences: bool) -> Select[Any]:
    """The entries of ``ids`` within reach. Made once: making a statement takes longer than running it."""
    # The limit keeps the planner from asking for the person first, which would walk all of their entries.
    entry = search_entries.c
    asked = (
        select(entry.id, entry.person, entry.audience, entry.source, entry.record_id)
        .add_columns(func.length(entry.text).label("characters"))
        .where(entry.id.in_(bindparam("ids", expanding=True)))
        .limit(bindparam("most"))
        .subquery()
    )
    closed = select(closed_scopes.c.audience).where(closed_scopes.c.person == bindparam("person"))
    within = select(asked).where(
        asked.c.person == bindparam("person"),
        asked.c.source == bindparam("source"),
        asked.c.audience.not_in(closed),
    )
    return within.where(asked.c.audience.in_(bindparam("audiences", expanding=True))) if in_audiences else within


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
        source: Source,
        query: str,
        limit: int,
    ) -> list[EntryScore]:
        """The best entries within reach for a query of any content, best first; scores are above 0.

        A query without a single searchable word finds nothing and raises nothing. English words without content
        ("what", "the") are not searched for.
        """
        owners = " OR ".join(_owners(reach, source))
        terms = query_terms(query)
        if not owners or not terms or limit < 1:
            return []
        scores = self._scores(connection, f"owner : ({owners})", terms, max(_LEAST_COMPARED, _COMPARED_OF_EACH * limit))
        if not scores:
            return []
        rows = [row for own in reach.of_each for row in self._within(connection, own, source, list(scores))]
        final = by_length(scores, {row.id: row.characters for row in rows})
        found = [
            EntryScore(
                entry_id=row.id,
                scope=Scope(person=row.person, audience=row.audience),
                source=source,
                record_id=row.record_id,
                text_score=final[row.id],
            )
            for row in rows
        ]
        return sorted(found, key=lambda entry: (-entry.text_score, -entry.entry_id))[:limit]

    def held(self, connection: Connection, reach: Reach) -> frozenset[Source]:
        """The sources of which there are entries within reach."""
        owners = {
            source.value: f"owner : ({' OR '.join(tokens)})" for source in Source if (tokens := _owners(reach, source))
        }
        return frozenset(map(Source, connection.execute(_HELD, {"owners": json.dumps(owners)}).scalars()))

    def _within(self, connection: Connection, reach: Reach, source: Source, ids: list[int]) -> Sequence[Row[Any]]:
        """Those of these entries that are within the reach of one account, with the lengths of their texts."""
        values = {"person": reach.person, "source": source.value, "ids": ids, "most": len(ids)}
        if reach.audiences is None:
            return connection.execute(_LENGTHS, values).all()
        return connection.execute(_LENGTHS_IN_AUDIENCES, {**values, "audiences": sorted(reach.audiences)}).all()

    def _scores(self, connection: Connection, within: str, terms: Sequence[str], limit: int) -> dict[int, float]:
        """The entries that hold the most and the rarest of the terms.

        Common words alone do not make a candidate while there are rarer ones, as in MaxScore (Turtle and Flood 1995);
        the rarest of them add to the score of those that have a rarer one.

        Args:
            within: the FTS5 query for everything within reach.
        """
        holders = sorted(self._holders(connection, within, terms).items(), key=lambda pair: len(pair[1]))
        if not holders:
            return {}
        total = connection.execute(_TOTAL, {"within": within, "most": _MAX_COUNTED}).scalar_one()
        sums = accumulate(len(ids) for _, ids in holders)
        fits = (
            entries <= _MAX_SCORED and len(ids) < _MAX_HOLDERS for entries, (_, ids) in zip(sums, holders, strict=True)
        )
        rare = sum(fits) or 1
        common = [term for term, _ in holders[rare : rare + _MAX_COMMON_TERMS]]
        if common:
            any_rare = " OR ".join(term for term, _ in holders[:rare])
            more = self._holders(connection, f"{within} AND body : ({any_rare})", common)
        else:
            more = {}
        weight = {term: rarity(len(ids), total) for term, ids in holders}
        return best(
            [Term(entries=ids, weight=weight[term]) for term, ids in holders[:rare]],
            [Term(entries=ids, weight=weight[term]) for term, ids in more.items()],
            limit,
        )

    def _holders(self, connection: Connection, within: str, terms: Sequence[str]) -> dict[str, Ids]:
        """The newest entries that hold each term; terms that none holds are left out."""
        values = {"within": within, "terms": json.dumps(terms), "most": _MAX_HOLDERS}
        rows = connection.execute(_HOLDERS, values).all()
        return {row.term: np.array(row.ids.split(","), dtype=np.int64) for row in rows if row.ids}

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
