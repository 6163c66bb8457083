"""The recall log: verbatim, in order, searchable by its own scope alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert
from structlog.testing import capture_logs

from memory.database import Database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.messages import Message, Part, Role, TextPart, ToolCall, ToolResult, assistant_message, user_message
from memory.policy.audience import reach_of
from memory.records import Candidates, EvictionReason, NewMessage, Reach, Scope, Session, Source, StoredMessage
from memory.schema import closed_scopes
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore
from tests.fakes import START, HashEmbedder

GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
CALL = ToolCall(id="t1", name="recall_search", arguments={"query": "kumquat"})
RESULT = ToolResult(call_id="t1", name="recall_search", content="kumquat")


class Log:
    """The recall store over the real search, each write in a transaction of its own."""

    def __init__(self, database: Database, ids: IdSource) -> None:
        self.database = database
        self.search = SearchStore(database, SqliteTextIndex(), HashEmbedder(), ids, new_index=FaissIndex)
        self.store = RecallStore(database, self.search, ids)

    async def append(
        self,
        scope: Scope,
        *messages: NewMessage | str,
        conversation: str = "console:1",
        session_id: int = 5,
        exchange_id: int | None = None,
        evicted: EvictionReason | None = None,
    ) -> list[StoredMessage]:
        session = Session(
            id=session_id,
            scope=scope,
            conversation=conversation,
            community=None,
            started_at=START,
            last_activity_at=START,
        )
        async with self.database.transaction() as tx:
            return await self.store.append(
                scope,
                tx,
                session=session,
                messages=[said(new) if isinstance(new, str) else new for new in messages],
                exchange_id=exchange_id,
                evicted=evicted,
                at=START,
            )

    async def evict(
        self, scope: Scope, messages: Sequence[StoredMessage], reason: EvictionReason = EvictionReason.THRESHOLD
    ) -> int:
        async with self.database.transaction() as tx:
            return await self.store.evict(
                scope, tx, message_ids=[message.id for message in messages], reason=reason, at=START
            )

    async def found(self, reach: Reach, query: str, *, limit: int = 5, evicted_only: bool = False) -> list[str]:
        hits = await self.store.search(reach, query, limit=limit, evicted_only=evicted_only)
        return [hit.text for hit in hits]


def said(text: str, *, at: datetime = START, author: str = "Ann", tokens: int = 3) -> NewMessage:
    return NewMessage(message=user_message(text), author=author, sent_at=at, tokens=tokens)


async def test_what_led_up_to_a_message_and_what_answered_it_are_read_of_its_session_alone(
    log: Log, ann: Scope
) -> None:
    await log.append(ann, "Zero", session_id=4)
    earlier = await log.append(ann, "One", "Two", "Three")
    await log.evict(ann, earlier[1:2], EvictionReason.REFUSED)
    [asked] = await log.append(ann, "Four?")
    await log.append(
        ann,
        NewMessage(message=assistant_message("Four."), author="Keepsake", sent_at=START, tokens=2),
        exchange_id=asked.id,
    )
    await log.append(ann, "Five")
    for most, expected in ((5, ["One", "Three"]), (1, ["Three"]), (0, [])):
        before, exchange = await log.store.exchange(ann, asked.id, before=most)
        assert [message.text for message in before] == expected
        assert [message.text for message in exchange] == ["Four?", "Four."]
    assert await log.store.exchange(GUILD, asked.id, before=5) == ([], [])
    async with log.database.transaction() as tx:  # as when the bot has left the place
        closed = {"person": ann.person, "audience": ann.audience, "place": "guild:1", "closed_at": START}
        await tx.connection.execute(insert(closed_scopes).values(closed))
    assert await log.store.exchange(ann, asked.id, before=5) == ([], [])


def of(message: Message) -> NewMessage:
    return NewMessage(message=message, author="Ann", sent_at=START)


@pytest.fixture
def log(database: Database, ids: IdSource) -> Log:
    return Log(database, ids)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=5,
)
TEXT = st.text(st.characters(codec="utf-8"))
PARTS = st.lists(
    st.one_of(
        st.builds(TextPart, text=TEXT),
        st.builds(
            ToolCall,
            id=TEXT,
            name=TEXT,
            arguments=st.dictionaries(TEXT, JSON, max_size=3),
            malformed=st.none() | TEXT,
        ),
        st.builds(ToolResult, call_id=TEXT, name=TEXT, content=TEXT, is_error=st.booleans()),
    ),
    max_size=4,
)
PERSONS = count()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    conversation=st.lists(
        st.builds(
            NewMessage,
            message=st.builds(Message, role=st.sampled_from(Role), parts=PARTS.map(tuple)),
            author=TEXT,
            sent_at=st.datetimes(timezones=st.just(UTC)),
            platform_id=st.none() | TEXT,
            tokens=st.integers(0, 10**6),
        ),
        max_size=4,
    )
)
async def test_messages_come_out_as_they_went_in_whatever_they_hold(log: Log, conversation: list[NewMessage]) -> None:
    scope = Scope(person=f"console:{next(PERSONS)}", audience="dm")
    stored = await log.append(scope, *conversation)
    assert [message.message for message in stored] == [new.message for new in conversation]
    assert await log.store.window(scope, "console:1") == tuple(stored)
    assert await log.store.get(reach_of(scope), [message.id for message in reversed(stored)]) == stored


async def test_parts_of_every_kind_survive(log: Log, ann: Scope) -> None:
    parts: tuple[Part, ...] = (
        TextPart(text="Let me look.\n“So”"),
        CALL,
        ToolCall(id="t2", name="x", malformed="{"),
    )
    asked, answered = await log.append(
        ann, of(Message(role=Role.ASSISTANT, parts=parts)), of(Message(role=Role.USER, parts=(RESULT,)))
    )
    assert asked.message.parts == parts
    assert await log.store.window(ann, "console:1") == (asked, answered)


async def test_the_first_message_begins_an_exchange_that_others_continue(log: Log, ann: Scope) -> None:
    [question] = await log.append(ann, "hello")
    assert question.exchange_id == question.id
    reply, more = await log.append(ann, of(assistant_message("hi")), "again", exchange_id=question.id)
    assert (reply.exchange_id, more.exchange_id) == (question.id, question.id)
    assert question.id < reply.id < more.id
    assert {message.session_id for message in (question, reply, more)} == {5}


async def test_messages_appended_together_share_an_exchange(log: Log, ann: Scope) -> None:
    first, second = await log.append(ann, "one", "two")
    assert (first.exchange_id, second.exchange_id) == (first.id, first.id)
    assert await log.append(ann) == []


async def test_the_window_belongs_to_one_conversation_of_one_scope(log: Log, ann: Scope) -> None:
    here = await log.append(ann, "here")
    await log.append(ann, "there", conversation="console:2")
    await log.append(GUILD, "in public")
    await log.append(BOB, "bob")
    assert await log.store.window(ann, "console:1") == tuple(here)


async def test_an_evicted_message_leaves_the_window_and_keeps_its_first_reason(log: Log, ann: Scope) -> None:
    first, second, third = await log.append(ann, "one", "two", "three")
    assert await log.evict(ann, [first, second]) == 2
    assert await log.evict(ann, [first, third], EvictionReason.SESSION_END) == 1
    assert await log.evict(ann, [first], EvictionReason.REFUSED) == 0
    assert await log.store.window(ann, "console:1") == ()
    reasons = [message.eviction_reason for message in await log.store.get(reach_of(ann), [first.id, third.id])]
    assert reasons == [EvictionReason.THRESHOLD, EvictionReason.SESSION_END]


async def test_nobody_evicts_a_message_of_another_scope(log: Log, ann: Scope) -> None:
    mine = await log.append(ann, "mine")
    assert await log.evict(BOB, mine) == 0
    assert await log.store.window(ann, "console:1") == tuple(mine)


async def test_an_eviction_is_logged_with_the_tokens_of_its_window_before_and_after(log: Log, ann: Scope) -> None:
    leaving = await log.append(ann, said("old secret", tokens=30), said("older", tokens=20))
    await log.append(ann, said("new", tokens=7))
    await log.append(ann, said("elsewhere", tokens=100), conversation="console:2")
    with capture_logs() as logs:
        await log.evict(ann, leaving)
        await log.evict(ann, leaving)
    [entry] = logs
    assert (entry["event"], entry["reason"]) == ("eviction", "threshold")
    assert (entry["messages"], entry["messages_left"]) == (2, 1)
    assert (entry["tokens_before"], entry["tokens_after"]) == (57, 7)
    assert "secret" not in repr(entry)


async def test_messages_stay_unfolded_until_marked(log: Log, ann: Scope) -> None:
    first, second = await log.append(ann, "one", "two")
    await log.append(ann, "still in the window")
    await log.append(ann, "elsewhere", conversation="console:2", evicted=EvictionReason.THRESHOLD)
    await log.evict(ann, [second], EvictionReason.SESSION_END)
    await log.evict(ann, [first], EvictionReason.HISTORY_LIMIT)
    assert [message.id for message in await log.store.unfolded(ann, "console:1")] == [first.id, second.id]
    async with log.database.transaction() as tx:
        await log.store.mark_folded(ann, tx, message_ids=[first.id])
    assert [message.id for message in await log.store.unfolded(ann, "console:1")] == [second.id]


@pytest.mark.parametrize("reason", [EvictionReason.REFUSED, EvictionReason.UNANSWERED, EvictionReason.IMPORTED])
async def test_what_was_never_part_of_the_talk_is_not_folded(log: Log, ann: Scope, reason: EvictionReason) -> None:
    [message] = await log.append(ann, "aside", evicted=reason)
    assert (message.eviction_reason, message.evicted_at) == (reason, START)
    assert await log.store.window(ann, "console:1") == ()
    assert await log.store.unfolded(ann, "console:1") == ()


async def test_a_search_finds_the_words_of_text_messages_only(log: Log, ann: Scope) -> None:
    await log.append(ann, "I adore kumquat jam", "The weather is fine")
    await log.append(ann, of(Message(role=Role.ASSISTANT, parts=(CALL,))), of(Message(role=Role.USER, parts=(RESULT,))))
    [hit, *_] = await log.store.search(reach_of(ann), "kumquat", limit=5, evicted_only=False)
    assert (hit.text, hit.author, hit.at) == ("I adore kumquat jam", "Ann", START)
    assert hit.message_ids == (hit.record_id,)
    assert hit.reason
    found = await log.database.read_together(
        lambda connection: SqliteTextIndex().search(connection, reach_of(ann), "kumquat", {hit.source: 9})
    )
    assert len(found[hit.source]) == 1


async def test_a_search_knows_speaker_and_date(log: Log, ann: Scope) -> None:
    await log.append(
        ann,
        said("We met at the lake", at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC), author="Zacharias"),
        said("We met at the pub", at=datetime(2023, 6, 9, tzinfo=UTC)),
    )
    assert (await log.found(reach_of(ann), "what did Zacharias say", limit=1)) == ["We met at the lake"]
    assert (await log.found(reach_of(ann), "8 May 2023", limit=1)) == ["We met at the lake"]


async def test_a_recall_search_sees_only_what_left_the_window(log: Log, ann: Scope) -> None:
    old = await log.append(ann, "kumquat long ago")
    await log.append(ann, *(f"kumquat today {number}" for number in range(30)))
    await log.evict(ann, old)
    assert await log.found(reach_of(ann), "kumquat", evicted_only=True) == ["kumquat long ago"]
    assert len(await log.found(reach_of(ann), "kumquat", limit=31)) == 31


async def test_excluded_messages_make_room_for_others(log: Log, ann: Scope) -> None:
    stored = await log.append(ann, *(f"kumquat {number}" for number in range(9)))
    exclude = frozenset(message.id for message in stored[1:])
    hits = await log.store.search(reach_of(ann), "kumquat", limit=2, evicted_only=False, exclude=exclude)
    assert [hit.record_id for hit in hits] == [stored[0].id]


async def test_what_was_looked_up_for_all_sources_is_looked_up_anew_only_where_it_is_too_little(
    log: Log, ann: Scope
) -> None:
    first, second, _ = await log.append(ann, "kumquat one", "kumquat two", "kumquat three")
    reach, query = reach_of(ann), "kumquat"
    entries = await log.search.search(reach, source=Source.RECALL, query=query, limit=3)
    two = [entry for entry in entries if entry.record_id in (first.id, second.id)]
    known = Candidates(query=query, reach=reach, limits={Source.RECALL: 1}, found={Source.RECALL: two})
    embedded = replace(await log.search.embedded(query), candidates=known)

    async def found(limit: int) -> set[str]:
        hits = await log.store.search(reach, query, limit=limit, evicted_only=False, embedded=embedded)
        return {hit.text for hit in hits}

    assert await found(2) == {"kumquat one", "kumquat two"}
    assert await found(3) == {"kumquat one", "kumquat two", "kumquat three"}


async def test_equal_messages_come_newest_first(log: Log, ann: Scope) -> None:
    stored = await log.append(ann, "kumquat", "kumquat", "kumquat")
    hits = await log.store.search(reach_of(ann), "kumquat", limit=2, evicted_only=False)
    assert [hit.record_id for hit in hits] == [stored[2].id, stored[1].id]


async def test_the_floor_keeps_the_irrelevant_out(log: Log, ann: Scope) -> None:
    await log.append(ann, "I adore kumquat jam")
    await log.search.embed_pending()
    for query, found in (("hello there", 0), ("2+2?", 0), ("kumquat jam", 1)):
        hits = await log.store.search(reach_of(ann), query, limit=5, evicted_only=False, floor=True)
        assert len(hits) == found, query


async def test_what_was_said_often_is_shown_once_unasked_and_makes_room_for_others(log: Log, ann: Scope) -> None:
    await log.append(ann, "the cat is called Tom", "The cat sleeps.", "the cat sleeps", "the cat sleeps")
    await log.search.embed_pending()
    hits = await log.store.search(reach_of(ann), "my cat sleeps", limit=2, evicted_only=False, floor=True)
    assert [hit.text for hit in hits] == ["the cat sleeps", "the cat is called Tom"]
    assert len(await log.found(reach_of(ann), "my cat sleeps", limit=3)) == 3


async def test_a_long_message_is_found_by_its_end_and_shown_once_and_whole(log: Log, ann: Scope) -> None:
    text = "All quiet on the farm. " * 200 + "The kumquat tree fell."
    await log.append(ann, text)
    assert await log.found(reach_of(ann), "kumquat farm") == [text]


async def test_a_search_stays_within_reach(log: Log, ann: Scope) -> None:
    await log.append(ann, "kumquat in private")
    await log.append(GUILD, "kumquat in public")
    await log.append(BOB, "kumquat of bob")
    assert await log.found(reach_of(GUILD), "kumquat") == ["kumquat in public"]
    assert sorted(await log.found(reach_of(ann), "kumquat")) == ["kumquat in private", "kumquat in public"]


async def test_messages_between_two_moments_come_oldest_first_both_ends_included(log: Log, ann: Scope) -> None:
    days = [START + timedelta(days=day) for day in range(4)]
    await log.append(ann, *(said(f"day {day}", at=days[day]) for day in (3, 1, 0)))
    await log.append(GUILD, said("day 2", at=days[2]))
    await log.append(BOB, said("bob", at=days[2]))

    async def texts(scope: Scope, start: datetime, end: datetime, limit: int = 9) -> list[str]:
        return [message.text for message in await log.store.between(reach_of(scope), start, end, limit=limit)]

    assert await texts(ann, days[1], days[3]) == ["day 1", "day 2", "day 3"]
    assert await texts(ann, days[0], days[3], 2) == ["day 0", "day 1"]
    assert await texts(ann, days[1] + timedelta(milliseconds=1), days[2] - timedelta(milliseconds=1)) == []
    assert await texts(GUILD, days[0], days[3]) == ["day 2"]


async def test_get_returns_what_is_within_reach(log: Log, ann: Scope) -> None:
    [private] = await log.append(ann, "private")
    [public] = await log.append(GUILD, "public")
    ids = [public.id, private.id, 12345]
    assert await log.store.get(reach_of(ann), ids) == [private, public]
    assert await log.store.get(reach_of(GUILD), ids) == [public]
    assert await log.store.get(reach_of(BOB), ids) == []
    assert await log.store.get(reach_of(ann), []) == []


async def test_a_removed_message_is_gone_and_found_no_more(log: Log, ann: Scope) -> None:
    gone, kept = await log.append(ann, "kumquat jam", "kumquat tree")
    async with log.database.transaction() as tx:
        assert await log.store.remove(BOB, tx, message_ids=[gone.id]) == 0
        assert await log.store.remove(ann, tx, message_ids=[gone.id, 12345]) == 1
    assert await log.store.window(ann, "console:1") == (kept,)
    assert await log.found(reach_of(ann), "kumquat") == ["kumquat tree"]


async def test_a_refused_append_writes_nothing(log: Log, ann: Scope) -> None:
    async def append_and_fail() -> None:
        session = Session(id=5, scope=ann, conversation="c", community=None, started_at=START, last_activity_at=START)
        async with log.database.transaction() as tx:
            await log.store.append(ann, tx, session=session, messages=[said("kumquat")], at=START)
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        await append_and_fail()
    assert await log.store.count(ann) == 0
    assert await log.found(reach_of(ann), "kumquat") == []


async def test_export_and_erase_cover_one_scope_alone(log: Log, ann: Scope) -> None:
    [message] = await log.append(ann, of(Message(role=Role.USER, parts=(TextPart(text='a "quote"'), RESULT))))
    bobs = await log.append(BOB, "kumquat of bob")
    [row] = await log.store.export(ann)
    assert (row["id"], row["sent_at"]) == (message.id, START)
    assert row["parts"][0] == {"type": "text", "text": 'a "quote"'}
    assert (await log.store.count(ann), await log.store.count(BOB)) == (1, 1)
    async with log.database.transaction() as tx:
        assert await log.store.erase(ann, tx) == {"messages": 1}
    assert await log.store.export(ann) == []
    assert await log.store.window(BOB, "console:1") == tuple(bobs)
