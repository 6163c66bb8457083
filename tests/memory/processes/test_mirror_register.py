"""Marks of deleted rows go once every device knows of them, and who was away longer learns of them all the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from structlog.testing import capture_logs

from memory.records import ChannelMode, Scope
from memory.stores.parameter_changes import ParameterChange
from tests.doubles.mirror_device import Device, opened
from tests.fakes import START, FakeClock

ANN = Scope(person="console:ann", audience="dm")
TEA, CHESS = 1, 2
ROOM, SERVER = "discord:12", "guild:1"


async def save(device: Device, text: str, *, source: int) -> None:
    async with device.database.transaction() as tx:
        await device.stores.archival.insert(ANN, tx, content=text, source_message=source)


async def delete(device: Device, *, source: int) -> None:
    async with device.database.transaction() as tx:
        await device.stores.archival.withdraw(ANN, tx, source_message=source)


async def allow(device: Device, *, turns: int) -> None:
    limit = {"community": SERVER, "name": "turns", "value": turns, "actor": "discord:1", "at": START}
    async with device.database.transaction() as tx:
        await device.stores.limits.choose(tx, **limit)


async def saved(device: Device) -> list[str]:
    return [passage.content for passage in await device.stores.archival.all(ANN)]


async def exchange(*devices: Device) -> None:
    for device in devices:
        await device.mirror.exchange()


def marks(folder: Path, hosted: str = "shared.db") -> int:
    with closing(sqlite3.connect(folder / hosted)) as connection:
        return int(connection.execute("SELECT count(*) FROM mirrored_archival WHERE data IS NULL").fetchone()[0])


async def test_a_mark_goes_once_every_device_has_seen_it(tmp_path: Path) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        one, other, third = [await opened(tmp_path, name, clock, stack) for name in range(3)]
        await save(one, "Tea", source=TEA)
        await exchange(one, other, third)
        await delete(one, source=TEA)
        await exchange(one, other)
        for _ in range(3):
            clock.advance(days=1, minutes=1)
            await exchange(one, other)
            assert marks(tmp_path) == 1  # the third has not looked
        await exchange(third)
        assert [await saved(device) for device in (one, other, third)] == [[], [], []]
        for _ in range(2):
            clock.advance(days=1, minutes=1)
            await exchange(other, third, one)
        assert marks(tmp_path) == 0
        await exchange(other, third)
        assert [await saved(device) for device in (one, other, third)] == [[], [], []]


async def test_a_device_that_is_away_for_a_month_keeps_no_mark_and_comes_back_without_what_was_deleted(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        one, away = [await opened(tmp_path, name, clock, stack) for name in (0, 1)]
        await save(one, "Tea", source=TEA)
        await save(one, "Chess", source=CHESS)
        await exchange(one, away)
        await save(away, "Said meanwhile", source=3)
        await delete(one, source=TEA)
        for left in (1, 1, 0):
            await exchange(one)
            assert marks(tmp_path) == left
            clock.advance(days=16)
        await save(one, "Rain", source=4)
        await exchange(one, away, one)
        for device in (one, away):
            assert sorted(await saved(device)) == ["Chess", "Rain", "Said meanwhile"]
        with capture_logs() as logged:
            await exchange(away, one)
        assert "mirror_compared" not in {line["event"] for line in logged}


async def test_much_that_was_deleted_meanwhile_goes_in_several_transactions_for_which_nobody_waits_long(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    together: list[int] = []

    def note(_connection: object, _cursor: object, statement: str, values: Sequence[object], *_: object) -> None:
        if statement.startswith("DELETE FROM passages"):
            together.append(len(values) - 2)  # without the person and the audience

    async with AsyncExitStack() as stack:
        one, away = [await opened(tmp_path, name, clock, stack) for name in (0, 1)]
        async with one.database.transaction() as tx:
            for number in range(210):
                await one.stores.archival.insert(ANN, tx, content=f"Tea {number}", source_message=TEA)
        await exchange(one, away)
        await delete(one, source=TEA)
        for _ in range(3):
            await exchange(one)
            clock.advance(days=16)
        event.listen(Engine, "before_cursor_execute", note)
        try:
            await exchange(away)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        assert await saved(away) == []
    assert together == [200, 10]


async def test_a_database_that_comes_from_a_backup_learns_what_was_deleted_since(tmp_path: Path) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        other = await opened(tmp_path, 1, clock, stack)
        async with AsyncExitStack() as run:
            one = await opened(tmp_path, 0, clock, run)
            await save(one, "Tea", source=TEA)
            await exchange(one, other)
        backup = (tmp_path / "0" / "keepsake.db").read_bytes()
        async with AsyncExitStack() as run:
            one = await opened(tmp_path, 0, clock, run)
            await delete(one, source=TEA)
            for _ in range(4):
                await exchange(one, other)
                clock.advance(days=1, minutes=1)
        assert marks(tmp_path) == 0
        (tmp_path / "0" / "keepsake.db").write_bytes(backup)
        one = await opened(tmp_path, 0, clock, stack)
        assert await saved(one) == ["Tea"]
        await exchange(one)
        assert await saved(one) == []


async def test_another_hosted_database_is_told_everything_and_deletes_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        async with AsyncExitStack() as run:
            one, other = [await opened(tmp_path, name, clock, run) for name in (0, 1)]
            await save(one, "Tea", source=TEA)
            await allow(one, turns=5)
            await exchange(one, other)
            await allow(one, turns=9)
        moved = [await opened(tmp_path, name, clock, stack, hosted="new.db") for name in (0, 1)]
        new = await opened(tmp_path, 2, clock, stack, hosted="new.db")
        await exchange(*moved, new)
        for device in (*moved, new):
            assert await saved(device) == ["Tea"]
            assert await device.stores.limits.of(SERVER) == {"turns": 9}


@pytest.mark.parametrize("registered", [True, False])
async def test_a_hosted_database_that_was_put_back_to_an_earlier_day_is_told_everything_and_deletes_nothing(
    tmp_path: Path, registered: bool
) -> None:
    clock, hosted = FakeClock(), tmp_path / "shared.db"
    async with AsyncExitStack() as run:
        one, other = [await opened(tmp_path, name, clock, run) for name in (0, 1)]
        await exchange(*((one, other) if registered else (other,)))
    earlier = hosted.read_bytes()
    clock.advance(days=2)
    async with AsyncExitStack() as run:
        one = await opened(tmp_path, 0, clock, run)
        await save(one, "Tea", source=TEA)
        await exchange(one)
    hosted.write_bytes(earlier)
    async with AsyncExitStack() as stack:
        one, new = [await opened(tmp_path, name, clock, stack) for name in (0, 2)]
        await exchange(one, new)
        for device in (one, new):
            assert await saved(device) == ["Tea"]


async def test_a_word_that_somebody_else_put_into_the_register_is_of_no_harm(tmp_path: Path) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        one = await opened(tmp_path, 0, clock, stack)
        await save(one, "Tea", source=TEA)
        await exchange(one)
        with closing(sqlite3.connect(tmp_path / "shared.db")) as connection, connection:
            for number, word in enumerate((None, "{", "[1]", '{"mirrored_archival": {"x": "soon"}}')):
                values = (str(number), f"stranger{number}", word, 10**13)
                connection.execute("INSERT INTO mirror_devices VALUES (?, ?, ?, ?)", values)
        await delete(one, source=TEA)
        for _ in range(3):
            await exchange(one)
            clock.advance(days=1, minutes=1)
        assert marks(tmp_path) == 1


async def test_settings_of_channels_servers_and_the_installation_come_to_a_new_machine(tmp_path: Path) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        one, other = [await opened(tmp_path, name, clock, stack) for name in (0, 1)]
        stores, now = one.stores, clock.now()
        async with one.database.transaction() as tx:
            await stores.channels.choose(tx, conversation=ROOM, community=SERVER, mode=ChannelMode.OPEN)
            await stores.channels.silence(tx, conversation="discord:13", community=SERVER, at=now)
            for name, value in (("turns", 5), ("tokens", 10**17)):
                await stores.limits.choose(tx, community=SERVER, name=name, value=value, actor="discord:1", at=now)
            change = ParameterChange(name="journal_limit", value="7", changed_at=now, actor="console:ann")
            await stores.parameter_changes.add(tx, change)
            await stores.preferences.set_zone(ANN, tx, name="Asia/Tokyo")
        await exchange(one, other)
        assert (await other.stores.channels.load(ROOM)).mode is ChannelMode.OPEN
        assert (await other.stores.channels.load("discord:13")).silenced
        assert await other.stores.limits.of(SERVER) == {"turns": 5, "tokens": 10**17}
        assert await other.stores.parameter_changes.in_force() == {"journal_limit": change}
        assert (await other.stores.preferences.zone(ANN)).key == "Asia/Tokyo"
        async with other.database.transaction() as tx:
            await other.stores.limits.choose(tx, community=SERVER, name="turns", value=None, actor="discord:1", at=now)
            await other.stores.channels.unsilence(tx, conversation="discord:13", parent=None)
        await exchange(other, one)
        assert await stores.limits.of(SERVER) == {"tokens": 10**17}
        assert not (await stores.channels.load("discord:13")).silenced
