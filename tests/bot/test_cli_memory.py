"""keepsake memory and keepsake jobs, on a database that a conversation has filled."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

from memory.errors import ModelOverloaded
from memory.messages import ToolCall
from memory.parameters import MemoryParameters
from tests.bot.conftest import Command
from tests.desk import channel, summing_up
from tests.fakes import ScriptedModel
from tests.world import running

ANN = ("--person", "console:ann", "--data-dir", "data")


@pytest.fixture
def kept(tmp_path: Path) -> None:
    """Ann has talked twice in a direct chat, and is talking in a channel."""
    saving = ToolCall(id="1", name="core_memory_append", arguments={"block": "human", "text": "Likes tea."})
    model = ScriptedModel([saving], "Noted.", default="ok")
    memory_model = summing_up("Ann likes tea.", "Ann likes coffee.")

    async def talk() -> None:
        (tmp_path / "data").mkdir()
        async with running(tmp_path / "data", model=model, memory_model=memory_model) as world:
            for text in ("I like tea", "I like coffee"):
                await world.say(text)
                world.clock.advance(minutes=30)
                await world.system.sweep_idle()
                await world.system.settle()
            await world.say("Hello", where=channel(1))

    asyncio.run(talk())


@pytest.mark.usefixtures("kept")
def test_summary_lists_versions_and_what_the_newest_changed(keepsake: Command) -> None:
    shown = keepsake("memory", "summary", *ANN, "--audience", "dm")
    assert shown.code == 0
    assert "version 2, 2026-03-02 10:00 UTC, 3 words, end of a session (system)" in shown.out
    assert "- Ann likes tea.\n+ Ann likes coffee." in shown.out
    assert "Ann likes tea." in keepsake("memory", "summary", *ANN, "--audience", "dm", "--version", "1").out
    rows = json.loads(keepsake("memory", "summary", *ANN, "--audience", "dm", "--json").out)
    assert [version["version"] for version in rows["versions"]] == [2, 1]
    assert rows["diff"] == ["- Ann likes tea.", "+ Ann likes coffee."]


@pytest.mark.usefixtures("kept")
def test_rollback_asks_and_writes_a_new_version_that_the_audit_shows(
    keepsake: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = (*ANN, "--audience", "dm")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    refused = keepsake("memory", "rollback", "1", *where)
    assert refused.code == 1
    assert "+ Ann likes tea." in refused.err
    assert "Nothing was changed." in refused.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert "Version 3 of the summary is the text of version 1." in keepsake("memory", "rollback", "1", *where).out
    done = json.loads(keepsake("memory", "rollback", "0", *where, "--block", "human", "--yes", "--json").out)
    assert (done["what"], done["version"]) == ("human", 2)
    shown = json.loads(keepsake("memory", "show", *ANN, "--json").out)["scopes"]
    [private] = [row for row in shown if row["audience"] == "dm"]
    assert (private["summary"], private["core_memory"]["human"]) == ("Ann likes tea.", "")
    entries = json.loads(keepsake("memory", "audit", *ANN, "--json").out)["entries"]
    assert [
        (entry["actor"], entry["action"], entry["detail"]) for entry in entries if "rollback" in entry["action"]
    ] == [
        ("operator", "memory rollback", "human to version 0"),
        ("operator", "memory rollback", "summary to version 1"),
    ]
    assert "operator: memory show (guild:1)" in keepsake("memory", "audit", *ANN).out


@pytest.mark.usefixtures("kept")
def test_undo_takes_back_what_a_job_changed(keepsake: Command) -> None:
    where = (*ANN, "--audience", "dm")
    newest = json.loads(keepsake("memory", "summary", *where, "--json").out)["versions"][0]
    assert "Taken back, as a new version: summary." in keepsake("memory", "undo", newest["job"], *where, "--yes").out
    assert "Ann likes tea." in keepsake("memory", "summary", *where, "--version", "3").out
    again = keepsake("memory", "undo", newest["session"], *where, "--yes", "--json")
    assert again.code == 1
    assert json.loads(again.out)["changed"] == []
    unknown = keepsake("memory", "undo", "17", *where, "--yes")
    assert (unknown.code, unknown.err) == (1, "Nothing that is kept here was changed by session 17.\n")


@pytest.mark.usefixtures("kept")
def test_end_session_sums_the_conversation_up(keepsake: Command) -> None:
    where = (*ANN, "--audience", "guild:1")
    assert keepsake("memory", "end-session", *where).out.startswith("Ended session ")
    assert "version 1" in keepsake("memory", "summary", *where).out
    assert keepsake("memory", "end-session", *where).out == "There is no open session.\n"


@pytest.mark.usefixtures("kept")
def test_which_memory_is_meant_must_be_said_where_there_are_several(keepsake: Command) -> None:
    ended = keepsake("memory", "summary", *ANN)
    assert (ended.code, ended.err) == (1, "Choose one with --audience: dm, guild:1.\n")
    unknown = keepsake("memory", "summary", *ANN, "--audience", "guild:2")
    assert (unknown.code, unknown.err) == (1, "Nothing is kept about console:ann heard by guild:2.\n")


@pytest.fixture
def set_aside(tmp_path: Path) -> None:
    """A session could not be summed up, once and for all."""

    async def fail() -> None:
        (tmp_path / "data").mkdir()
        model = summing_up(lambda request: ModelOverloaded("busy"))
        parameters = MemoryParameters(job_attempts=1)
        async with running(tmp_path / "data", memory_model=model, parameters=parameters) as world:
            await world.say("I like tea")
            world.clock.advance(minutes=30)
            await world.system.sweep_idle()
            await world.system.settle()

    asyncio.run(fail())


@pytest.mark.usefixtures("set_aside")
def test_jobs_that_were_set_aside_are_listed_and_tried_again(keepsake: Command) -> None:
    [job] = json.loads(keepsake("jobs", "list", "--data-dir", "data", "--json").out)["jobs"]
    assert job["key"].startswith("close_session:")
    assert (job["person"], job["attempts"], job["last_error"]) == ("console:ann", 1, "ModelOverloaded: busy")
    assert "console:ann" in keepsake("jobs", "list", "--data-dir", "data").out
    other = keepsake("jobs", "retry", job["key"], "--person", "console:bob", "--data-dir", "data")
    assert (other.code, other.out) == (1, "")
    retried = keepsake("jobs", "retry", job["key"], *ANN)
    assert retried.out == f"{job['key']} of console:ann will be tried again.\n"
    assert json.loads(keepsake("jobs", "list", "--data-dir", "data", "--json").out) == {"jobs": []}
    assert keepsake("jobs", "list", "--data-dir", "data").out == "No job has failed for good.\n"


def test_an_archive_of_a_channel_is_taken_in_once(keepsake: Command, tmp_path: Path) -> None:
    author = {"id": "11", "name": "ann", "isBot": False}
    message = {"id": "1", "type": "Default", "timestamp": "2021-05-01T10:00:00+00:00", "author": author}
    export = {
        "guild": {"id": "7", "name": "Garden"},
        "channel": {"id": "5", "type": "GuildTextChat", "name": "general"},
        "messages": [{**message, "content": "My cat is called Biscuit"}],
    }
    (tmp_path / "general.json").write_text(json.dumps(export), encoding="utf-8")
    first = keepsake("memory", "import", "general.json", "--data-dir", "data")
    assert (first.code, "discord:11" in first.out) == (0, True)
    again = json.loads(keepsake("memory", "import", "general.json", "--data-dir", "data", "--json").out)
    assert (again["people"], again["already_here"]) == ({}, 1)
    refused = keepsake("memory", "import", "general.json", "--person", "discord:11", "--data-dir", "data")
    assert (refused.code, "Leave --person out" in refused.err) == (1, True)
