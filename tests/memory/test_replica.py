"""The copy of the mirror: versions of records are appended, the newest counts, and nothing is kept twice.

SQLite itself stands in for the library, whose statements are the same; the exchange with a server is in
``tests/scenarios/test_mirror.py``.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator
from typing import Any, cast

import pytest

from memory.errors import MirrorUnavailable
from memory.mirror.replica import COLD, CRITICAL, ERASED, Replica, Row, digest_of
from memory.mirror.worker import Worker, frame_of, read_frame, write_frame

FACTS, ENTRIES = "mirrored_facts", "mirrored_entries"
AGENT = "console_3aann_2fdm"
ENTRY = {
    "text": "Moved to Oslo.",
    "category": "life",
    "importance": 0.5,
    "created_at": "2026-03-02T09:00:00+00:00",
    "access_count": 2,
    "tier": "cold",
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@pytest.fixture
def replica(connection: sqlite3.Connection) -> Replica:
    replica = Replica(cast("Any", connection), (CRITICAL, FACTS, ENTRIES, COLD))
    replica.make_tables()
    return replica


def row(seq: int, data: dict[str, Any] | None, *, table: str = FACTS, record: str = "[1]", **more: Any) -> Row:
    origin = {"agent_id": AGENT, "device": "a", "updated_at": seq * 10}
    return {"table": table, "record": record, "seq": seq, "data": data, **origin, **more}


def held(replica: Replica, table: str = FACTS) -> list[Any]:
    return [found["data"] for found in replica.since(table, {}, limit=100)]


def test_a_newer_version_takes_the_place_of_those_before(replica: Replica) -> None:
    assert replica.append([row(1, {"text": "Tea"}), row(2, {"text": "Coffee"})]) == 2
    assert replica.append([row(3, {"text": "Coffee"})]) == 0
    assert held(replica) == [{"text": "Coffee"}]
    assert replica.unseen({})[FACTS] == 1


def test_of_two_versions_by_two_devices_the_later_one_is_read(replica: Replica, connection: sqlite3.Connection) -> None:
    replica.append([row(1, {"text": "Tea"})])
    late = row(5, {"text": "Coffee"}, device="b", updated_at=3)  # pushed later, changed earlier
    other = Replica(cast("Any", connection), (FACTS,))
    connection.execute("UPDATE mirrored_facts SET record = 'aside'")
    other.append([late])
    connection.execute("UPDATE mirrored_facts SET record = '[1]'")
    assert held(replica) == [{"text": "Tea"}]


def test_only_what_a_device_has_not_seen_is_read_in_the_order_it_was_told(replica: Replica) -> None:
    replica.append([row(number, {"number": number}, record=f"[{number}]") for number in range(1, 6)])
    replica.append([row(9, {"number": 9}, record="[9]", device="b")])
    found = replica.since(FACTS, {"a": 3}, limit=2)
    assert [one["data"]["number"] for one in found] == [4, 5]
    assert [one["data"]["number"] for one in replica.since(FACTS, {"a": 5}, limit=9)] == [9]
    assert replica.unseen({FACTS: {"a": 5, "b": 9}})[FACTS] == 0


def test_a_deletion_is_told_only_of_what_was_known(replica: Replica) -> None:
    assert replica.append([row(1, None)]) == 0
    replica.append([row(2, {"text": "Tea"}), row(3, None)])
    assert held(replica) == [None]


def test_the_archive_is_kept_in_columns_and_comes_back_as_it_was(
    replica: Replica, connection: sqlite3.Connection
) -> None:
    replica.append([row(1, ENTRY, table=COLD, beside=ENTRIES)])
    columns = "agent_id, text, category, importance, created_at, access_count"
    assert connection.execute(f"SELECT {columns} FROM cold_memories").fetchall() == [
        (AGENT, "Moved to Oslo.", "life", 0.5, 1_772_442_000_000, 2)
    ]
    assert held(replica, COLD) == [ENTRY]


def test_an_entry_stands_in_one_of_the_two_tables(replica: Replica) -> None:
    warm = ENTRY | {"tier": "warm"}
    replica.append([row(1, warm, table=ENTRIES, beside=COLD)])
    replica.append([row(2, ENTRY, table=COLD, beside=ENTRIES)])
    assert (held(replica, ENTRIES), held(replica, COLD)) == ([], [ENTRY])
    replica.append([row(3, warm, table=ENTRIES, beside=COLD)])
    assert (held(replica, ENTRIES), held(replica, COLD)) == ([warm], [])
    replica.append([row(4, ENTRY, table=COLD, beside=ENTRIES)])
    replica.append([row(5, None, table=ENTRIES, beside=COLD)])
    assert (held(replica, ENTRIES), held(replica, COLD)) == ([None], [])


def erasure(seq: int, *, device: str = "a", follows: bool = False) -> Row:
    record, data = f"{device} {follows}", {"follows": follows, "number": seq}
    return row(seq, data, table=ERASED, record=record, agent_id=digest_of(AGENT), device=device)


def test_an_erasure_takes_what_is_older_of_that_agent_alone(replica: Replica) -> None:
    replica.append([row(1, {"text": "Tea"}), row(9, {"text": "New"}, record="[2]")])
    replica.append([row(2, {"text": "Ben"}, agent_id="console_3aben_2fdm")])
    replica.erase([erasure(5)])
    assert held(replica) == [{"text": "Ben"}, {"text": "New"}]
    [told] = replica.since(ERASED, {}, limit=9)
    assert (told["agent_id"], AGENT in str(told)) == (digest_of(AGENT), False)


def test_of_somebody_erased_a_device_is_heard_from_its_own_word_of_it_on(replica: Replica) -> None:
    replica.append([row(900, {"text": "Tea"}, device="ahead")])
    replica.erase([erasure(5)])
    assert held(replica) == []
    replica.append([row(901, {"text": "Tea"}, device="ahead"), row(6, {"text": "New"}, record="[2]")])
    assert held(replica) == [{"text": "New"}, None]
    assert held(replica) == [{"text": "New"}]
    replica.append([row(902, {"text": "Tea"}, device="ahead"), row(1, {"text": "Milk"}, record="[3]", device="behind")])
    replica.erase([erasure(903, device="ahead", follows=True), erasure(2, device="behind", follows=True)])
    replica.append([row(904, {"text": "Oats"}, device="ahead"), row(3, {"text": "Rye"}, record="[3]", device="behind")])
    assert held(replica) == [{"text": "Rye"}, {"text": "New"}, {"text": "Oats"}]


def test_the_erasure_of_a_person_takes_all_agents_of_that_person(replica: Replica) -> None:
    public, ben = "console_3aann_2fguild_3a1", "console_3aben_2fdm"
    replica.append([row(1, {"text": "Tea"}), row(2, {"text": "Milk"}, agent_id=public, record="[2]")])
    replica.append([row(3, {"text": "Ben"}, agent_id=ben)])
    replica.erase([erasure(5) | {"agent_id": digest_of("console_3aann_2f")}])
    assert held(replica) == [{"text": "Ben"}]
    replica.append([row(6, {"text": "Late"}, agent_id=public, record="[3]", device="b")])
    assert held(replica) == [{"text": "Ben"}, None]
    replica.append([row(7, {"text": "New"}, agent_id=public, record="[4]")])
    assert held(replica) == [{"text": "Ben"}, {"text": "New"}]


def test_who_is_erased_again_is_erased_again_elsewhere(replica: Replica) -> None:
    replica.erase([erasure(5)])
    replica.erase([erasure(8, device="b", follows=True)])
    replica.erase([erasure(9)])
    assert [told["seq"] for told in replica.since(ERASED, {"a": 5}, limit=9)] == [8, 9]


def test_rows_that_somebody_else_put_there_are_of_no_harm(replica: Replica, connection: sqlite3.Connection) -> None:
    replica.append([row(1, {"text": "Tea"}), row(2, {"text": "Milk"}, record="[2]")])
    replica.append([row(3, ENTRY, table=COLD)])
    connection.execute("UPDATE mirrored_facts SET data = '{' WHERE seq = 2")
    connection.execute("UPDATE cold_memories SET created_at = 'long ago'")
    for column, value in (("seq", "'soon'"), ("updated_at", "'soon'"), ("record", "x'ff'"), ("agent_id", "x'ff'")):
        columns = {"id": f"'{column}'", "agent_id": "'x'", "data": "'[]'", "updated_at": "1", "record": "'[3]'"}
        columns |= {"device": "'a'", "seq": "9"} | {column: value}
        connection.execute(f"INSERT INTO mirrored_facts ({','.join(columns)}) VALUES ({','.join(columns.values())})")
    assert held(replica) == [{"text": "Tea"}, ""]
    assert held(replica, COLD) == [""]
    replica.erase([erasure(5)])
    assert held(replica) == []


@pytest.mark.parametrize(("archived_at", "entries", "archive"), [(30, [None], []), (70, [], [ENTRY])])
def test_of_an_entry_that_one_device_deleted_and_another_archived_the_later_word_counts(
    replica: Replica, connection: sqlite3.Connection, archived_at: int, entries: list[Any], archive: list[Any]
) -> None:
    replica.append([row(2, ENTRY, table=ENTRIES), row(5, None, table=ENTRIES)])
    other = Replica(cast("Any", connection), (COLD,))
    other.append([row(3, ENTRY, table=COLD, device="b", updated_at=archived_at)])
    assert held(replica, ENTRIES) == entries
    assert held(replica, COLD) == archive
    with replica.register() as register:
        register.write(mirror="m", device="a", seen={ENTRIES: {"a": 5}, COLD: {"b": 3}}, at=1)
        register.tidy(away_since=0)
    assert held(replica, ENTRIES) == []
    assert held(replica, COLD) == archive


def test_the_tables_that_others_read_have_the_columns_they_expect(
    replica: Replica, connection: sqlite3.Connection
) -> None:
    columns = {name: kind for _, name, kind, *_ in connection.execute("PRAGMA table_info(cold_memories)")}
    assert columns.items() >= {"id": "TEXT", "text": "TEXT", "importance": "REAL", "created_at": "INTEGER"}.items()
    critical = {name: kind for _, name, kind, *_ in connection.execute("PRAGMA table_info(critical_state)")}
    assert critical.items() >= {"agent_id": "TEXT", "data": "TEXT", "updated_at": "INTEGER"}.items()
    [(_, plan)] = [
        (found[0], found[-1])
        for found in connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM cold_memories WHERE agent_id = 'a' AND category = 'life'"
        )
    ]
    assert "cold_memories_by_category" in plan


def test_a_frame_holds_whatever_people_write() -> None:
    stream = io.BytesIO()
    write_frame(stream, {"text": "Ещё ёлка \ud800"})
    stream.seek(0)
    assert read_frame(stream) == {"text": "Ещё ёлка ?"}
    assert read_frame(stream) is None
    assert read_frame(io.BytesIO(frame_of({})[:3])) is None


def test_a_worker_that_was_not_told_where_the_mirror_is_says_so() -> None:
    with pytest.raises(MirrorUnavailable, match="not open"):
        Worker().answer({"do": "exchange"})
