"""People decide what is remembered of them: told at first, paused, off the record, anew, exported, erased."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot import replies
from bot.chat import Conversation
from memory.errors import ModelOverloaded
from memory.messages import ModelRequest, ModelResponse, StopReason, ToolCall
from memory.records import InboxState
from tests.desk import OPERATOR, Desk, admin, channel, summing_up
from tests.fakes import FakeClock, RecordingChannel, ScriptedModel
from tests.world import World, dm, running

CANARY = "xylograph"


async def rest(world: World) -> None:
    """Half an hour passes."""
    world.clock.advance(minutes=30)
    await world.system.sweep_idle()
    await world.system.settle()


def files_hold(folder: Path, text: str) -> bool:
    """Whether a text stands in the database's files, once everything is closed."""
    return any(text.encode() in path.read_bytes() for path in folder.iterdir() if path.is_file())


def saving(text: str) -> ToolCall:
    return ToolCall(id="1", name="core_memory_append", arguments={"block": "human", "text": text})


# first contact


async def test_the_first_answer_to_a_person_and_no_other_tells_what_is_remembered(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("Hello")
        world.clock.advance(seconds=1)
        await world.say("Hello again")
        await world.say("Hello", where=channel(1))
        await world.say("Hello", who="bob")
        notices = [message.notice for message in world.channel.sent]
        assert [notice is not None for notice in notices] == [True, False, False, True]
        for word in ("/mydata show", "/mydata erase", "/mydata pause"):
            assert word in str(notices[0])


@pytest.mark.parametrize(
    ("platform", "readers"),
    [("discord", "Admins of a server"), ("slack", "Admins of this workspace"), ("console", "Whoever runs me")],
)
async def test_the_notice_says_who_may_read(tmp_path: Path, platform: str, readers: str) -> None:
    async with running(tmp_path, channel=RecordingChannel(platform)) as world:
        await world.say("Hello", where=Conversation(platform=platform, key=f"{platform}:1:1", audience="dm"))
        assert readers in str(world.channel.sent[0].notice)


@pytest.mark.parametrize(("reads", "said"), [(True, ", of direct messages too."), (False, "not of direct messages.")])
def test_the_notice_in_slack_says_whether_admins_read_direct_messages(reads: bool, said: str) -> None:
    where = Conversation(platform="slack", key="slack:T1:D1", audience="dm")
    assert said in replies.notice(where, admin_reads_dms=reads)


async def test_an_answer_tried_again_after_a_restart_still_carries_the_notice(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path, clock=clock) as world:
        world.channel.failures.append(asyncio.CancelledError())  # type: ignore[arg-type]  # as when the process is stopped
        await world.handler.accept(world.incoming("Hello"))
        await world.handler.idle()
        assert world.channel.sent == []
    async with running(tmp_path, clock=clock) as world:
        await world.handler.idle()
        [message] = world.channel.sent
        assert message.notice is not None
        clock.advance(seconds=1)
        await world.say("Hello again")
        assert world.channel.sent[-1].notice is None


async def test_a_failed_first_answer_tells_it_too_and_once(tmp_path: Path) -> None:
    async with running(tmp_path, model=ScriptedModel(ModelOverloaded("busy"))) as world:
        await world.say("Hello")
        world.clock.advance(seconds=1)
        await world.say("Hello")
        assert [message.notice is not None for message in world.channel.sent] == [True, False]


# paused and off the record


async def pause(desk: Desk) -> None:
    assert (await desk.call("/mydata pause")).succeeded


async def incognito(desk: Desk) -> None:
    assert (await desk.call("/mydata incognito")).succeeded


@pytest.mark.parametrize("withhold", [pause, incognito])
async def test_what_is_said_then_is_gone_once_it_left_the_window(
    tmp_path: Path, withhold: Callable[[Desk], Awaitable[None]]
) -> None:
    model = ScriptedModel("Hi.", [saving(f"Owns a {CANARY}.")], f"You own a {CANARY}.", default="ok")
    async with running(tmp_path, model=model) as world:
        await world.say("I like tea")
        await withhold(Desk.of(world))
        reply = await world.say(f"I own a {CANARY}")
        assert CANARY in reply
        refused = str(model.requests[-1].messages)
        assert "asked that nothing of this conversation be remembered" in refused
        assert "asked that nothing of this conversation be remembered" in str(model.requests[-1].system)
        await world.say("And you?")
        assert CANARY in str(model.requests[-1].messages)  # in the window it is still known
        await rest(world)
        exported = json.dumps(await world.system.privacy.export("console:ann"))
        assert CANARY not in exported
        assert "I like tea" in exported
        await world.say("What do I own?")
        assert CANARY not in str(model.requests[-1])
        assert CANARY not in str(world.memory_model.requests)
        if withhold is pause:
            await world.say(f"My {CANARY} is old", where=channel(1))
        await rest(world)
    assert not files_hold(tmp_path, CANARY)
    assert files_hold(tmp_path, "I like tea")


async def test_what_was_known_before_is_still_used_while_paused(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summing_up(then="Ann likes tea.")) as world:
        await world.say("I like tea")
        await pause(Desk.of(world))
        await world.system.settle()
        await world.say("Hello")
        assert "Ann likes tea." in world.model.requests[-1].system[0].text


async def test_an_answer_under_way_while_memory_is_paused_is_of_before(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slowly(request: ModelRequest) -> str:
        await release.wait()
        return "Noted."

    async with running(tmp_path, model=ScriptedModel(slowly, default="ok")) as world:
        await world.handler.accept(world.incoming("I like tea"))
        await world.model.asked.wait()
        await pause(Desk.of(world))
        release.set()
        await world.handler.idle()
        await world.say("Hello")
        history = [message.text for message in world.model.requests[-1].messages]
        assert len(history) == 1
        assert await world.system.stores.recall.count(world.memory().place.scope) == 4


async def test_an_answer_under_way_off_the_record_leaves_nothing_when_it_comes_back_on(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slowly(request: ModelRequest) -> str:
        await release.wait()
        return f"A {CANARY}."

    async with running(tmp_path, model=ScriptedModel(slowly, default="ok")) as world:
        desk = Desk.of(world)
        await incognito(desk)
        await world.handler.accept(world.incoming(f"I own a {CANARY}"))
        await world.model.asked.wait()
        assert "remember this conversation again" in (await desk.call("/mydata incognito")).text
        release.set()
        await world.handler.idle()
        assert CANARY in world.channel.texts[-1]
        await world.say("Hello")
        assert CANARY not in str(world.model.requests[-1].messages)
    assert not files_hold(tmp_path, CANARY)


async def test_a_refused_message_off_the_record_is_gone_as_well(tmp_path: Path) -> None:
    refusal = ModelResponse(parts=(), stop_reason=StopReason.REFUSAL, model="scripted", usage=None)
    async with running(tmp_path, model=ScriptedModel(refusal)) as world:
        await incognito(Desk.of(world))
        await world.say(f"Steal a {CANARY}")
        assert CANARY not in json.dumps(await world.system.privacy.export("console:ann"))


async def test_silence_does_not_bring_a_conversation_back_on_the_record(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        await incognito(desk)
        await world.say("One")
        await rest(world)
        await rest(world)
        world.clock.advance(hours=20)
        await world.say(f"I own a {CANARY}")
        assert (await desk.call("/mydata new")).succeeded
        await desk.call("/memory end-session console:ann", by=OPERATOR)
        await world.say(f"My {CANARY} is old")
        assert "gone" in (await desk.call("/mydata incognito")).text
        await world.say("I like tea")
        await rest(world)
    assert not files_hold(tmp_path, CANARY)
    assert files_hold(tmp_path, "I like tea")


async def test_resuming_brings_back_what_the_pause_took_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        secret = channel(1, "secret")
        assert (await desk.call("/mydata incognito", where=secret)).succeeded
        await world.say(f"I own a {CANARY}", where=secret)
        world.clock.advance(minutes=1)
        await pause(desk)
        assert not (await desk.call("/mydata pause")).succeeded
        await world.say("Said while paused")
        await world.say("Said while paused", where=channel(1))
        assert not (await desk.call("/mydata incognito")).succeeded  # nothing is remembered anyway
        assert "Paused since" in (await desk.call("/mydata show")).text
        assert (await desk.call("/mydata resume")).succeeded
        assert not (await desk.call("/mydata resume")).succeeded
        for where in (dm("ann"), channel(1)):
            await world.say("Said since", where=where)
        await world.say(f"My {CANARY} is old", where=secret)
        await rest(world)
    assert files_hold(tmp_path, "Said since")
    assert not files_hold(tmp_path, "Said while paused")
    assert not files_hold(tmp_path, CANARY)


async def test_a_fresh_conversation_keeps_what_is_remembered(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summing_up(then="Ann likes tea.")) as world:
        await world.say("I like tea")
        await Desk.of(world).call("/mydata new")
        await world.system.settle()
        await world.say("Hello")
        request = world.model.requests[-1]
        assert len(request.messages) == 1
        assert "Ann likes tea." in request.system[0].text


# silenced channels


async def test_in_a_silenced_channel_nothing_is_answered_or_stored_until_it_may_speak_again(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk, root = Desk.of(world), admin("root", "guild:1")
        assert (await desk.call("/memory silence", by=root, where=channel(1))).succeeded
        key = channel(1).key
        thread = Conversation(platform="console", key=f"{key}:17", audience="guild:1", parent=key)
        accept = world.listener.guard(world.handler.accept)
        for where in (channel(1), thread):
            assert not await accept(world.incoming(f"I own a {CANARY}", where=where))
        await world.say("Hello", where=channel(1, "other"))
        await world.say("Hello")
        assert (await desk.call("/memory unsilence", by=root, where=thread)).succeeded
        assert not (await desk.call("/memory unsilence", by=root, where=channel(1))).succeeded
        assert await accept(world.incoming("Hello", where=channel(1)))
        assert not (await desk.call("/memory silence", by=OPERATOR, where=dm("op"))).succeeded
    assert not files_hold(tmp_path, CANARY)


# export and erasure


async def test_an_export_is_a_file_of_everything_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("I like tea")
        await world.say("Bob's secret", who="bob")
        reply = await Desk.of(world).call("/mydata export")
        assert reply.attachment is not None
        assert reply.attachment.name == "keepsake-console-ann.json"
        assert json.loads(reply.attachment.content) == await world.system.privacy.export("console:ann")


@pytest.mark.parametrize("word", ["", " erase", " yes", " confirm:Erase"])
async def test_nothing_is_erased_without_the_word(tmp_path: Path, word: str) -> None:
    async with running(tmp_path) as world:
        await world.say("I like tea")
        reply = await Desk.of(world).call(f"/mydata erase{word}")
        assert not reply.succeeded
        assert await world.system.stores.recall.count(world.memory().place.scope) == 2


async def test_a_command_without_what_it_needs_is_answered_with_how_it_is_written(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        reply = await Desk.of(world).call("/mydata erase")
        assert reply.text == "Write: `/mydata erase <confirm>`\n- confirm: The word ERASE, in capitals."


async def test_an_erasure_ends_with_a_receipt_and_a_person_who_is_new(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say(f"I own a {CANARY}")
        await world.say(f"I own a {CANARY}", where=channel(1))
        await world.say("Bob stays", who="bob")
        receipt = (await Desk.of(world).call("/mydata erase ERASE")).text
        assert "messages: 4" in receipt
        assert "Nothing is left." in receipt
        assert await world.system.privacy.scopes_of("console:ann") == []
        await world.say("Hello")
        assert world.channel.sent[-1].notice is not None
    assert files_hold(tmp_path, "Bob stays")
    assert not files_hold(tmp_path, CANARY)


async def test_an_answer_under_way_brings_nothing_of_an_erased_person_back(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slowly(request: ModelRequest) -> list[ToolCall]:
        await release.wait()
        return [
            saving(f"Owns a {CANARY}."),
            ToolCall(id="2", name="archival_insert", arguments={"text": f"Owns a {CANARY}."}),
            ToolCall(id="3", name="archival_search", arguments={"query": CANARY, "k": 3}),
        ]

    async with running(tmp_path, model=ScriptedModel(slowly, default=f"A {CANARY}.")) as world:
        await world.handler.accept(world.incoming(f"I own a {CANARY}"))
        await world.handler.accept(world.incoming(f"It is a {CANARY}"))  # waits behind the first
        await world.model.asked.wait()
        assert "Nothing is left." in (await Desk.of(world).call("/mydata erase ERASE")).text
        release.set()
        await world.handler.idle()
        await world.system.settle()
        assert await world.system.privacy.scopes_of("console:ann") == []
        assert len(world.channel.texts) == 2
        assert all("was erased while I was answering" in text for text in world.channel.texts)
    assert not files_hold(tmp_path, CANARY)


async def test_jobs_waiting_and_running_bring_nothing_of_an_erased_person_back(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slowly(request: ModelRequest) -> str:
        await release.wait()
        return f"Owns a {CANARY}."

    memory_model = ScriptedModel(default=slowly)  # learning and summing up
    async with running(tmp_path, memory_model=memory_model) as world:
        for where in (dm("ann"), channel(1)):
            await world.handler.accept(world.incoming(f"I own a {CANARY}", where=where))
        await world.handler.idle()
        world.clock.advance(minutes=30)
        await world.system.sweep_idle()
        await memory_model.asked.wait()
        await world.system.privacy.erase("console:ann")
        release.set()
        await world.system.settle()
        await rest(world)
        assert await world.system.privacy.scopes_of("console:ann") == []
    assert not files_hold(tmp_path, CANARY)


async def test_what_is_delivered_keeps_no_text_in_the_inbox(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("I like tea")
        [row] = await world.system.stores.inbox.export(world.memory().place.scope)
        assert (row["state"], row["payload"], row["reply"]) == (InboxState.DELIVERED, "", None)
