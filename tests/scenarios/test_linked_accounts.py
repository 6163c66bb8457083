"""Two accounts of one person: what it takes to link them, what is read then, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.chat import Conversation
from memory.messages import TextPart, ToolCall
from memory.records import Change, HowTo, Scope
from tests.desk import Desk, admin, channel
from tests.world import World, dm, running

TEAM = Conversation(platform="console", key="console:team-general", audience="team:T1")
CAT = "My cat is called Biscuit and sleeps on the piano"
BOAT = "My boat is called Wanda and lies in the harbour"
ASKED = "What are my cat Biscuit and my boat Wanda called?"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as world:
        yield world


async def offered(desk: Desk, by: str = "ann") -> str:
    reply = await desk.call("/mydata link", by=by)
    found = re.search(r"/mydata link (\S+)`", reply.text)
    assert found, reply.text
    return found[1]


async def linked(desk: Desk, first: str = "ann", second: str = "annie") -> None:
    code = await offered(desk, first)
    for text, by in ((f"/mydata link {code} confirmed:yes", second), ("/mydata link confirmed:yes", first)):
        reply = await desk.call(text, by=by)
        assert reply.succeeded, reply.text


async def prompt(world: World, *, who: str, where: Conversation | None = None) -> str:
    await world.say(ASKED, who=who, where=where)
    return str(world.model.requests[-1].messages)


async def known(world: World, *, who: str, where: Conversation | None = None) -> set[str]:
    """What of the two accounts the model is shown of memory in a conversation, by any of its ways."""
    await world.say("Hello", who=who, where=where)
    memory = await world.memory(who, where).with_links()
    found: list[object] = [
        await memory.paging.recall_search(ASKED, limit=20, evicted_only=False),
        await memory.paging.archival_search(ASKED, limit=20),
        await memory.paging.messages_between(
            (world.clock.now() - timedelta(days=9)).date(), world.clock.now().date(), limit=99
        ),
        await memory.experience.episodes(ASKED, limit=9),
        await world.system.stores.facts.search(memory.place.reach, ASKED, limit=20, floor=False),
    ]
    return {name for name in ("Biscuit", "Wanda") if any(name in str(one).replace(ASKED, "") for one in found)}


async def test_each_side_sees_who_the_other_is_before_anything_is_linked(world: World) -> None:
    desk = Desk.of(world)
    code = await offered(desk)
    second = await desk.call(f"/mydata link {code}", by="annie")
    assert "console:ann" in second.text
    assert second.confirm
    first = await desk.call("/mydata link")
    assert first.confirm is None  # nothing was confirmed on the other side yet
    code = await offered(desk)
    await desk.call(f"/mydata link {code.lower().replace('-', ' ')} confirmed:yes", by="annie")
    assert await world.system.stores.links.linked_to("console:ann") == frozenset()
    first = await desk.call("/mydata link")
    assert "console:annie" in first.text
    assert first.confirm
    assert await world.system.stores.links.linked_to("console:ann") == frozenset()
    await desk.call("/mydata link confirmed:yes")
    assert await world.system.stores.links.linked_to("console:ann") == {"console:annie"}
    assert await world.system.stores.links.linked_to("console:annie") == {"console:ann"}


async def test_a_direct_chat_of_either_account_knows_what_was_said_on_both(world: World) -> None:
    await world.say(CAT, who="ann")
    await world.say(BOAT, who="annie")
    assert await known(world, who="ann") == {"Biscuit"}
    await linked(Desk.of(world))
    assert await known(world, who="ann") == {"Biscuit", "Wanda"}
    assert await known(world, who="annie") == {"Biscuit", "Wanda"}
    assert "Wanda and lies" in await prompt(world, who="ann")
    assert await known(world, who="bob") == set()


async def test_what_was_said_in_a_community_stays_there(world: World) -> None:
    await world.say(CAT, who="ann", where=channel(1))
    await world.say(BOAT, who="annie", where=TEAM)
    await world.say("I also like figs", who="annie")
    await linked(Desk.of(world))
    assert await known(world, who="ann", where=channel(1)) == {"Biscuit"}
    assert await known(world, who="ann", where=channel(2)) == set()
    assert await known(world, who="annie", where=TEAM) == {"Wanda"}
    assert await known(world, who="ann") == {"Biscuit", "Wanda"}
    assert "Biscuit and sleeps" not in await prompt(world, who="annie", where=TEAM)


async def test_ending_a_link_leaves_each_account_as_it_was(world: World) -> None:
    desk = Desk.of(world)
    await world.say(CAT, who="ann")
    await world.say(BOAT, who="annie")
    await _save(world, "A long story about the boat Wanda in the harbour", who="annie")
    before = await world.system.privacy.export("console:annie")
    await linked(desk)
    assert "Wanda and lies" in await prompt(world, who="ann")
    assert "Wanda and lies" in (await desk.call("/mydata why")).text
    reply = await desk.call("/mydata unlink", by="ann")
    assert "console:annie" in reply.text
    after = await world.system.privacy.export("console:annie")
    dm_before, dm_after = (kept["scopes"]["dm"] for kept in (before, after))
    assert {**dm_after, "reply_sources": None} == {**dm_before, "reply_sources": None}
    assert "console:annie" not in json.dumps(await world.system.privacy.export("console:ann"))
    assert await known(world, who="annie") == {"Wanda"}
    assert (await desk.call("/mydata unlink", by="annie")).succeeded is False


async def test_erasing_one_account_ends_the_link_and_leaves_the_other(world: World) -> None:
    desk = Desk.of(world)
    await world.say(CAT, who="ann")
    await world.say(BOAT, who="annie")
    await linked(desk)
    await prompt(world, who="ann")
    receipt = await desk.call("/mydata erase ERASE", by="annie")
    assert "Nothing is left." in receipt.text
    assert "console:annie" not in json.dumps(await world.system.privacy.export("console:ann"))
    assert await world.system.stores.links.linked_to("console:ann") == frozenset()
    assert await known(world, who="ann") == {"Biscuit"}


async def test_an_erasure_takes_back_what_was_confirmed_on_the_account(world: World) -> None:
    desk = Desk.of(world)
    code = await offered(desk)
    await desk.call(f"/mydata link {code} confirmed:yes", by="annie")
    await desk.call("/mydata erase ERASE", by="annie")
    assert (await desk.call("/mydata link confirmed:yes")).text.startswith("To link another account")
    assert await world.system.stores.links.linked_to("console:ann") == frozenset()


async def test_a_code_is_over_after_minutes_and_used_once(world: World) -> None:
    desk = Desk.of(world)
    code = await offered(desk)
    world.clock.advance(minutes=10)
    assert "not valid" in (await desk.call(f"/mydata link {code} confirmed:yes", by="annie")).text
    code = await offered(desk)
    await desk.call(f"/mydata link {code} confirmed:yes", by="annie")
    assert "not valid" in (await desk.call(f"/mydata link {code} confirmed:yes", by="mallory")).text
    world.clock.advance(minutes=10)
    await desk.call("/mydata link confirmed:yes")
    assert await world.system.stores.links.linked_to("console:ann") == frozenset()
    assert "made on" in (await desk.call(f"/mydata link {await offered(desk)}", by="ann")).text


async def test_after_five_wrong_codes_an_account_has_to_wait(world: World) -> None:
    desk = Desk.of(world)
    code = await offered(desk)
    for _ in range(5):
        assert "not valid" in (await desk.call("/mydata link 0000-0000", by="annie")).text
    assert "too many" in (await desk.call(f"/mydata link {code}", by="annie")).text
    assert (await desk.call(f"/mydata link {code}", by="bob")).confirm  # others are not held up
    world.clock.advance(minutes=61)
    code = await offered(desk)
    assert (await desk.call(f"/mydata link {code}", by="annie")).confirm


async def test_an_admin_sees_nothing_of_the_other_account_by_a_link(world: World) -> None:
    desk = Desk.of(world)
    await world.say(CAT, who="ann", where=channel(1))
    await world.say(BOAT, who="annie", where=TEAM)
    await linked(desk)
    boss = admin("boss", "guild:1")
    for command in ("view console:ann", "facts console:ann", "audit console:ann", "stats console:ann"):
        reply = await desk.call(f"/memory {command}", by=boss, where=channel(1))
        assert "Wanda" not in reply.text
        assert "annie" not in reply.text
    assert "Nothing is remembered" in (await desk.call("/memory view console:annie", by=boss, where=channel(1))).text


async def test_a_reminder_of_the_other_account_is_left_alone(world: World) -> None:
    remind = ToolCall(id="r", name="set_reminder", arguments={"text": "Feed the boat", "when": "tomorrow at 9"})
    world.model.answers = [(TextPart(text="Yes."), remind), "Set."]
    await world.say("Remind me to feed the boat", who="annie")
    await linked(Desk.of(world))
    assert len(await world.memory("annie").reminding.waiting()) == 1
    assert await (await world.memory("ann").with_links()).reminding.waiting() == []


async def test_how_one_account_wants_things_done_holds_for_the_other(world: World) -> None:
    how_to = HowTo(name="Tea", description="How tea is made", steps=("Warm the pot", "Wait"), triggers=("tea",))
    procedures, scope = world.system.stores.procedures, Scope(person="console:annie", audience="dm")
    change, at = Change(actor="person", reason="wish"), world.clock.now()
    async with world.system.transaction() as tx:
        proposed = await procedures.propose(scope, tx, how_to=how_to, change=change, at=at)
        assert proposed
        await procedures.approve(scope, tx, procedure_id=proposed.id, change=change, at=at)
    await world.say("How do I make tea?", who="ann")
    assert "Warm the pot" not in str(world.model.requests[-1])
    await linked(Desk.of(world))
    await world.say("How do I make tea?", who="ann")
    assert "Warm the pot" in str(world.model.requests[-1])


async def _save(world: World, text: str, *, who: str) -> None:
    async with world.system.transaction() as tx:
        scope = Scope(person=f"console:{who}", audience=dm(who).audience)
        await world.system.stores.archival.insert(scope, tx, content=text)
    await world.system.settle()
