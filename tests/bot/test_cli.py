"""The command line as people and programs use it: data on standard output, one sentence where something is wrong."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bot.conftest import Command, Ended
from tests.forked import forked_keepsake

SAID = (
    b"2023-05-08T13:56:00Z My name is Ann\n"
    b"yesterday I was ill\n"
    b"2023-05-09T08:00:00+02:00\tI work at the [/harbour] caf\xe9 with Zo\xc3\xab\n"
    b"\n"
    b"2023-06-01T10:00:00Z   \n"
    b"2023-06-01T10:01:00Z What is my name?\n"
)
IN_PUBLIC = b"I collect stamps from Peru\nWhat is my name?\n"


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME")}


def in_a_process(folder: Path, *arguments: str, said: bytes = b"") -> Ended:
    """Run the command in a process of its own, with no setting but the defaults."""
    with forked_keepsake(*arguments, folder=folder, settings=environment()) as process:
        process.stdin.buffer.write(said)
        process.stdin.close()
        out = process.stdout.read()
        return Ended(code=process.wait(), out=out, err=process.stderr.read())


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A folder with memory in it, and how the chats went that filled it."""

    folder: Path
    private: Ended
    public: Ended


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    return Kept(
        folder=folder,
        private=in_a_process(folder, "chat", "--as", "ann", "--at", said=SAID),
        public=in_a_process(folder, "chat", "--as", "ann", "--audience", "guild:7", said=IN_PUBLIC),
    )


def test_in_a_pipe_each_line_gets_one_reply_and_nothing_else_is_on_standard_output(kept: Kept) -> None:
    assert kept.private.code == 0
    replies = kept.private.out.splitlines()
    assert len(replies) == SAID.count(b"\n")
    assert "Ann" in replies[0]
    assert replies[5] == "Your name is Ann."
    assert "ANTHROPIC_API_KEY" in kept.private.err


def test_a_line_without_a_time_is_answered_with_the_form_it_needs(kept: Kept) -> None:
    replies = kept.private.out.splitlines()
    for malformed in (replies[1], replies[3]):
        assert "2023-05-08T13:56:00Z Hello" in malformed


def test_what_was_said_in_private_is_not_known_in_public(kept: Kept) -> None:
    assert kept.public.code == 0
    [_, reply] = kept.public.out.splitlines()
    assert "Ann" not in reply


def test_bytes_that_are_no_text_are_kept_as_replacement_characters_at_the_time_they_were_said(
    kept: Kept, keepsake: Command
) -> None:
    ended = keepsake("memory", "export", "--person", "console:ann", "--data-dir", str(kept.folder / "data"))
    assert ended.code == 0
    rows = json.loads(ended.out)["scopes"]["dm"]["recall"]
    [row] = [row for row in rows if row["role"] == "user" and "harbour" in str(row["parts"])]
    assert row["parts"][0]["text"] == "I work at the [/harbour] caf\ufffd with Zoë"
    assert row["sent_at"] == "2023-05-09T06:00:00+00:00"


def test_show_prints_core_memory_and_counts_for_each_audience(kept: Kept, keepsake: Command) -> None:
    where = ("--person", "console:ann", "--data-dir", str(kept.folder / "data"))
    scopes = {row["audience"]: row for row in json.loads(keepsake("memory", "show", *where, "--json").out)["scopes"]}
    assert "Ann" in scopes["dm"]["core_memory"]["human"]
    assert scopes["guild:7"]["messages"] >= 4
    table = keepsake("memory", "show", *where)
    assert table.code == 0
    assert "heard by guild:7" in table.out
    assert "[/harbour]" in table.out


def test_search_finds_across_audiences_and_within_one(kept: Kept, keepsake: Command) -> None:
    where = ("--person", "console:ann", "--data-dir", str(kept.folder / "data"))
    found = json.loads(keepsake("memory", "search", "harbour café", *where, "--json").out)["results"]
    assert "[/harbour]" in found[0]["text"]
    assert found[0]["date"].startswith("2023-05-09")
    assert found[0]["messages"]
    in_public = json.loads(keepsake("memory", "search", "harbour", *where, "--audience", "guild:7", "--json").out)
    assert {hit["audience"] for hit in in_public["results"]} == {"guild:7"}
    assert "[/harbour]" in keepsake("memory", "search", "harbour", *where, "--limit", "2").out
    assert "(dm): the nearest there is" in keepsake("memory", "search", "zebra", *where).out
    broken = keepsake("memory", "search", "caf\udce9 harbour", *where, "--json")
    assert json.loads(broken.out)["query"] == "caf\ufffd harbour"


def test_of_a_person_never_seen_there_is_nothing(kept: Kept, keepsake: Command) -> None:
    where = ("--person", "console:nobody", "--data-dir", str(kept.folder / "data"))
    assert keepsake("memory", "show", *where).out == "Nothing is kept about console:nobody.\n"
    assert keepsake("memory", "search", "anything", *where).out == "Nothing found.\n"
    assert json.loads(keepsake("memory", "search", "anything", *where, "--json").out)["results"] == []
    assert json.loads(keepsake("memory", "export", *where).out)["scopes"] == {}


def test_an_export_can_go_into_a_file(kept: Kept, keepsake: Command, tmp_path: Path) -> None:
    target = tmp_path / "ann.json"
    data = str(kept.folder / "data")
    ended = keepsake("memory", "export", "--person", "console:ann", "--data-dir", data, "-o", str(target))
    assert (ended.code, ended.out) == (0, "")
    assert "guild:7" in json.loads(target.read_text(encoding="utf-8"))["scopes"]


def test_output_is_utf_8_whatever_the_terminal_says(kept: Kept) -> None:
    command = [sys.executable, "-m", "bot", "memory", "show", "--person", "console:ann"]
    ascii_only = {**environment(), "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, capture_output=True, cwd=kept.folder, env=ascii_only, timeout=120, check=True)
    assert "console:ann · heard by dm" in shown.stdout.decode()


def test_an_argument_that_is_no_text_is_shown_as_its_bytes(keepsake: Command) -> None:
    name = os.fsdecode(b"\xff.md")
    ended = keepsake("memory", "extract-metadata", "--file", name)
    assert (ended.code, ended.err) == (1, "\\udcff.md cannot be read: No such file or directory.\n")
    ended = keepsake("memory", "validate", "--file", name)
    assert (ended.code, json.loads(ended.out)["file"]) == (1, name)


def test_an_export_that_cannot_be_written_is_one_sentence(kept: Kept, keepsake: Command, tmp_path: Path) -> None:
    where = ("--person", "console:ann", "--data-dir", str(kept.folder / "data"))
    ended = keepsake("memory", "export", *where, "-o", str(tmp_path / "no folder" / "ann.json"))
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (1, "", 1)
    assert "cannot be written" in ended.err


def test_an_erasure_ends_with_a_receipt_and_leaves_nothing(kept: Kept, keepsake: Command, tmp_path: Path) -> None:
    data = tmp_path / "copy"
    shutil.copytree(kept.folder / "data", data)
    where = ("--person", "console:ann", "--data-dir", str(data))
    receipt = json.loads(keepsake("memory", "erase", *where, "--yes", "--json").out)
    assert receipt["rows"]["messages"] > 0
    assert receipt["residue"] == 0
    again = keepsake("memory", "erase", *where, "--yes")
    assert again.code == 0
    assert again.out.startswith("Nothing was kept about console:ann, so there was nothing to erase.")
    assert "rows erased" not in again.out
    assert not any(json.loads(keepsake("memory", "erase", *where, "--yes", "--json").out)["rows"].values())


@pytest.mark.parametrize(
    "command",
    [
        ("memory", "show", "--person", "console:ann"),
        ("memory", "search", "tea", "--person", "console:ann", "--json"),
        ("memory", "erase", "--person", "console:ann", "--yes"),
        ("memory", "undo", "close_session:42", "--person", "console:ann", "--yes"),
        ("memory", "retrieve", "--query", "tea", "--person", "console:ann"),
        ("memory", "hot", "--person", "console:ann"),
        ("memory", "tree", "--prune", "--person", "console:ann"),
        ("consolidate",),
        ("jobs", "list"),
    ],
)
def test_where_there_is_no_memory_a_command_says_so_and_makes_none(
    keepsake: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    ended = keepsake(*command, "--data-dir", "wrong")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("There is no database at wrong/keepsake.db. Set DATA_DIR or --data-dir")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("typed", ["console:bob\n", ""])
def test_an_erasure_without_the_typed_name_erases_nothing(
    kept: Kept, keepsake: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str
) -> None:
    answer = tmp_path / "typed"
    answer.write_text(typed)
    where = ("--person", "console:ann", "--data-dir", str(kept.folder / "data"))
    with answer.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        ended = keepsake("memory", "erase", *where)
    assert (ended.code, ended.out.strip()) == (1, "")
    assert json.loads(keepsake("memory", "show", *where, "--json").out)["scopes"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("memory", "show", "--person", "ann"),
        ("memory", "search", "tea", "--person", "discord:ann"),
        ("memory", "search", "tea", "--person", "console:ann", "--audience", "everyone"),
        ("memory", "export", "--person", ""),
        ("memory", "erase", "--person", "ann", "--yes"),
        ("chat", "--as", "two words"),
        ("chat", "--as", "half\udcff"),
        ("chat", "--as", "ann", "--audience", "everyone"),
        ("chat", "--as", "ann", "--data-dir", "/dev/null/here"),
    ],
)
def test_a_mistake_is_one_sentence_on_standard_error_and_exit_code_1(
    keepsake: Command, arguments: tuple[str, ...]
) -> None:
    ended = keepsake(*arguments)
    lines = [line for line in ended.err.splitlines() if "ANTHROPIC_API_KEY" not in line]
    assert (ended.code, ended.out, len(lines)) == (1, "", 1)
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments", [("remember",), ("memory", "show"), ("chat", "--loud"), ("memory", "search", "--person", "console:a")]
)
def test_wrong_use_is_exit_code_2(keepsake: Command, arguments: tuple[str, ...]) -> None:
    ended = keepsake(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "Usage" in ended.err


def test_wrong_settings_are_named_all_at_once_without_a_secret(keepsake: Command) -> None:
    ended = keepsake(
        "chat", PORT="high", EVICTION_THRESHOLD="7", SLACK_APP_TOKEN="xapp-private", ANTHROPIC_BASE_URL="nowhere"
    )
    assert (ended.code, ended.out) == (1, "")
    for name in ("PORT", "EVICTION_THRESHOLD", "SLACK_BOT_TOKEN", "ANTHROPIC_BASE_URL"):
        assert f"\n  {name}: " in ended.err
    assert "private" not in ended.err


def test_a_database_address_that_is_none_is_a_sentence_without_the_address(keepsake: Command) -> None:
    for command in (("memory", "show", "--person", "console:ann"), ("backup", "copy.db"), ("run",)):
        ended = keepsake(*command, DATABASE_URL="secret@@nowhere")
        assert (ended.code, ended.out) == (1, "")
        assert "DATABASE_URL" in ended.err
        assert "secret" not in ended.err


def test_the_doctor_lists_every_mcp_server(keepsake: Command, tmp_path: Path) -> None:
    program = {
        "command": sys.executable,
        "args": ["-m", "tests.doubles.mcp_server"],
        "cwd": str(Path(__file__).parents[2]),
    }
    servers = {"here": {**program, "allow": ["echo"]}, "gone": {"command": "/no/such/program", "allow": ["*"]}}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    shown = keepsake("doctor", "--json", MCP_CONFIG=str(file))
    found = {finding["name"]: finding for finding in json.loads(shown.out)}
    assert (found["MCP here"]["verdict"], found["MCP here"]["sentence"]) == ("ok", "It offers 1 tools.")
    assert (found["MCP gone"]["verdict"], shown.code) == ("failed", 1)
    assert "FileNotFoundError" in found["MCP gone"]["sentence"]


def test_the_doctor_names_a_kind_of_memory_that_cannot_be_searched(kept: Kept, keepsake: Command) -> None:
    data = kept.folder / "data"
    assert keepsake("doctor", "--json", DATA_DIR=str(data)).code == 0
    with closing(sqlite3.connect(data / "keepsake.db")) as connection:
        connection.execute("ALTER TABLE facts RENAME TO lost")
        ill = keepsake("doctor", "--json", DATA_DIR=str(data))
        connection.execute("ALTER TABLE lost RENAME TO facts")
    [found] = [finding for finding in json.loads(ill.out) if finding["name"] == "sources"]
    assert (ill.code, found["verdict"]) == (1, "failed")
    assert found["sentence"].startswith("Could not be searched: fact")


@contextmanager
def full_disk(database: Path) -> Iterator[None]:
    """No file can grow, while the bot holds the database open: what it has beside it is there already."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(sqlite3.connect(database)) as held:
        held.execute("SELECT count(*) FROM messages").fetchall()
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_on_a_full_disk_what_is_kept_can_be_read_and_the_doctor_says_that_nothing_can_be_written(
    kept: Kept, keepsake: Command, tmp_path: Path
) -> None:
    data = tmp_path / "copy"
    shutil.copytree(kept.folder / "data", data)
    where = ("--person", "console:ann", "--data-dir", str(data))
    with full_disk(data / "keepsake.db"):
        shown = keepsake("memory", "show", *where)
        ill = keepsake("doctor", "--json", "--data-dir", str(data))
        lost = keepsake("memory", "store", "--text", "Tea.", "--audience", "dm", *where)
    assert shown.code == 0
    assert "heard by dm" in shown.out
    assert "The audit log of console:ann could not be written. The database cannot be used:" in shown.err
    [finding] = [one for one in json.loads(ill.out) if one["name"] == "database"]
    assert finding["verdict"] == "failed"
    assert "have room" in finding["sentence"]
    assert (lost.code, lost.out) == (1, "")
    assert "to another disk to look at it" in lost.err


def test_the_doctor_says_in_its_exit_code_whether_the_bot_can_work(keepsake: Command) -> None:
    well = keepsake("doctor", "--json")
    assert well.code == 0
    assert {finding["name"] for finding in json.loads(well.out)} >= {"database", "embedder", "window", "Slack"}
    ill = keepsake("doctor", SLACK_BOT_TOKEN="not-a-bot-token", SLACK_SIGNING_SECRET="s", DATA_DIR="[/data]")
    assert ill.code == 1
    assert "xoxb-" in ill.out
    assert "not-a-bot-token" not in ill.out + ill.err


def test_a_chat_ends_when_nobody_reads_its_replies(tmp_path: Path) -> None:
    with forked_keepsake("chat", "--as", "ann", folder=tmp_path, settings=environment()) as process:
        process.stdin.write("Hello\n" * 20)
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 1
        assert "Traceback" not in process.stderr.read()
