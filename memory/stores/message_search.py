"""One search among messages: candidates by words and meaning, a closer look at the best, and their rows.

Invariant: every message is read once, by its whole key; what the rows do not hold is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from memory.policy.fact_text import normalised
from memory.policy.ranking import Excerpt, RankedEntry, Setting, candidates_of, rank, rerank
from memory.policy.relevance import above_floor
from memory.policy.succession import present_first
from memory.policy.time_expressions import Period
from memory.ports import EmbeddedQuery, Vectors
from memory.prepared import Prepared
from memory.records import EntryScore, Reach, SearchHit, Source
from memory.schema import messages as table
from memory.schema import moment
from memory.stores.message_rows import SHOWN, hit_of_message
from memory.stores.scoped import by_keys, in_any_reach_by_key, keys_of, reach_values, scopes_of
from memory.stores.search import SearchStore
from memory.stores.taught import Taught, taught_by

# Results asked for where the first candidates were nearly all left out, as with someone who talks in many channels
# at once and whose messages still stand in their windows.
_MANY = 500

_LONGEST_PERIOD = timedelta(days=40)  # of a longer one the newest messages say little
_MOST_OF_THEN = 200
_LEAST_STEP = timedelta(milliseconds=1)  # as moments are stored

_BY_KEYS = by_keys(table)
_SHOWN = Prepared(_BY_KEYS.with_only_columns(*SHOWN))
_SETTINGS = Prepared(
    _BY_KEYS.with_only_columns(table.c.id, table.c.session_id, table.c.author, table.c.sent_at, table.c.evicted_at)
)
_OF_THEN, _OF_THEN_IN_AUDIENCES = (
    select(table.c.id)
    .where(
        in_any_reach_by_key(table, in_audiences=in_audiences),
        table.c.sent_at.between(bindparam("since"), bindparam("until")),
    )
    .order_by(table.c.sent_at.desc())
    .limit(_MOST_OF_THEN)
    for in_audiences in (False, True)
)
_EVICTED = Prepared(_BY_KEYS.with_only_columns(table.c.id).where(table.c.evicted_at.is_not(None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSearch:
    """A search, to be called with a connection in a thread (``Database.read_together``).

    Attributes:
        search: the searchable side of messages.
        reach: what may be read.
        query: the text that is searched for.
        embedded: its vectors; None where the embedder failed.
        periods: the times that it asks about.
        limit: hits at most.
        evicted_only: leave out what still stands in a window.
        exclude: messages to leave out.
        floor: leave out what is not relevant enough to be shown unasked.
        besides: messages that are looked at closely whatever the indexes say of them.
        forgotten: also find messages that said nothing but what the person wants forgotten.
    """

    search: SearchStore
    reach: Reach
    query: str
    embedded: EmbeddedQuery | None
    periods: Sequence[Period]
    limit: int
    evicted_only: bool
    exclude: frozenset[int]
    floor: bool
    besides: frozenset[int]
    forgotten: bool

    def __call__(self, connection: Connection) -> list[SearchHit]:
        """The messages that answer the query best, best first."""
        excerpts = self._excerpts(connection, self._candidates(connection))
        entries = [one.entry for one in excerpts]
        taught = taught_by(connection, scopes_of(entries), {entry.record_id for entry in entries})
        excerpts += self._excerpts(connection, self._taking_their_place(connection, taught, excerpts))
        settings = self._settings(connection, excerpts, taught)
        tokens = None if self.embedded is None else self.embedded.tokens
        ranked = rerank(excerpts, settings, self.query, tokens=tokens, periods=self.periods)
        shown = above_floor(ranked, self.query, floors=self.search.floors(Source.RECALL)) if self.floor else ranked
        if not self.periods:  # of a time that is asked about the present is no better answer
            shown = present_first(shown, ranked, taught.later)
        hits = self._hits(connection, shown)
        return list(islice(_said_once(hits) if self.floor else hits, self.limit))

    def _hits(self, connection: Connection, shown: Sequence[RankedEntry]) -> Iterator[SearchHit]:
        """The messages themselves, of which no more are read than are asked for, but for a few."""
        for start in range(0, len(shown), self.limit):
            some = shown[start : start + self.limit]
            rows = {row[0]: row for row in _SHOWN.rows(connection, keys_of(one.entry for one in some))}
            yield from (hit_of_message(rows[key], one) for one in some if (key := one.entry.record_id) in rows)

    def _excerpts(self, connection: Connection, candidates: Sequence[RankedEntry]) -> list[Excerpt]:
        return self.search.excerpts(
            connection, reach=self.reach, source=Source.RECALL, candidates=candidates, embedded=self.embedded
        )

    def _taking_their_place(
        self, connection: Connection, taught: Taught, excerpts: Sequence[Excerpt]
    ) -> list[RankedEntry]:
        """The messages, not looked at yet, that said what took the place of what others taught."""
        later = {message_id for those in taught.later.values() for message_id in those}
        unread = later - {one.entry.record_id for one in excerpts}
        if not unread:
            return []
        return rank(
            self.search.of_records(
                connection, reach=self.reach, source=Source.RECALL, record_ids=unread, embedded=self.embedded
            )
        )

    def _settings(self, connection: Connection, excerpts: Sequence[Excerpt], taught: Taught) -> dict[int, Setting]:
        """Where and when the messages were said that may be shown, and what they taught."""
        entries = [one.entry for one in excerpts if one.entry.record_id not in self.exclude]
        rows = _SETTINGS.rows(connection, keys_of(entries)) if entries else ()
        learned = self._learned(taught)
        return {
            message_id: Setting(
                group=session_id,
                author=author,
                at=moment(sent_at) if self.periods else None,
                learned=learned.get(message_id, ()),
                corrected=message_id in taught.corrected,
            )
            for message_id, session_id, author, sent_at, evicted_at in rows
            if (evicted_at is not None or not self.evicted_only)
            and (self.forgotten or message_id not in taught.forgotten)
        }

    def _learned(self, taught: Taught) -> dict[int, list[Vectors]]:
        """By message, how well the facts learned from it answer the query."""
        matches = self.search.matches([entry for those in taught.entries.values() for entry in those], self.embedded)
        return {
            message_id: [matches[entry_id] for entry_id, *_ in those if entry_id in matches]
            for message_id, those in taught.entries.items()
        }

    def _candidates(self, connection: Connection) -> list[RankedEntry]:
        of_then = self._said_then(connection)
        usable: list[EntryScore] = []
        for wanted in (self._known_limit() or self.limit + len(self.exclude), _MANY):
            entries = self.search.find(
                connection,
                reach=self.reach,
                source=Source.RECALL,
                query=self.query,
                limit=wanted,
                embedded=self.embedded,
                besides=of_then | self.besides,
            )
            usable = [entry for entry in entries if entry.record_id not in self.exclude]
            if self.evicted_only:
                usable = _evicted(connection, usable)
            if len({entry.record_id for entry in usable}) >= self.limit or len(entries) < wanted:
                break
        ranked, most = rank(usable), candidates_of(self.limit)
        later = [one for one in ranked[most:] if one.entry.record_id in of_then]
        named = [one for one in ranked[most:] if one.entry.record_id in self.besides - of_then]
        return ranked[:most] + later[: most // 2] + named

    def _known_limit(self) -> int:
        """For how many results the candidates suffice that were looked up for all sources of a search; 0 without any.

        A search for somewhat more nearly always finds enough among them, too, and to look anew takes longer than all
        else here.
        """
        known = None if self.embedded is None else self.embedded.candidates
        return 0 if known is None else known.limit_of(self.query, self.reach, Source.RECALL)

    def _said_then(self, connection: Connection) -> set[int]:
        """The newest messages of the times asked about: "What did I say on Monday?" has no words to be found by."""
        said: set[int] = set()
        statement = _OF_THEN if self.reach.audiences is None else _OF_THEN_IN_AUDIENCES
        for period in self.periods:
            if period.end - period.start <= _LONGEST_PERIOD:
                then = {"since": period.start, "until": period.end - _LEAST_STEP}
                for own in self.reach.of_each:
                    said.update(connection.execute(statement, {**reach_values(own), **then}).scalars())
        return said


def _said_once(hits: Iterable[SearchHit]) -> Iterator[SearchHit]:
    """The hits without those that say the same in the same words as a better one, as "Thanks!" and "Of course!" do."""
    told: set[str] = set()
    for hit in hits:
        words = normalised(hit.text)
        if words not in told:
            told.add(words)
            yield hit


def _evicted(connection: Connection, entries: Sequence[EntryScore]) -> list[EntryScore]:
    evicted = {message_id for (message_id,) in _EVICTED.rows(connection, keys_of(entries))}
    return [entry for entry in entries if entry.record_id in evicted]
