"""Failing models, full disks, attempts that come too late: nothing waits, nothing is lost, nothing happens twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from memory.errors import DatabaseUnavailable, ModelUnavailable
from memory.ports import Vectors
from memory.records import JobState, Scope
from tests.fakes import HashEmbedder, ScriptedModel
from tests.world import World, running

ANN = Scope(person="console:ann", audience="dm")
LEASE = timedelta(minutes=5)
DOWN = ModelUnavailable("The model cannot be reached.")


@dataclass(slots=True)
class Disk:
    """Where databases are kept; while it is full, none of them can grow."""

    is_full: bool = False

    def limit(self, connection: Connection) -> None:
        most = 1 if self.is_full else 2**32 - 2  # SQLite takes the present size where that is more
        connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    event.listen(Engine, "begin", disk.limit)
    yield disk
    event.remove(Engine, "begin", disk.limit)


class EndlessEmbedder(HashEmbedder):
    """As slow as a change of embedder over a long history."""

    name = "endless"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.Future[Vectors]()


async def facts_learned(world: World) -> list[str]:
    return [fact.text for fact in await world.system.stores.facts.current(ANN)]


async def test_a_job_that_waits_for_its_next_try_holds_up_no_reply(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=DOWN)) as world:
        await world.say("I live in Oslo with my cat.")
        world.clock.advance(minutes=31)  # the next message ends the session, whose summary waits behind that job
        async with asyncio.timeout(8):  # a session waits up to 10 seconds for the summary of the one before
            await world.handler.accept(world.incoming("I work as a baker."))
            await world.handler.idle()
        assert world.channel.texts == ["ok", "ok"]


async def test_an_attempt_that_outlived_its_lease_neither_frees_nor_repeats_the_job(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        jobs, now = world.system.stores.jobs, world.clock.now()
        async with world.system.transaction() as tx:
            await jobs.add(ANN, tx, kind="learn", subject=1, payload={"exchange": 1}, at=now)
        [late] = await jobs.claim(now=now, lease=LEASE)
        [present] = await jobs.claim(now=now + LEASE, lease=LEASE)
        async with world.system.transaction() as tx:
            await jobs.failed(ANN, tx, job=late, error="too late", due_at=now)
        assert await jobs.claim(now=now + LEASE, lease=LEASE) == []
        async with world.system.transaction() as tx:
            assert await jobs.done(ANN, tx, job=present)
            await jobs.failed(ANN, tx, job=late, error="too late", due_at=now)
            await jobs.release(ANN, tx, job=late)
        assert [row["state"] for row in await jobs.export(ANN)] == [JobState.DONE]


async def test_what_a_full_disk_did_not_take_is_answered_and_learned_once_there_is_room(
    tmp_path: Path, disk: Disk
) -> None:
    taught = json.dumps({"candidates": [{"text": "User lives in Oslo", "kind": "fact"}]})
    long = "I live in Oslo. " + "It is cold there. " * 2_000
    model = ScriptedModel(only="extract_facts", default=taught)
    async with running(tmp_path, memory_model=model, start=False) as world:
        await world.handler.accept(world.incoming(long))
        disk.is_full = True
        with pytest.raises(DatabaseUnavailable):
            await world.handler.accept(world.incoming(long))
        world.handler.open()
        await world.handler.idle()
        await world.system.settle()
        disk.is_full = False
        await world.handler.recover()
        await world.handler.idle()
        await world.system.settle()
        assert world.channel.texts == ["ok"]
        assert await facts_learned(world) == ["User lives in Oslo"]
        assert await world.system.stores.recall.count(ANN) == 2


async def test_a_disk_without_room_for_vectors_only_postpones_them(tmp_path: Path, disk: Disk) -> None:
    async with running(tmp_path) as world:
        await world.system.settle()
        async with world.system.transaction() as tx:
            for number in range(300):
                content = f"Document {number} about boats."
                await world.system.stores.archival.insert(ANN, tx, content=content, source_message=None)
        disk.is_full = True
        await world.system.embedded()
        assert (await world.system.stores.search.progress()).waiting > 0
        disk.is_full = False
        await world.system.embedded()
        assert (await world.system.stores.search.progress()).waiting == 0


async def test_a_disk_that_fills_up_while_jobs_run_only_postpones_them(tmp_path: Path, disk: Disk) -> None:
    def fill(_request: object) -> str:
        disk.is_full = True
        return json.dumps({"candidates": [{"text": f"Fact {number} " + "of Oslo " * 90} for number in range(40)]})

    model = ScriptedModel(fill, only="extract_facts", default='{"candidates": [{"text": "User lives in Oslo"}]}')
    async with running(tmp_path, memory_model=model) as world:
        await world.handler.accept(world.incoming("I live in Oslo with my cat."))
        await world.handler.idle()
        await world.system.settle()
        assert await facts_learned(world) == []
        disk.is_full = False
        world.clock.advance(minutes=6)
        await world.system.settle()
        assert await facts_learned(world) == ["User lives in Oslo"]


async def test_a_conversation_can_end_before_all_that_was_said_is_embedded(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.handler.accept(world.incoming("I live in Oslo with my cat."))
        await world.handler.idle()
    async with running(tmp_path, embedder=EndlessEmbedder()) as world, asyncio.timeout(8):
        await world.system.settle(embedding_seconds=0)
        found = await world.system.stores.recall.export(ANN)
        assert len(found) == 2
        assert (await world.system.stores.search.progress()).waiting > 0
