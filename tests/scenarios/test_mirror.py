"""Memory outlives its machine, and two machines share it: over Turso's own server, on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from turso import sync
from typer.testing import CliRunner, Result

from bot import command_views as views
from bot.cli import app
from bot.coming_back import bring_back
from bot.config import load_settings
from memory.errors import BackupFailed, MirrorUnavailable
from memory.messages import ModelRequest, ToolCall
from memory.mirror.process import MirrorAddress
from memory.privacy import ErasureInMirror
from memory.processes.mirroring import Mirroring
from memory.records import Change, HotItem, Scope
from memory.stores.mirrored import STORES, tables_of
from tests.desk import OPERATOR, Desk
from tests.doubles.bad_line import BadLine, Trouble, bad_line
from tests.doubles.turso_server import TursoServer, turso_server
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running

SETTINGS = load_settings(env_file=None)
ANN = Scope(person="console:ann", audience="dm")
BY_HAND = Change(actor="person", reason="test")
STORY = {
    "summary": "Ann talked.",
    "goal": "",
    "journey": [],
    "outcome": "success",
    "key_moments": [],
    "lessons": [],
    "tags": [],
    "importance": 0.7,
    "facts": [],
    "procedures": [{"name": "How to talk", "description": "Talking", "steps": ["Open it."], "triggers": ["talk"]}],
}
MIRRORED = {"hot", "tree", *(store.name for store in STORES)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TursoServer]:
    with turso_server(tmp_path) as server:
        yield server


def topic_of(request: ModelRequest) -> str:
    """The last topic that the request speaks of."""
    return str(request).rsplit("about ", 1)[-1].split()[0].strip(".,'\")<&\\")


def learning(request: ModelRequest) -> str:
    """Memory work that learns a fact and an event of whatever was talked about."""
    match request.system[0].name:
        case "extract_facts":
            kinds = {"fact": "User likes", "event": "User talked of"}
            topic = topic_of(request)
            candidates = [{"kind": kind, "text": f"{says} {topic}", "category": "life"} for kind, says in kinds.items()]
            return json.dumps({"candidates": candidates})
        case "reconcile_facts":
            return json.dumps({"ops": [{"candidate": 1, "op": "ADD"}]})
        case "write_episode":
            return json.dumps(STORY)
    return f"They talked about {topic_of(request)}"


def noting(request: ModelRequest) -> list[ToolCall] | str:
    """A chat model that saves what it hears."""
    if request.messages[-1].tool_results:
        return "Noted."
    topic = topic_of(request)
    return [
        ToolCall(id=f"a{topic}", name="core_memory_append", arguments={"text": f"Likes {topic}."}),
        ToolCall(id=f"b{topic}", name="archival_insert", arguments={"text": f"A long story of {topic}."}),
    ]


def device(
    folder: Path,
    server: TursoServer | BadLine,
    clock: FakeClock,
    *,
    with_messages: bool = False,
    seconds: float = 20,
) -> AbstractAsyncContextManager[World]:
    """A machine on the mirror."""
    folder.mkdir(exist_ok=True)
    address = MirrorAddress(url=server.url, folder=folder / "mirror", with_messages=with_messages, seconds=seconds)
    models = {"model": ScriptedModel(default=noting), "memory_model": ScriptedModel(default=learning)}
    return running(folder, clock=clock, mirror=address, **models)


def mirror_of(world: World) -> Mirroring:
    assert world.system.mirror is not None
    return world.system.mirror


async def talk(world: World, topic: str) -> None:
    """A conversation, up to the silence that ends it and the job that follows."""
    for words in ("Let us talk about", "And once more about"):
        await world.say(f"{words} {topic} today")
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()
    await mirror_of(world).settle()


async def memory_of(world: World) -> dict[str, Any]:
    """What is kept of Ann in private, as an export has it, so far as it is mirrored."""
    stores = (await world.system.privacy.export(ANN.person))["scopes"]["dm"]
    kept = {name: rows for name, rows in stores.items() if rows and name in MIRRORED}
    kept["hot"] = kept.get("hot", [])[-1:]  # its history stays where it was made
    ignored = {store.name: store.ignored for store in STORES}
    return {
        name: [{column: value for column, value in row.items() if column not in ignored.get(name, ())} for row in rows]
        for name, rows in kept.items()
    }


async def test_a_machine_that_lost_everything_gets_it_back(tmp_path: Path, server: TursoServer) -> None:
    clock, folder = FakeClock(), tmp_path / "a"
    async with device(folder, server, clock) as world:
        await talk(world, "tea")
        await talk(world, "chess")
        await world.system.consolidator.run_all()
        await mirror_of(world).exchange()
        before = await memory_of(world)
    shutil.rmtree(folder)
    async with device(folder, server, clock) as world:
        assert await mirror_of(world).restore()
        after = await memory_of(world)
        assert set(before) >= {"blocks", "summaries", "facts", "fact_revisions", "entries", "tree", "archival"}
        for name, rows in before.items():
            assert after[name] == rows, name


async def test_two_machines_that_wrote_while_apart_both_end_with_everything(
    tmp_path: Path, server: TursoServer
) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock) as one, device(tmp_path / "b", server, clock) as other:
        await talk(one, "tea")
        await mirror_of(other).exchange()
        server.stop()
        await talk(one, "chess")
        await talk(other, "rain")
        server.start()
        for world in (one, other, one):
            await mirror_of(world).exchange()
        here, there = await memory_of(one), await memory_of(other)
        for node in (*here["tree"], *there["tree"]):
            del node["last_active_at"]  # where, each knows for itself
        for name in here:
            assert here[name] == there[name], name
        for topic in ("tea", "chess", "rain"):
            for store in ("facts", "archival", "entries", "blocks", "summaries"):
                assert topic in json.dumps(here[store]), (topic, store)
        blocks = await one.system.stores.blocks.load(ANN)
        assert blocks == await other.system.stores.blocks.load(ANN)
        await talk(other, "wind")
        await mirror_of(one).exchange()
        assert "Likes wind." in str(await one.system.stores.blocks.load(ANN))
        for world, project in ((one, "Boat"), (other, "House")):
            clock.advance(hours=1)
            await work_on(world, project)
        await mirror_of(other).exchange()
        async with one.system.transaction() as tx:  # later than the hot state there, which is the later of the two
            await one.system.stores.tree.add_node(ANN, tx, path="boats", change=BY_HAND, at=clock.now())
        for world in (one, other, one):
            await mirror_of(world).exchange()
        for world in (one, other):
            assert [item.text for item in (await world.system.stores.hot.load(ANN)).projects] == ["House"]
            assert "boats" in (await world.system.stores.tree.load(ANN)).nodes
        await mirror_of(other).exchange()
        with capture_logs() as logged:
            for world in (one, other, one):
                await mirror_of(world).exchange()
        assert [line for line in logged if line["event"] in ("mirrored", "mirror_taken_in")] == []


async def work_on(world: World, project: str) -> None:
    """Write a project into the hot state, as its only one."""
    hot, at = world.system.stores.hot, world.clock.now()
    async with world.system.transaction() as tx:
        state = replace(await hot.standing(ANN, tx), projects=(HotItem(text=project, timestamp=at.isoformat()),))
        await hot.write(ANN, tx, state=state, change=BY_HAND, at=at)


async def test_a_deletion_reaches_a_machine_that_was_away_for_longer_than_its_mark_is_kept(
    tmp_path: Path, server: TursoServer
) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock) as one, device(tmp_path / "b", server, clock) as away:
        await talk(one, "tea")
        await mirror_of(away).exchange()
        assert await away.system.stores.archival.all(ANN)
        async with one.system.transaction() as tx:
            for passage in await one.system.stores.archival.all(ANN):
                await one.system.stores.archival.withdraw(ANN, tx, source_message=passage.source_message or 0)
        for _ in range(3):
            await mirror_of(one).exchange()
            clock.advance(days=16)
        assert marks_in(server) == 0
        await mirror_of(away).exchange()
        assert await away.system.stores.archival.all(ANN) == []
        assert "tea" in json.dumps(await memory_of(away))


def marks_in(server: TursoServer) -> int:
    """How many marks of deleted documents the hosted database holds."""
    connection = sync.connect(":memory:", remote_url=server.url)
    try:
        marks = connection.execute("SELECT count(*) FROM mirrored_archival WHERE data IS NULL").fetchall()
        return int(marks[0][0])
    finally:
        connection.close()


async def test_a_mirror_that_is_down_for_a_day_gets_everything_afterwards(tmp_path: Path, server: TursoServer) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock) as world:
        server.stop()
        with capture_logs() as logged:
            await talk(world, "tea")
            for _ in range(4):
                clock.advance(hours=6)
                await mirror_of(world).run_due()
            await talk(world, "chess")
        assert {line["event"] for line in logged if line["log_level"] in ("warning", "error")} == {"mirror_postponed"}
        assert (await world.system.stores.mirror_changes.progress()).waiting
        server.start()
        clock.advance(minutes=1)
        await mirror_of(world).run_due()
        assert not (await world.system.stores.mirror_changes.progress()).waiting
        before = await memory_of(world)
    async with device(tmp_path / "b", server, clock) as restored:
        await mirror_of(restored).restore()
        assert (await memory_of(restored))["facts"] == before["facts"]


async def test_a_mirror_that_fails_is_left_alone_for_longer_and_longer(tmp_path: Path, server: TursoServer) -> None:
    clock = FakeClock()
    server.stop()
    async with device(tmp_path / "a", server, clock) as world:
        with capture_logs() as logged:
            started, tried = clock.now(), []
            for _ in range(80):
                before = len(logged)
                await mirror_of(world).run_due()
                tried += [(clock.now() - started).total_seconds()] * (len(logged) > before)
                clock.advance(seconds=1)
    assert tried == [0, 5, 15, 35, 75]


@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.UNANSWERED])
async def test_a_push_that_fails_in_the_middle_is_made_up_for_once(
    tmp_path: Path, server: TursoServer, trouble: Trouble
) -> None:
    clock = FakeClock()
    async with bad_line(server.port) as line, device(tmp_path / "a", line, clock) as world:
        await talk(world, "tea")
        line.trouble = trouble
        for most in (2_000, 6_000):  # a pull takes less
            line.most = most
            await talk(world, f"topic{most}")
            clock.advance(minutes=2)
            with suppress(MirrorUnavailable):
                await mirror_of(world).exchange()
        line.most = None
        await mirror_of(world).exchange()
        before = await memory_of(world)
        assert told_twice(server) == []
        async with device(tmp_path / "b", server, clock) as restored:
            await mirror_of(restored).restore()
            after = await memory_of(restored)
    assert {name: after[name] == rows for name, rows in before.items()} == dict.fromkeys(before, True)


def told_twice(server: TursoServer) -> list[Any]:
    """Records of which the hosted database holds more than one version."""
    connection = sync.connect(":memory:", remote_url=server.url)
    try:
        found = [
            connection.execute(f"SELECT record FROM {store.remote} GROUP BY agent_id, record HAVING count(*) > 1")
            for store in STORES
        ]
        return [row for rows in found for row in rows.fetchall()]
    finally:
        connection.close()


async def test_nobody_waits_for_a_push_that_hangs_and_is_killed(tmp_path: Path, server: TursoServer) -> None:
    clock = FakeClock()
    async with bad_line(server.port) as line, device(tmp_path / "a", line, clock) as world:
        await talk(world, "tea")
        line.trouble, line.most = Trouble.HELD, 2_000
        await world.say("Let us talk about chess today")
        mirror_of(world).kick()
        await line.held.wait()
        worker = pid_of_worker()
        os.kill(worker, signal.SIGTERM)  # as a host does to every process of a bot that is to stop
        os.kill(worker, signal.SIGINT)
        assert await world.say("And once more about chess") == "Noted."
        assert pid_of_worker() == worker
        os.kill(worker, signal.SIGKILL)
        await mirror_of(world).settle()
        line.most = None
        clock.advance(minutes=1)
        await mirror_of(world).run_due()
        assert not (await world.system.stores.mirror_changes.progress()).waiting
        assert told_twice(server) == []


def pid_of_worker() -> int:
    """The process that works on the mirror for this one."""
    children = " ".join(file.read_text() for file in Path("/proc/self/task").glob("*/children")).split()
    [worker] = [pid for pid in children if b"memory.mirror.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return int(worker)


async def test_a_mirror_that_does_not_answer_in_time_is_given_up(tmp_path: Path, server: TursoServer) -> None:
    async with bad_line(server.port) as line, device(tmp_path / "a", line, FakeClock(), seconds=0.05) as world:
        line.trouble, line.most = Trouble.HELD, 0
        with pytest.raises(MirrorUnavailable, match="did not answer within"):
            await mirror_of(world).exchange()


async def test_who_is_erased_is_gone_from_the_mirror_and_from_other_machines(
    tmp_path: Path, server: TursoServer
) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock) as one, device(tmp_path / "b", server, clock) as other:
        await talk(one, "quetzals")
        await one.say("I talk about quetzals", who="ben")
        await mirror_of(one).exchange()
        await mirror_of(other).exchange()
        assert "quetzals" in json.dumps(await memory_of(other))
        server.stop()
        receipt = await one.system.privacy.erase(ANN.person)
        assert (receipt.residue, receipt.mirror) == (0, ErasureInMirror.WAITING)
        assert b"quetzals" not in b"".join(file.read_bytes() for file in (tmp_path / "a" / "mirror").iterdir())
        assert "hosted database, and their copy" in views.receipt(receipt)
        server.start()
        await mirror_of(one).exchange()
        await mirror_of(other).exchange()
        assert await other.system.privacy.scopes_of(ANN.person) == []
        assert await other.system.privacy.scopes_of("console:ben")
        async with device(tmp_path / "c", server, clock) as new:  # nothing came back here yet
            receipt = await new.system.privacy.erase("console:ben")
            assert receipt.mirror is ErasureInMirror.DONE
            await mirror_of(new).restore()
            assert await new.system.privacy.scopes_of(ANN.person) == []
            assert await new.system.privacy.scopes_of("console:ben") == []
        await mirror_of(other).exchange()
        assert await other.system.privacy.scopes_of("console:ben") == []
    with closing(sync.connect(str(tmp_path / "look.db"), remote_url=server.url)) as hosted:
        for table in tables_of(STORES):
            assert hosted.execute(f"SELECT data FROM {table} WHERE data LIKE '%quetzals%'").fetchall() == [], table


async def test_who_comes_back_after_an_erasure_is_remembered_anew(tmp_path: Path, server: TursoServer) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock) as one, device(tmp_path / "b", server, clock) as other:
        await talk(one, "quetzals")
        await mirror_of(other).exchange()
        await one.system.privacy.erase(ANN.person)
        await talk(one, "tea")
        for world in (other, one, other):
            await mirror_of(world).exchange()
        for world in (one, other):
            kept = json.dumps(await memory_of(world))
            assert "tea" in kept
            assert "quetzals" not in kept


@pytest.mark.parametrize("with_messages", [False, True])
async def test_what_was_said_is_mirrored_only_where_that_is_asked_for(
    tmp_path: Path, server: TursoServer, with_messages: bool
) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock, with_messages=with_messages) as world:
        await talk(world, "tea")
        await world.system.oversight.sittings.off_record(ANN, conversation="console:ann:dm", community=None)
        await world.say("Off the record, let us talk about quetzals")
        await mirror_of(world).exchange()
    async with device(tmp_path / "b", server, clock, with_messages=with_messages) as restored:
        await mirror_of(restored).restore()
        kept = json.dumps(await restored.system.privacy.export(ANN.person))
        assert ("Let us talk about tea today" in kept) is with_messages
        assert "quetzals" not in kept
        assert await restored.system.oversight.sittings.is_off_record(ANN, "console:ann:dm")


async def test_a_start_on_an_empty_disk_brings_memory_back_before_anybody_is_answered(
    tmp_path: Path, server: TursoServer, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = FakeClock()
    async with device(tmp_path / "a", server, clock) as world:
        await Desk.of(world).call("memory settings max_conversation_history 10", by=OPERATOR)
        await talk(world, "tea")
    shutil.rmtree(tmp_path / "a")
    async with device(tmp_path / "a", server, clock) as world:
        await bring_back(world.system, SETTINGS)
        assert world.system.in_force.current.max_conversation_history == 10
        assert "rows came back from the mirror" in capsys.readouterr().err
        world.model.default = "You like tea."
        await world.say("Do I like tea today?")
        prompt = str(world.model.requests[-1])
        assert "User likes tea" in prompt
        assert "Likes tea." in prompt
        await mirror_of(world).settle()
    server.stop()
    async with device(tmp_path / "b", server, clock) as world:
        await bring_back(world.system, SETTINGS)
        assert "Nothing came back from the mirror yet" in capsys.readouterr().err


def test_the_command_line_brings_everything_back(
    tmp_path: Path, server: TursoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        async with device(tmp_path / "a", server, FakeClock()) as world:
            await talk(world, "tea")

    def keepsake(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--data-dir", str(tmp_path / "b")])

    asyncio.run(live())
    refused = keepsake("restore")
    assert isinstance(refused.exception, BackupFailed)
    assert "set TURSO_URL" in str(refused.exception)
    monkeypatch.setenv("TURSO_URL", server.url)
    assert "rows came back from the mirror" in keepsake("restore").stdout
    assert json.loads(keepsake("restore", "--json").stdout) == {"rows": 0}
    monkeypatch.delenv("TURSO_URL")
    assert "User likes tea" in keepsake("memory", "facts", "--person", ANN.person).stdout
