"""However a turn or job is interrupted, what is kept and delivered in the end is as if nothing had happened."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from bot.chat import OutgoingMessage
from memory.messages import ModelRequest, ToolCall, ToolResult
from memory.parameters import MemoryParameters
from tests.fakes import Answer, RecordingChannel, ScriptedModel
from tests.world import World, running

SAID = ("I live in Oslo. Note that my boat is called Storm.", "I moved to Rome and work as a baker.")
# Tried is every third death, and every eleventh statement of a turn; with 1 all of them, in some minutes.
DEATHS = 3
STRIDE = 11


@dataclass(slots=True)
class Deaths:
    """What was on disk, and what had reached the platform, before each commit of a run."""

    folder: Path
    sent: list[list[OutgoingMessage]] = field(default_factory=list)

    def place(self, number: int) -> Path:
        return self.folder / f"death-{number}"

    @contextmanager
    def watched(self, world: World) -> Iterator[None]:
        def snapshot(_connection: Connection) -> None:
            place = self.place(len(self.sent))
            place.mkdir()
            for file in self.folder.glob("keepsake.db*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, place)
            self.sent.append(list(world.channel.sent))

        event.listen(Engine, "commit", snapshot)
        try:
            yield
        finally:
            event.remove(Engine, "commit", snapshot)


def answer(request: ModelRequest) -> Answer:
    """Saves what it is told twice over, by tools, then says so: the same for the same conversation."""
    newest = request.messages[-1]
    if any(isinstance(part, ToolResult) for part in newest.parts):
        return "Saved."
    if "boat" in newest.text and request.tools:
        return [
            ToolCall(id="1", name="core_memory_append", arguments={"text": "Owns the boat Storm."}),
            ToolCall(id="2", name="archival_insert", arguments={"text": "The boat Storm is hers."}),
        ]
    if "baker" in newest.text and request.tools:
        change = {"old": "boat Storm.", "new": "boat Storm. Bakes bread."}
        return [ToolCall(id="3", name="core_memory_replace", arguments=change)]
    return "I see."


def remember(request: ModelRequest) -> Answer:
    work, asked = request.system[0].name, request.messages[-1].text
    if work == "extract_facts":
        said = asked.partition("<user_message>")[2]
        known = {
            "Oslo": ("User lives in Oslo", "lives_in", "Oslo"),
            "Storm": ("User's boat is called Storm", "boat", "Storm"),
            "baker": ("User works as a baker", "works_as", "baker"),
            "Rome": ("User lives in Rome", "lives_in", "Rome"),
        }
        found = [known[word] for word in known if word in said]
        items = [
            {"text": text, "kind": "fact", "subject": "user", "predicate": predicate, "object": thing}
            for text, predicate, thing in found
        ]
        event_item = [{"text": "User moved to Rome", "kind": "event"}] if "Rome" in said else []
        return json.dumps({"candidates": items + event_item})
    if work == "reconcile_facts":
        return json.dumps({"ops": [{"candidate": 1, "reason": "new", "op": "ADD", "id": None, "text": None}]})
    return "A digest."


async def live(world: World, said: tuple[str, ...]) -> None:
    for number, text in enumerate(said):
        message = world.incoming(text, message_id=f"m{number}")
        await world.handler.accept(message)
        await world.handler.idle()
        await world.system.settle()


async def end(world: World) -> None:
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()


async def state(world: World) -> dict[str, Any]:
    """What is kept, apart from ids and times."""
    exported = await world.system.privacy.export("console:ann")
    kept = exported["scopes"]["dm"]
    return {
        "said": Counter(json.dumps(row["parts"]) for row in kept["recall"]),
        "facts": Counter((row["text"], row["state"]) for row in kept["facts"]),
        "revisions": Counter(row["action"] for row in kept["fact_revisions"]),
        # As with the jobs that fold: what leaves the window at the end of a session needs no line of its own.
        "journal": Counter(row["text"] for row in kept["journal"] if row["category"] != "conversation"),
        "archival": Counter(row["content"] for row in kept["archival"]),
        "blocks": Counter((row["label"], row["version"], row["value"]) for row in kept["blocks"]),
        "sessions": Counter(row["ended_at"] is None for row in kept["sessions"]),
        "summaries": Counter(row["text"] for row in kept["summaries"]),
        "jobs": Counter((row["kind"], row["state"]) for row in kept["jobs"] if row["kind"] != "fold"),
        "inbox": Counter(row["state"] for row in kept["inbox"]),
        "delivered": Counter(world.channel.texts),
    }


def started(
    folder: Path, sent: Sequence[OutgoingMessage] = (), *, start: bool = True
) -> AbstractAsyncContextManager[World]:
    channel = RecordingChannel()
    channel.sent = list(sent)
    return running(
        folder,
        model=ScriptedModel(default=answer),
        memory_model=ScriptedModel(default=remember),
        parameters=MemoryParameters(max_conversation_history=2, history_target=1),
        channel=channel,
        start=start,
    )


async def settled(world: World, number: int, act: Callable[[], Coroutine[Any, Any, object]]) -> bool:
    """Let everything that is under way end, and act the moment that one of its statements is about to be executed.

    Returns:
        Whether there were that many statements.
    """
    numbers, loop = count(1), asyncio.get_running_loop()
    acting: list[asyncio.Task[object]] = []

    def begin() -> None:
        acting.append(loop.create_task(act()))

    def watch(*_: object) -> None:
        if next(numbers) == number:
            loop.call_soon_threadsafe(begin)  # a search executes its statements in a thread

    event.listen(Engine, "before_cursor_execute", watch)
    try:
        await world.handler.idle()
        await world.system.settle()
    finally:
        event.remove(Engine, "before_cursor_execute", watch)
    await asyncio.gather(*acting)
    await world.system.settle()
    return bool(acting)


async def test_a_death_before_any_commit_changes_nothing_of_what_is_kept_and_delivered(tmp_path: Path) -> None:
    deaths = Deaths(tmp_path)
    async with started(tmp_path) as world:
        with deaths.watched(world):
            await live(world, SAID)
            await end(world)
        expected = await state(world)
    assert len(deaths.sent) > 20
    for number in range(0, len(deaths.sent), DEATHS):
        async with started(deaths.place(number), deaths.sent[number]) as world:
            await world.handler.idle()
            world.clock.advance(minutes=6)  # what the dead process had claimed is free again
            await world.system.settle()
            await live(world, SAID)  # the platform hands over again what it has no receipt for
            await end(world)
            assert await state(world) == expected, f"died before commit {number}"


async def test_a_message_too_old_to_be_answered_is_kept_once_whenever_the_process_dies(tmp_path: Path) -> None:
    deaths = Deaths(tmp_path)
    async with started(tmp_path, start=False) as world:
        await world.handler.accept(world.incoming(SAID[0]))
        world.clock.advance(minutes=16)
        with deaths.watched(world):
            world.handler.open()
            await world.handler.idle()
    assert deaths.sent
    for number in range(len(deaths.sent)):
        async with started(deaths.place(number), start=False) as world:
            world.clock.advance(minutes=20)
            await world.handler.recover()
            world.handler.open()
            await world.handler.idle()
            kept = (await world.system.privacy.export("console:ann"))["scopes"]["dm"]
            assert [row["parts"][0]["text"] for row in kept["recall"]] == [SAID[0]], f"died before commit {number}"
            assert [row["state"] for row in kept["inbox"]] == ["dropped"]
            assert world.channel.texts == []


async def test_a_turn_stopped_at_any_of_its_statements_is_finished_after_the_next_start(tmp_path: Path) -> None:
    async with started(tmp_path / "whole") as world:
        await live(world, SAID)
        await end(world)
        expected = await state(world)
    for number in count(1, STRIDE):
        folder = tmp_path / f"stop-{number}"
        async with started(folder) as world:
            await world.handler.accept(world.incoming(SAID[0], message_id="m0"))
            stopped = await settled(world, number, partial(world.handler.drain, 0))
            sent = world.channel.sent
        async with started(folder, sent) as world:
            await world.handler.idle()
            world.clock.advance(minutes=6)
            await world.system.settle()
            await live(world, SAID)
            await end(world)
            assert await state(world) == expected, f"stopped at statement {number}"
        if not stopped:
            break
    assert number > 50


async def test_whoever_is_erased_while_being_answered_leaves_nothing_behind(tmp_path: Path) -> None:
    async with started(tmp_path) as world:
        for number in count(1, STRIDE):
            person = f"console:p{number}"
            await world.handler.accept(world.incoming(SAID[0], who=f"p{number}"))
            erased = await settled(world, number, partial(world.system.privacy.erase, person))
            left = await world.system.privacy.scopes_of(person)
            assert not erased or not left, f"erased at statement {number}"
            if not erased:
                break
        assert left
        assert number > 50
