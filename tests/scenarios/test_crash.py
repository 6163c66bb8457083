"""A real process that is killed or told to stop while it answers: nothing accepted is lost or doubled."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.forked import Forked, forked_keepsake
from tests.world import running

LINES = [f"My cat number {number} is called Tom{number}." for number in range(12)]


def chatting(folder: Path) -> AbstractContextManager[Forked]:
    """``keepsake chat`` over pipes; killed at the end where it still runs."""
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    return forked_keepsake("chat", "--as", "ann", "--data-dir", str(folder), folder=folder, settings=environment)


def say(process: Forked, lines: Sequence[str]) -> None:
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def replies(process: Forked, number: int) -> list[str]:
    return [process.stdout.readline().rstrip("\n") for _ in range(number)]


async def recall(folder: Path) -> list[dict[str, Any]]:
    """Everything that was stored, and proof that nothing is left to do."""
    async with running(folder, start=False) as world:
        assert await world.system.stores.inbox.pending() == []
        exported = await world.system.privacy.export("console:ann")
    return [row for scope in exported["scopes"].values() for row in scope.get("recall", [])]


def text_of(row: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in row["parts"] if part["type"] == "text")


def check_file(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("answered", [0, 1, 5])
async def test_after_kill_9_every_accepted_message_is_stored_once_and_answered(tmp_path: Path, answered: int) -> None:
    with chatting(tmp_path) as process:
        process.stderr.readline()  # the notice that it has started
        say(process, LINES)
        before = replies(process, answered)
        process.kill()  # while it opens its database, or answers the next line
        rest = process.stdout.read()
    printed = [*before, *rest.splitlines()]

    with chatting(tmp_path) as process:
        process.stdin.close()
        after = process.stdout.read()
        assert process.wait() == 0, process.stderr.read()

    rows = await recall(tmp_path)
    check_file(tmp_path / "keepsake.db")
    said = Counter(text_of(row) for row in rows if row["role"] == "user" and text_of(row))
    assert set(said.values()) <= {1}
    assert set(LINES[: len(printed)]) <= set(said) <= set(LINES[: len(printed) + 1])
    stored_replies = [text_of(row) for row in rows if row["role"] == "assistant" and text_of(row)]
    assert {*printed, *after.splitlines()} <= set(stored_replies)
    assert {row["exchange_id"] for row in rows if row["role"] == "assistant"} == {row["exchange_id"] for row in rows}


async def test_sigterm_finishes_the_running_turn_and_exits_with_0_although_the_input_is_open(tmp_path: Path) -> None:
    with chatting(tmp_path) as process:
        say(process, LINES)
        before = replies(process, 2)
        process.terminate()
        printed = [*before, *process.stdout.read().splitlines()]
        assert process.wait() == 0
    rows = await recall(tmp_path)
    assert {text_of(row) for row in rows if row["role"] == "user" and text_of(row)} == set(LINES[: len(printed)])
    assert len(printed) < len(LINES)


async def test_sigterm_ends_a_chat_that_waits_for_its_next_line(tmp_path: Path) -> None:
    with chatting(tmp_path) as process:
        say(process, LINES[:1])
        replies(process, 1)
        process.terminate()
        assert process.wait() == 0
    assert len({row["exchange_id"] for row in await recall(tmp_path)}) == 1
