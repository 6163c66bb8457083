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

from sqlalchemy import BigInteger, Float, Select, bindparam, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.indexes.words import indexed, query_terms
from memory.records import EntryScore, Reach, Scope, SearchEntry, Source
from memory.schema import closed_scopes, search_entries

_MAX_SCORED = 3_000  # BM25 takes a few microseconds a row
_MAX_COMMON_TERMS = 3  # each makes BM25 walk all of its entries, and the commonest hardly tell entries apart
_SCRUB_PAGES = 64

_COUNT = text(
    "SELECT term.value AS term, (SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text "
    "MATCH 'owner : (' || :owners || ') AND body : ' || term.value LIMIT :most)) AS entries "
    "FROM json_each(:terms) AS term ORDER BY entries"
)
_FIND = text(
    "SELECT id, badness FROM (SELECT rowid AS id, bm25(search_text, 0.0, 1.0) AS badness FROM search_text "
    "WHERE search_text MATCH :match ORDER BY rowid DESC LIMIT :scored) ORDER BY badness LIMIT :limit"
).columns(id=BigInteger, badness=Float)


def _within(*, in_audiences: bool) -> Select[Any]:
    """What ``_FIND`` found, as far as it is within reach. Made once: making it takes longer than running it."""
    found, entry = _FIND.subquery("found"), search_entries.c
    closed = select(closed_scopes.c.audience).where(closed_scopes.c.person == bindparam("person"))
    statement = (
        select(entry.id, entry.person, entry.audience, entry.record_id, found.c.badness)
        .join(found, entry.id == found.c.id)
        .where(
            entry.person == bindparam("person"),
            entry.source == bindparam("source"),
            entry.audience.not_in(closed),
        )
        .order_by(found.c.badness, entry.id.desc())
    )
    return statement.where(entry.audience.in_(bindparam("audiences", expanding=True))) if in_audiences else statement


_WITHIN, _WITHIN_AUDIENCES = _within(in_audiences=False), _within(in_audiences=True)


class SqliteTextIndex:
    """Full text over search entries on SQLite's FTS5, ranked by BM25 over the entry's text."""

    async def add(self, connection: AsyncConnection, entries: Sequence[SearchEntry]) -> None:
        """Index entries; one already there is replaced."""
        if entries:
            await connection.execute(
                text("INSERT OR REPLACE INTO search_text (rowid, owner, body) VALUES (:id, :owner, :body)"),
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
        counted = connection.execute(_COUNT, {"owners": owners, "terms": json.dumps(terms), "most": _MAX_SCORED + 1})
        match = _match(owners, [(row.term, row.entries) for row in counted.all()])
        values = {"person": reach.person, "source": source.value, "match": match, "scored": _MAX_SCORED, "limit": limit}
        if reach.audiences is None:
            rows = connection.execute(_WITHIN, values).all()
        else:
            rows = connection.execute(_WITHIN_AUDIENCES, {**values, "audiences": sorted(reach.audiences)}).all()
        return [
            EntryScore(
                entry_id=row.id,
                scope=Scope(person=row.person, audience=row.audience),
                source=source,
                record_id=row.record_id,
                text_score=-row.badness,
            )
            for row in rows
        ]

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
    if reach.audiences is None:
        return [_token(source.value, reach.person)]
    return [_token(source.value, reach.person, audience) for audience in sorted(reach.audiences)]


def _match(owners: str, counted: Sequence[tuple[str, int]]) -> str:
    """The FTS5 query for terms with the number of entries that hold them, the rarest first.

    Common words alone do not make a candidate while there are rarer ones, as in MaxScore (Turtle and Flood 1995);
    the rarest of them add to the score of those that have a rarer one.
    """
    totals = accumulate(entries for _, entries in counted)
    rare = sum(total <= _MAX_SCORED for total in totals) or len(counted)
    terms = [term for term, _ in counted]
    match = f"owner : ({owners}) AND body : ({' OR '.join(terms[:rare])})"
    if common := terms[rare : rare + _MAX_COMMON_TERMS]:
        # The first half always holds, and weighs nothing.
        match += f" AND (owner : ({owners}) OR body : ({' OR '.join(common)}))"
    return match
