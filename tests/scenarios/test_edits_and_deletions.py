"""What people edit or delete on their platform is edited or gone here too, with all that was made of it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.chat import IncomingMessage
from memory.messages import ModelRequest, ToolCall
from memory.parameters import MemoryParameters
from memory.records import Change, FactState, Mode, scope_slug
from tests.desk import Desk
from tests.fakes import ScriptedModel
from tests.world import World, running

OSLO, ROME = "I live in Oslo", "I live in Rome"
HERE = "console:ann:dm"
CITIES = ("Oslo", "Rome", "Bergen")
HOME = {"subject": "user", "predicate": "lives_in"}


def follows(request: ModelRequest) -> str:
    """Learns of every home it is told, replaces the one it knew, and repeats all it is shown in digests."""
    text = request.messages[0].text
    match request.system[0].name:
        case "extract_facts":
            said = text.split("<user_message>")[1].split("</user_message>")[0]
            found = [
                {"kind": kind, "text": f"User {what} {city}", **home}
                for city in CITIES
                if city in said
                for kind, what, home in (("fact", "lives in", {**HOME, "object": city}), ("event", "spoke of", {}))
            ]
            return json.dumps({"candidates": found})
        case "reconcile_facts":
            if "1. " not in text:
                return json.dumps({"ops": []})
            ops = [{"candidate": 1, "op": "ADD"}]
            return json.dumps({"ops": [{"candidate": 1, "op": "DELETE", "id": 1}, *ops]})
    return " ".join(sorted({city for city in CITIES if city in text})) or "Nothing."


def words_in(folder: Path) -> str:
    """Every text of every row of the database."""
    with closing(sqlite3.connect(folder / "keepsake.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(str(row) for table in tables for row in connection.execute(f"SELECT * FROM {table}"))


async def said(world: World, text: str) -> IncomingMessage:
    """Ann says something, and everything that follows from it is done."""
    incoming = world.incoming(text)
    await world.handler.accept(incoming)
    await world.handler.idle()
    await world.system.settle()
    return incoming


async def edited(world: World, what: IncomingMessage, text: str, *, at: datetime | None = None) -> None:
    world.clock.advance(seconds=1)
    await world.system.retraction.edited(HERE, what.id, text=text, at=at or world.clock.now())
    await world.system.settle()


async def deleted(world: World, *what: IncomingMessage) -> None:
    await world.system.retraction.deleted(HERE, [one.id for one in what])
    await world.system.settle()


async def known(world: World) -> list[str]:
    return [fact.text for fact in await world.system.stores.facts.current(world.memory().place.scope)]


async def test_a_deleted_message_goes_with_its_answer_and_all_that_was_learned(tmp_path: Path) -> None:
    model = ScriptedModel(default="Oslo is fine.")
    async with running(tmp_path, model=model, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        assert await known(world) == ["User lives in Oslo"]
        await deleted(world, message)
        assert "Oslo" not in words_in(tmp_path)
        await deleted(world, message)
        assert await world.system.stores.recall.count(world.memory().place.scope) == 0


async def test_an_edited_message_teaches_its_new_words_and_the_old_ones_are_nowhere(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        await edited(world, message, ROME)
        assert await known(world) == ["User lives in Rome"]
        assert "Oslo" not in words_in(tmp_path)
        [hit] = await world.system.search("console:ann", "Where is Rome?", limit=1)
        assert "Rome" in hit.text


def files_of(world: World, notes: Path) -> dict[str, str]:
    folder = notes / scope_slug(world.memory().place.scope)
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


async def test_deleted_and_edited_words_leave_the_files_for_people_at_once(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with running(tmp_path, memory_model=ScriptedModel(default=follows), notes_folder=notes) as world:
        message = await said(world, OSLO)
        world.clock.advance(days=40)  # further back than the notes that are written anew by night
        other = await said(world, "I was in Bergen")
        await world.system.consolidator.run(world.memory().place.scope, Mode.MONTHLY)
        assert {name for name, text in files_of(world, notes).items() if "Oslo" in text} == {"2026-03-02.md"}
        await deleted(world, message)
        assert "Oslo" not in str(files_of(world, notes))
        assert {name for name, text in files_of(world, notes).items() if "Bergen" in text} == {"2026-04-11.md"}
        await edited(world, other, ROME)
        assert "Bergen" not in str(files_of(world, notes))


async def test_a_message_deleted_before_it_is_learned_from_leaves_nothing(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        await release.wait()
        return follows(request)

    memory_model = ScriptedModel(default=slow)
    async with running(tmp_path, memory_model=memory_model) as world:
        message = world.incoming(OSLO)
        await world.handler.accept(message)
        await memory_model.asked.wait()
        await world.system.retraction.deleted(HERE, [message.id])
        release.set()
        await world.system.settle()
        assert "Oslo" not in words_in(tmp_path)
        assert await world.system.stores.jobs.unfinished(world.memory().place.scope) == []


async def test_a_message_edited_while_it_is_learned_from_teaches_only_its_new_words(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        await release.wait()
        return follows(request)

    memory_model = ScriptedModel(default=slow)
    async with running(tmp_path, memory_model=memory_model) as world:
        message = world.incoming(OSLO)
        await world.handler.accept(message)
        await memory_model.asked.wait()
        world.clock.advance(seconds=1)
        await world.system.retraction.edited(HERE, message.id, text=ROME, at=world.clock.now())
        release.set()
        await world.system.settle()
        assert await known(world) == ["User lives in Rome"]
        assert "Oslo" not in words_in(tmp_path)


async def test_what_a_deleted_message_retired_is_true_again(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        await said(world, OSLO)
        moved = await said(world, ROME)
        assert await known(world) == ["User lives in Rome"]
        await deleted(world, moved)
        assert await known(world) == ["User lives in Oslo"]
        assert "Rome" not in words_in(tmp_path)


async def test_what_was_retired_again_since_stays_retired(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        await said(world, OSLO)
        moved = await said(world, ROME)
        await said(world, "I live in Bergen")
        await deleted(world, moved)
        assert await known(world) == ["User lives in Bergen"]
        assert "Rome" not in words_in(tmp_path)


async def test_an_old_home_leaves_no_trace_in_the_fact_that_took_its_place(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        first = await said(world, OSLO)
        await said(world, ROME)
        await deleted(world, first)
        assert await known(world) == ["User lives in Rome"]
        assert "Oslo" not in words_in(tmp_path)


async def test_what_another_message_said_too_is_learned_again_from_that_one(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        first = await said(world, "I live in Oslo, you know")
        again = await said(world, OSLO)
        await deleted(world, first)
        [fact] = await world.system.stores.facts.current(world.memory().place.scope)
        [source] = await world.system.stores.recall.get(world.memory().place.reach, [fact.source_message or 0])
        assert (fact.text, source.text) == ("User lives in Oslo", again.text)


async def test_what_the_person_forgot_is_not_learned_from_new_words(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        world.clock.advance(seconds=1)
        await Desk.of(world).call("/mydata forget Oslo confirmed:yes")
        for text in ("I do live in Oslo", "Oslo is where I live"):
            await edited(world, message, text)
            assert await known(world) == []
        await edited(world, message, "Never mind")
        assert "Oslo" not in words_in(tmp_path)


async def test_what_the_person_corrected_stays_in_their_own_words(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        [fact] = await world.system.stores.facts.current(world.memory().place.scope)
        async with world.system.transaction() as tx:
            await world.system.stores.facts.correct(
                fact.scope,
                tx,
                fact_id=fact.id,
                text="User lives near the fjord",
                change=Change(actor="person", reason="correct"),
                at=world.clock.now(),
            )
        await deleted(world, message)
        assert await known(world) == ["User lives near the fjord"]
        assert "Oslo" not in words_in(tmp_path)


async def test_a_wish_to_forget_stays_fulfilled_when_its_message_is_deleted(tmp_path: Path) -> None:
    wanted = {"kind": "fact", "text": "forget the cat", "predicate": "wants_forgotten", "object": "the cat"}
    model = ScriptedModel(
        json.dumps({"candidates": [{"kind": "fact", "text": "User has a cat"}]}),
        json.dumps({"candidates": [wanted]}),
        json.dumps({"ops": [{"candidate": 1, "op": "DELETE", "id": 1}]}),
    )
    async with running(tmp_path, memory_model=model) as world:
        await said(world, "I have a cat")
        message = await said(world, "Please forget about my cat")
        await deleted(world, message)
        assert await known(world) == []


async def test_what_the_agent_saved_of_a_message_goes_with_it(tmp_path: Path) -> None:
    calls = [
        ToolCall(id="a", name="core_memory_append", arguments={"text": "Lives in Oslo"}),
        ToolCall(id="b", name="archival_insert", arguments={"text": "Oslo is the capital"}),
    ]
    later = ToolCall(id="c", name="core_memory_append", arguments={"text": "Likes tea"})
    model = ScriptedModel("Hi.", calls, "Noted.", later, "Ok.")
    async with running(tmp_path, model=model) as world:
        await said(world, "Hello")
        message = await said(world, OSLO)
        await said(world, "I like tea")
        await edited(world, message, ROME)
        assert "Oslo" not in words_in(tmp_path)
        blocks = await world.system.stores.blocks.load(world.memory().place.scope)
        assert [block.value for block in blocks if block.value] == ["Likes tea"]


async def test_the_same_words_change_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        asked = len(world.memory_model.requests)
        await edited(world, message, OSLO)
        assert len(world.memory_model.requests) == asked
        assert await known(world) == ["User lives in Oslo"]


async def test_of_two_edits_that_come_in_the_wrong_order_the_later_one_holds(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        first = world.clock.now() + timedelta(seconds=1)
        await edited(world, message, ROME, at=first + timedelta(seconds=1))
        await edited(world, message, "I live in Bergen", at=first)
        assert await known(world) == ["User lives in Rome"]


async def test_a_message_that_was_never_ours_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        await said(world, OSLO)
        before = words_in(tmp_path)
        assert not await world.system.retraction.edited(HERE, "elsewhere", text=ROME, at=world.clock.now())
        assert await world.system.retraction.deleted("console:bob:dm", ["elsewhere"]) == frozenset()
        assert words_in(tmp_path) == before


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_message_that_still_waits_is_answered_in_its_new_words_or_not_at_all(
    tmp_path: Path, change: str
) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows), start=False) as world:
        message = world.incoming(OSLO)
        await world.handler.accept(message)
        if change == "edit":
            await edited(world, message, ROME)
        else:
            await deleted(world, message)
        world.handler.open()
        await world.handler.idle()
        await world.system.settle()
        assert "Oslo" not in words_in(tmp_path)
        assert await known(world) == (["User lives in Rome"] if change == "edit" else [])
        assert len(world.channel.sent) == (change == "edit")
        assert "Oslo" not in str(world.model.requests)


async def test_a_message_deleted_while_it_is_answered_gets_no_answer_and_teaches_nothing(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slow(request: ModelRequest) -> list[ToolCall]:
        await release.wait()
        return [ToolCall(id="a", name="core_memory_append", arguments={"text": "Lives in Oslo"})]

    model = ScriptedModel(slow, "Oslo, nice.")
    async with running(tmp_path, model=model, memory_model=ScriptedModel(default=follows)) as world:
        message = world.incoming(OSLO)
        await world.handler.accept(message)
        await model.asked.wait()
        await world.system.retraction.deleted(HERE, [message.id])
        release.set()
        await world.handler.idle()
        await world.system.settle()
        assert world.channel.sent == []
        assert "Oslo" not in words_in(tmp_path)


async def test_the_summary_of_earlier_sessions_is_written_anew_without_it(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        summaries, scope = world.system.stores.summaries, world.memory().place.scope
        messages = {}
        for text in ("I live in Bergen", OSLO, ROME):
            messages[text] = await said(world, text)
            world.clock.advance(minutes=31)
            await world.system.sweep_idle()
            await world.system.settle()
        latest = await summaries.latest(scope)
        assert latest is not None
        assert latest.text == "Bergen Oslo Rome"
        await deleted(world, messages[OSLO])
        latest = await summaries.latest(scope)
        assert latest is not None
        assert latest.text == "Bergen Rome"
        assert "Oslo" not in words_in(tmp_path)


async def test_the_digest_of_what_left_the_window_is_written_anew_without_it(tmp_path: Path) -> None:
    parameters = MemoryParameters(max_conversation_history=4, history_target=2)
    async with running(tmp_path, parameters=parameters, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        for text in ("I live in Bergen", "Hello", "Hello again"):
            await said(world, text)
        session = await world.system.stores.sessions.open(world.memory().place.scope, HERE)
        assert session is not None
        assert session.window_summary == "Bergen Oslo"
        await deleted(world, message)
        session = await world.system.stores.sessions.open(world.memory().place.scope, HERE)
        assert session is not None
        assert session.window_summary == "Bergen"
        assert "Oslo" not in words_in(tmp_path)


async def test_an_earlier_version_of_a_fact_is_no_back_door(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        message = await said(world, OSLO)
        await edited(world, message, ROME)
        history = await world.system.stores.facts.history(world.memory().place.reach)
        assert all(revision.before in (None, "User lives in Rome") for revision in history)
        [fact] = await world.system.stores.facts.current(world.memory().place.scope)
        assert fact.state is FactState.CURRENT


def post_of_last_answer(world: World) -> str:
    return world.channel.post_of(world.channel.sent[-1])


async def test_a_deleted_answer_goes_and_what_it_answered_stays(tmp_path: Path) -> None:
    model = ScriptedModel("Porto is fine.", default="I see.")
    async with running(tmp_path, model=model, memory_model=ScriptedModel(default=follows)) as world:
        await said(world, OSLO)
        await world.system.retraction.deleted(HERE, [post_of_last_answer(world)])
        await world.system.settle()
        assert "Porto" not in words_in(tmp_path)
        assert await known(world) == ["User lives in Oslo"]
        assert await world.say("Where do I live?") == "I see."
        assert "Porto" not in str(world.model.requests[-1])
        assert OSLO in str(world.model.requests[-1])


async def test_a_deleted_answer_leaves_the_summary_that_repeated_it(tmp_path: Path) -> None:
    model = ScriptedModel("Rome is fine.", default="I see.")
    async with running(tmp_path, model=model, memory_model=ScriptedModel(default=follows)) as world:
        await said(world, OSLO)
        answer = post_of_last_answer(world)
        world.clock.advance(hours=2)
        await world.system.sweep_idle()
        await world.system.settle()
        assert "Rome" in words_in(tmp_path)
        await world.system.retraction.deleted(HERE, [answer])
        await world.system.settle()
        assert "Rome" not in words_in(tmp_path)
        assert "Oslo" in words_in(tmp_path)


async def test_a_deleted_post_of_somebody_elses_channel_takes_no_answer_along(tmp_path: Path) -> None:
    model = ScriptedModel(default="Porto is fine.")
    async with running(tmp_path, model=model, memory_model=ScriptedModel(default=follows)) as world:
        await said(world, OSLO)
        await world.system.retraction.deleted("console:bob:dm", [post_of_last_answer(world)])
        assert "Porto" in words_in(tmp_path)


async def test_nothing_is_noted_of_an_answer_off_the_record(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=follows)) as world:
        await Desk.of(world).call("/mydata incognito")
        await said(world, OSLO)
        assert await world.system.stores.answer_posts.export(world.memory().place.scope) == []
