"""Somebody takes their memory along: to another installation, and back after an erasure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from bot.chat import Conversation
from bot.cli import app
from memory.errors import InvalidInput
from memory.messages import ModelRequest, ToolCall
from memory.parameters import MemoryParameters
from memory.records import HUMAN
from tests.fakes import ScriptedModel
from tests.world import World, running

GUILD = Conversation(platform="console", key="console:guild:7", audience="guild:7")
SMALL = MemoryParameters(max_conversation_history=4, history_target=2)


def remembering() -> ScriptedModel:
    return ScriptedModel(
        ToolCall(id="t1", name="core_memory_append", arguments={"text": "Ann keeps bees.", "block": HUMAN}),
        "I will remember your bees.",
        ToolCall(id="t2", name="archival_insert", arguments={"text": "The hive stands behind the chapel."}),
        "Noted.",
        default="I see.",
    )


async def tell(world: World) -> None:
    """A conversation that reaches every kind of memory, over two sessions and two audiences."""
    await world.say("I keep bees.")
    await world.say("The hive stands behind the chapel.")
    await world.say("Honey sells well.")
    await world.say("Hello everyone, I like the sea.", where=GUILD)
    world.clock.advance(hours=2)
    await world.system.sweep_idle()
    await world.system.settle()
    await world.say("Good evening.")


async def exported(world: World) -> bytes:
    return json.dumps(await world.system.privacy.export("console:ann"), ensure_ascii=False).encode()


def scopes(data: bytes) -> dict[str, Any]:
    """What is kept, without what belongs to one installation and without the note on the import."""
    found = json.loads(data)["scopes"]
    for stores in found.values():
        for name in ("inbox", "jobs", "usage", "reply_sources", "answer_posts"):
            stores.pop(name, None)
        stores["audit"] = [row for row in stores.get("audit", []) if row["action"] != "memory import"]
    return {audience: stores for audience, stores in found.items() if any(stores.values())}


def shown(request: ModelRequest) -> tuple[Any, ...]:
    return request.system, request.messages


async def test_the_bot_goes_on_in_another_installation_as_if_nothing_had_happened(tmp_path: Path) -> None:
    async with running(tmp_path / "old", model=remembering(), parameters=SMALL) as old:
        await tell(old)
        data = await exported(old)
        await old.say("Where does the hive stand?")
        asked_there = old.model.requests[-1]
        now = old.clock.now()

    async with running(tmp_path / "new", parameters=SMALL) as new:
        new.clock.time = now
        receipt = await new.system.importer.run(data, actor="operator", person="console:ann")
        await new.system.embedded()
        assert receipt.already_here == 0
        assert scopes(await exported(new)) == scopes(data)
        await new.say("Where does the hive stand?")
        asked_here = new.model.requests[-1]

    assert shown(asked_here) == shown(asked_there)
    prompt = str(shown(asked_here))
    assert "Ann keeps bees." in prompt
    assert "behind the chapel" in prompt


async def test_an_erased_memory_comes_back_from_its_export(tmp_path: Path) -> None:
    async with running(tmp_path, model=remembering(), parameters=SMALL) as world:
        await tell(world)
        data = await exported(world)
        assert (await world.system.privacy.erase("console:ann")).residue == 0
        await world.system.importer.run(data, actor="operator")
        await world.system.embedded()
        assert scopes(await exported(world)) == scopes(data)
        await world.say("Where does the hive stand?")
        assert "Ann keeps bees." in str(shown(world.model.requests[-1]))


async def test_after_an_import_what_was_said_in_private_stays_private(tmp_path: Path) -> None:
    async with running(tmp_path / "old", model=remembering(), parameters=SMALL) as old:
        await tell(old)
        data = await exported(old)
    async with running(tmp_path / "new", parameters=SMALL) as new:
        await new.system.importer.run(data, actor="operator")
        await new.system.embedded()
        await new.say("Tell everyone about my bees, hive and honey.", where=GUILD)
        in_public = str(shown(new.model.requests[-1]))
    assert "I like the sea" in in_public
    assert "chapel" not in in_public
    assert "Ann keeps bees." not in in_public


def test_the_command_line_imports_a_file_and_says_what_it_did(tmp_path: Path) -> None:
    entry = {"id": "1", "at": "2026-03-02T09:00:00+00:00", "actor": "discord:1", "action": "memory view", "detail": ""}
    scopes = {"dm": {"audit": [entry], "jobs": [{}]}}
    exported_at = "2026-03-02T09:00:00+00:00"
    file = tmp_path / "ann.json"
    file.write_text(
        json.dumps({"format": "keepsake/1", "person": "console:ann", "exported_at": exported_at, "scopes": scopes}),
        encoding="utf-8",
    )

    def keepsake_import(*options: str) -> Any:
        return CliRunner().invoke(app, ["memory", "import", str(file), "--data-dir", str(tmp_path), *options])

    refused = keepsake_import("--person", "console:ben")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert isinstance(refused.exception, InvalidInput)  # the entry point prints it
    first = keepsake_import("--json", "--person", "console:ann")
    assert json.loads(first.stdout) == {
        "person": "console:ann",
        "added": {"dm": {"audit": 1}},
        "already_here": 0,
        "left_out": 1,
    }
    again = keepsake_import()
    assert (again.exit_code, again.stdout.splitlines()) == (
        0,
        ["1 rows of console:ann were here already.", "1 rows of its inbox, jobs and notes on replies stay out."],
    )
