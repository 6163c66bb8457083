"""The inbox: accepted once, owed until delivered."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from memory.database import Database, Transaction, open_database
from memory.ids import IdSource
from memory.records import InboxItem, InboxState, Scope
from memory.stores.inbox import InboxStore
from tests.fakes import START, FakeClock

BOB = Scope(person="console:bob", audience="dm")


@pytest.fixture
def inbox(database: Database, ids: IdSource) -> InboxStore:
    return InboxStore(database, ids)


async def accept(
    inbox: InboxStore,
    scope: Scope,
    platform_id: str = "m1",
    *,
    conversation: str = "console:1",
    at: timedelta = timedelta(),
) -> InboxItem | None:
    return await inbox.accept(
        scope,
        conversation=conversation,
        platform_id=platform_id,
        payload=f'{{"text": "{platform_id}"}}',
        at=START + at,
    )


async def accepted(
    inbox: InboxStore, scope: Scope, platform_id: str = "m1", *, at: timedelta = timedelta()
) -> InboxItem:
    item = await accept(inbox, scope, platform_id, at=at)
    assert item is not None
    return item


async def mark(inbox: InboxStore, database: Database, item: InboxItem, state: InboxState) -> InboxItem:
    async with database.transaction() as tx:
        return await inbox.mark(item.scope, tx, item=item, state=state)


async def claim(inbox: InboxStore, tx: Transaction, item: InboxItem, reply: str, *, process: str = "one") -> bool:
    """Keep a reply that is about to be sent; the claim runs out after five minutes."""
    now = START
    until = now + timedelta(minutes=5)
    return await inbox.claim(item.scope, tx, item=item, reply=reply, process=process, now=now, until=until)


async def test_an_accepted_message_is_owed(inbox: InboxStore, ann: Scope) -> None:
    item = await accepted(inbox, ann, at=timedelta(microseconds=1500))
    assert item.state is InboxState.ACCEPTED
    assert await inbox.pending() == [item]


async def test_a_message_is_accepted_once_under_any_audience(inbox: InboxStore, ann: Scope) -> None:
    item = await accepted(inbox, ann)
    assert await accept(inbox, ann) is None
    assert await accept(inbox, Scope(person=ann.person, audience="guild:1")) is None
    assert await inbox.pending() == [item]


async def test_another_person_or_conversation_is_another_message(inbox: InboxStore, ann: Scope) -> None:
    assert await accept(inbox, ann) is not None
    assert await accept(inbox, BOB) is not None
    assert await accept(inbox, ann, conversation="console:2") is not None
    assert await accept(inbox, ann, "m2") is not None


async def test_a_message_handed_over_at_once_to_two_processes_is_accepted_once(
    inbox: InboxStore, ann: Scope, tmp_path: Path
) -> None:
    other_database = await open_database(f"sqlite:///{tmp_path}/keepsake.db")
    other = InboxStore(other_database, IdSource(FakeClock()))
    items = await asyncio.gather(*(accept(store, ann) for store in (inbox, other) * 4))
    await other_database.close()
    assert len([item for item in items if item is not None]) == 1


async def test_an_item_goes_from_accepted_to_delivered(database: Database, inbox: InboxStore, ann: Scope) -> None:
    item = await accepted(inbox, ann)
    async with database.transaction() as tx:
        item = await inbox.begin(ann, tx, item=item, message_id=7)
    assert await inbox.pending() == [item]
    assert (item.state, item.message_id) == (InboxState.ACCEPTED, 7)
    async with database.transaction() as tx:
        assert await claim(inbox, tx, item, "Hello!")
    [item] = await inbox.pending()
    assert (item.state, item.message_id, item.reply) == (InboxState.SENDING, 7, "Hello!")
    await mark(inbox, database, item, InboxState.DELIVERED)
    assert await inbox.pending() == []
    assert await accept(inbox, ann) is None


async def test_a_mark_made_with_an_older_copy_of_the_item_keeps_the_reply(
    database: Database, inbox: InboxStore, ann: Scope
) -> None:
    item = await accepted(inbox, ann)
    async with database.transaction() as tx:
        await inbox.begin(ann, tx, item=item, message_id=7)
        await claim(inbox, tx, item, "Hello!")
        await inbox.mark(ann, tx, item=item, state=InboxState.SENDING)
    [row] = await inbox.pending()
    assert (row.state, row.message_id, row.reply) == (InboxState.SENDING, 7, "Hello!")


async def test_pending_items_of_everybody_come_oldest_first_without_dropped_ones(
    database: Database, inbox: InboxStore, ann: Scope
) -> None:
    first = await accepted(inbox, BOB, "m1")
    dropped = await accepted(inbox, ann, "m2")
    third = await accepted(inbox, ann, "m3")
    await mark(inbox, database, dropped, InboxState.DROPPED)
    assert await inbox.pending() == [first, third]


async def test_a_rolled_back_turn_leaves_the_item_owed(database: Database, inbox: InboxStore, ann: Scope) -> None:
    item = await accepted(inbox, ann)

    async def answer_and_fail() -> None:
        async with database.transaction() as tx:
            await claim(inbox, tx, item, "lost")
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        await answer_and_fail()
    assert await inbox.pending() == [item]


async def test_a_reply_is_claimed_by_one_process_at_a_time_and_no_other_reply_takes_its_place(
    database: Database, inbox: InboxStore, ann: Scope
) -> None:
    item = await accepted(inbox, ann)
    async with database.transaction() as tx:
        assert await claim(inbox, tx, item, "Hello!")
        assert await claim(inbox, tx, item, "Hello!")  # again, after a delivery that failed
        assert not await claim(inbox, tx, item, "Good evening!")
        assert not await claim(inbox, tx, item, "Hello!", process="two")
        late = START + timedelta(minutes=5)
        assert await inbox.claim(ann, tx, item=item, reply="Hello!", process="two", now=late, until=late)
        await inbox.mark(ann, tx, item=item, state=InboxState.DELIVERED)
        assert not await claim(inbox, tx, item, "Hello!", process="two")


async def test_an_item_that_is_done_keeps_its_key_and_no_text(
    database: Database, inbox: InboxStore, ann: Scope
) -> None:
    done = await accepted(inbox, ann, "done")
    async with database.transaction() as tx:
        await claim(inbox, tx, done, "Hello!")
    await mark(inbox, database, done, InboxState.DELIVERED)
    owed = await accepted(inbox, ann, "owed")
    dropped = await accepted(inbox, ann, "dropped")
    await mark(inbox, database, dropped, InboxState.DROPPED)
    texts = {row["platform_id"]: (row["payload"], row["reply"]) for row in await inbox.export(ann)}
    assert texts == {"done": ("", None), "owed": (owed.payload, None), "dropped": ("", None)}
    assert await accept(inbox, ann, "done") is None


async def test_an_item_is_there_until_its_person_is_erased(database: Database, inbox: InboxStore, ann: Scope) -> None:
    item = await accepted(inbox, ann)
    async with database.transaction() as tx:
        assert await inbox.owed(ann, tx, item=item) == item
        await inbox.erase(ann, tx)
        assert await inbox.owed(ann, tx, item=item) is None


async def test_export_and_erase_cover_one_scope_alone(database: Database, inbox: InboxStore, ann: Scope) -> None:
    await accepted(inbox, ann)
    bobs = await accepted(inbox, BOB)
    assert [row["payload"] for row in await inbox.export(ann)] == ['{"text": "m1"}']
    async with database.transaction() as tx:
        assert await inbox.erase(ann, tx) == {"inbox": 1}
    assert await inbox.export(ann) == []
    assert await inbox.pending() == [bobs]
