"""Export and erasure: everything of one person, nothing of anybody else."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Float, Integer, LargeBinary, String, Table, insert, select
from structlog.testing import capture_logs

from memory.channel_talk import ChannelTalk
from memory.database import Database
from memory.errors import InvalidInput
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.messages import Message, Role, TextPart, ToolCall, ToolResult, user_message
from memory.note_files import NoteFiles
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_person
from memory.privacy import ErasureReceipt, Privacy
from memory.records import HUMAN, Candidate, Change, NewMessage, Scope
from memory.schema import PERSONAL_TABLES, UtcDateTime, inbox
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter

# One name is the beginning of the other, and one would continue with its audience to the other's.
ANN = Scope(person="console:ann", audience="dm")
ANN_IN_PUBLIC = Scope(person="console:ann", audience="guild:1")
ANNA = Scope(person="console:anna", audience="dm")
ANNDM = Scope(person="console:anndm", audience="dm")


class House:
    """The whole memory system, with a second way into its database."""

    def __init__(self, database: Database, system: MemorySystem) -> None:
        self.database = database
        self.privacy = system.privacy
        self.sessions = system.stores.sessions
        self.recall = system.stores.recall
        self.blocks = system.stores.blocks
        self.archival = system.stores.archival
        self.facts = system.stores.facts
        self.journal = system.stores.journal
        self.inbox = system.stores.inbox
        self.search = system.stores.search
        self.closures = system.stores.closures

    async def live_in(self, scope: Scope, words: Iterator[str]) -> None:
        """Put a word into everything that can be remembered of a person."""
        change = Change(actor="agent", reason=f"because {next(words)}")
        async with self.database.transaction() as tx:
            session = await self.sessions.start(
                scope, tx, conversation=f"here:{next(words)}", community=None, at=START, window_summary=next(words)
            )
            call = ToolCall(id="t", name="archival_search", arguments={"query": next(words)})
            result = ToolResult(call_id="t", name="archival_search", content=next(words))
            said = user_message(f"We spoke of {next(words)} and {next(words)}.")
            called = Message(role=Role.ASSISTANT, parts=(TextPart(text=f"Of {next(words)}?"), call))
            answered = Message(role=Role.USER, parts=(result,))
            await self.recall.append(
                scope,
                tx,
                session=session,
                messages=[
                    NewMessage(message=message, author=next(words), sent_at=START, platform_id=next(words))
                    for message in (said, called, answered)
                ],
                at=START,
            )
            for text in (f"Likes {next(words)}.", f"Owns a {next(words)}."):
                await self.blocks.append(scope, tx, label=HUMAN, text=text, change=change, at=START)
            await self.blocks.replace(scope, tx, label=HUMAN, old="Likes", new="Hates", change=change, at=START)
            await self.archival.insert(scope, tx, content=f"A note on {next(words)}", metadata={"url": next(words)})
            for retired in (True, False):
                said = Candidate(text=f"Lives in {next(words)}", subject="user", object=next(words))
                fact = await self.facts.add(scope, tx, candidate=said, change=change, at=START)
                assert fact is not None
                if retired:
                    await self.facts.supersede(scope, tx, fact_id=fact.id, change=change, at=START)
            await self.journal.add(scope, tx, text=f"Went to {next(words)}", change=change, at=START)
        item = await self.inbox.accept(
            scope,
            conversation=next(words),
            platform_id=next(words),
            payload=json.dumps({"person": scope.person, "text": next(words)}),
            at=START,
        )
        assert item is not None
        async with self.database.transaction() as tx:
            reply = f"I see: {next(words)}"
            await self.inbox.claim(scope, tx, item=item, reply=reply, process="one", now=START, until=START)
        await self.search.embed_pending()
        await self.archival.search(scope, reach_of_person(scope.person), "note", limit=1)

    async def furnish(self, scope: Scope, words: Iterator[str]) -> None:
        """Put a row of words into every table that holds none of this person."""
        rows = await self.rows_of(scope)
        async with self.database.transaction() as tx:
            for table in PERSONAL_TABLES:
                if not rows[table.name]:
                    await tx.connection.execute(insert(table).values(**a_row(table, scope, words)))

    async def open_again(self, scope: Scope) -> None:
        """Let a scope be read that ``furnish`` has closed by its row in that table, too."""
        async with self.database.transaction() as tx:
            await self.closures.erase(scope, tx)

    async def rows_of(self, scope: Scope) -> dict[str, list[tuple[Any, ...]]]:
        rows = {}
        async with self.database.read() as connection:
            for table in PERSONAL_TABLES:
                owned = select(table).where(table.c.person == scope.person).order_by(*table.primary_key)
                rows[table.name] = [tuple(row) for row in await connection.execute(owned)]
        return rows

    def bytes_on_disk(self) -> bytes:
        path = self.database.file
        assert path is not None
        files = [path.with_name(path.name + end) for end in ("", "-wal", "-journal")]
        return b"".join(file.read_bytes() for file in files if file.exists()).lower()


def a_row(table: Table, scope: Scope, words: Iterator[str]) -> dict[str, Any]:
    """A row with a word in every column that takes text, and something in every other that needs it."""
    values: dict[type, Callable[[], Any]] = {
        UtcDateTime: lambda: START,
        Boolean: lambda: False,
        Float: lambda: 0.5,
        Integer: lambda: next(NUMBERS),
        JSON: lambda: {"word": next(words)},
        LargeBinary: lambda: b"",
        String: lambda: next(words),
    }
    row = {"person": scope.person, "audience": scope.audience}
    others = {
        column.name: next(value() for kind, value in values.items() if isinstance(column.type, kind))
        for column in table.columns
        if column.name not in row and (not column.nullable or isinstance(column.type, String))
    }
    return row | others


NUMBERS = count(1)


@dataclass
class Canaries:
    """Words that stand nowhere else: nothing is shared between two of them, not even a beginning."""

    used: list[str]

    def __iter__(self) -> Iterator[str]:
        for number in count(len(self.used)):
            digest = hashlib.blake2b(str(number).encode(), digest_size=10).hexdigest()
            self.used.append("".join(chr(ord("g") + int(digit, 16)) for digit in digest))
            yield self.used[-1]


@pytest.fixture
async def house(database: Database, clock: FakeClock) -> AsyncIterator[House]:
    assert database.file is not None
    async with open_memory(
        database_url=f"sqlite:///{database.file}",
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(),
        parameters=MemoryParameters(),
        clock=clock,
    ) as system:
        yield House(database, system)


def zeros(receipt: ErasureReceipt) -> bool:
    return not any(receipt.rows.values()) and receipt.residue == 0 and receipt.where == ()


async def test_an_erased_person_is_nowhere_in_the_files_and_neighbours_are_untouched(house: House) -> None:
    canaries = Canaries([])
    for scope in (ANN, ANN_IN_PUBLIC):
        await house.live_in(scope, iter(canaries))
        await house.furnish(scope, iter(canaries))
    await house.live_in(ANNA, iter(Canaries(["unused"] * 500)))
    await house.furnish(ANNA, iter(Canaries(["unused"] * 700)))
    before = await house.rows_of(ANNA)
    on_disk = house.bytes_on_disk()
    assert all(word.encode() in on_disk for word in canaries.used)

    receipt = await house.privacy.erase(ANN.person)

    on_disk = house.bytes_on_disk()
    assert [word for word in canaries.used if word[4:14].encode() in on_disk] == []  # a part: indexes shorten words
    assert b"console:ann" not in on_disk.replace(b"console:anna", b"")
    assert (receipt.residue, receipt.where) == (0, ())
    assert receipt.pieces > 50
    assert all(receipt.rows[table.name] > 0 for table in PERSONAL_TABLES)
    assert receipt.files["keepsake.db"] > 0
    assert await house.rows_of(ANNA) == before
    await house.open_again(ANNA)
    assert await house.recall.search(reach_of_person(ANNA.person), "spoke", limit=5, evicted_only=False)
    assert await house.privacy.scopes_of(ANN.person) == []


async def test_a_person_whose_key_reads_like_anothers_key_and_audience_stays(house: House) -> None:
    await house.live_in(ANN, iter(Canaries([])))
    await house.live_in(ANNDM, iter(Canaries(["unused"] * 500)))
    before = await house.rows_of(ANNDM)
    receipt = await house.privacy.erase(ANN.person)
    assert receipt.residue == 0
    assert await house.rows_of(ANNDM) == before


async def test_every_table_is_owned_by_a_store_that_erases_it(house: House) -> None:
    words = iter(Canaries([]))
    async with house.database.transaction() as tx:
        for table in PERSONAL_TABLES:
            for scope in (ANN, ANN_IN_PUBLIC, ANNA):
                await tx.connection.execute(insert(table).values(**a_row(table, scope, words)))
    assert await house.privacy.scopes_of(ANN.person) == [ANN, ANN_IN_PUBLIC]
    receipt = await house.privacy.erase(ANN.person)
    assert await house.rows_of(ANN) == {table.name: [] for table in PERSONAL_TABLES}
    assert receipt.rows == {table.name: 2 for table in PERSONAL_TABLES}
    assert all(len(rows) == 1 for rows in (await house.rows_of(ANNA)).values())


async def test_a_row_in_any_table_makes_its_scope_known(house: House) -> None:
    scopes = {table: Scope(person=f"console:{table.name}", audience="guild:1") for table in PERSONAL_TABLES}
    async with house.database.transaction() as tx:
        for table, scope in scopes.items():
            await tx.connection.execute(insert(table).values(**a_row(table, scope, iter(Canaries([])))))
    for scope in scopes.values():
        assert await house.privacy.scopes_of(scope.person) == [scope]


async def test_erasing_twice_or_somebody_unknown_gives_a_receipt_of_zeros(house: House) -> None:
    await house.live_in(ANNA, iter(Canaries([])))
    before = await house.rows_of(ANNA)
    for person in ("console:nobody", ANN.person):
        receipt = await house.privacy.erase(person)
        assert zeros(receipt)
        assert (receipt.person, receipt.erased_at) == (person, START)
    assert await house.rows_of(ANNA) == before


@pytest.mark.parametrize("person", ["", "console:", "ann", "%", "discord:*"])
async def test_a_malformed_person_is_refused_and_nothing_is_erased(house: House, person: str) -> None:
    await house.live_in(ANN, iter(Canaries([])))
    before = await house.rows_of(ANN)
    for ask in (house.privacy.erase, house.privacy.export, house.privacy.scopes_of):
        with pytest.raises(InvalidInput):
            await ask(person)
    assert await house.rows_of(ANN) == before


async def test_nothing_is_left_in_the_gaps_of_pages_that_others_live_in(house: House) -> None:
    """Deleting alone leaves parts of long keys behind, where SQLite moved entries of an index between pages."""
    words = iter(Canaries([]))
    order = random.Random(0)
    said: dict[Scope, list[str]] = {ANN: [], ANNA: []}
    rows = []
    for _ in range(300):
        scope = order.choice([ANN, ANNA])
        key = " ".join(next(words) for _ in range(order.randint(1, 30)))
        said[scope] += key.split()
        rows.append({**a_row(inbox, scope, words), "conversation": key})
    order.shuffle(rows)
    async with house.database.transaction() as tx:
        await tx.connection.execute(insert(inbox), rows)
    receipt = await house.privacy.erase(ANN.person)
    assert receipt.rewritten
    on_disk = house.bytes_on_disk()
    assert [word for word in said[ANN] if word[4:14].encode() in on_disk] == []
    assert b"console:ann" not in on_disk.replace(b"console:anna", b"")
    assert all(word.encode() in on_disk for word in said[ANNA])


TREASURE = "The treasure lies under the old oak"


async def test_a_copy_that_was_deleted_carelessly_is_cleaned_up_as_well(house: House, tmp_path: Path) -> None:
    async with house.database.transaction() as tx:
        await house.archival.insert(ANN, tx, content=TREASURE)
    with closing(sqlite3.connect(tmp_path / "keepsake.db")) as careless:
        careless.executescript(
            f"PRAGMA secure_delete = OFF; CREATE TABLE copy (text); INSERT INTO copy VALUES ('{TREASURE}');"
            "DELETE FROM copy;"
        )
    assert b"treasure lies" in house.bytes_on_disk()
    receipt = await house.privacy.erase(ANN.person)
    assert (receipt.residue, receipt.rewritten) == (0, True)
    assert b"treasure lies" not in house.bytes_on_disk()


async def test_what_cannot_be_erased_is_reported_with_its_place(house: House, tmp_path: Path) -> None:
    async with house.database.transaction() as tx:
        await house.archival.insert(ANN, tx, content=TREASURE)
    with closing(sqlite3.connect(tmp_path / "keepsake.db")) as stranger:
        stranger.executescript(f"CREATE TABLE copy (text); INSERT INTO copy VALUES ('{TREASURE}');")
    receipt = await house.privacy.erase(ANN.person)
    assert receipt.residue == len(receipt.where) > 0
    places = [place.partition(" at byte ") for place in receipt.where]
    assert {name for name, _, _ in places} == {"keepsake.db"}
    on_disk = (tmp_path / "keepsake.db").read_bytes()
    assert all(on_disk[int(offset) : int(offset) + 6].decode() in TREASURE for _, _, offset in places)


async def test_the_same_sentence_in_somebody_elses_row_is_no_residue(house: House) -> None:
    for scope in (ANN, ANNA):
        async with house.database.transaction() as tx:
            await house.archival.insert(
                scope, tx, content="Extraordinary kumquats grow in Zanzibar", metadata={"place": "Zanzibar town"}
            )
    receipt = await house.privacy.erase(ANN.person)
    assert receipt.rows["passages"] == 1
    assert receipt.residue == 0
    assert len(await house.archival.search(ANNA, reach_of_person(ANNA.person), "kumquats", limit=5)) == 1


async def test_a_failing_erasure_erases_nothing(house: House, clock: FakeClock) -> None:
    await house.live_in(ANN, iter(Canaries([])))
    before = await house.rows_of(ANN)

    class Broken:
        name = "broken"

        async def export(self, scope: Scope) -> list[dict[str, Any]]:
            return []

        async def erase(self, scope: Scope, tx: object) -> dict[str, int]:
            raise RuntimeError("power")

    stores = (house.recall, Broken())
    text_index, talk = SqliteTextIndex(), ChannelTalk()
    privacy = Privacy(house.database, stores, text_index, clock, talk=talk, files=NoteFiles(None))
    with pytest.raises(RuntimeError, match="power"):
        await privacy.erase(ANN.person)
    assert await house.rows_of(ANN) == before


async def test_an_erasure_is_logged_by_counts_alone(house: House) -> None:
    await house.live_in(ANN, iter(Canaries([])))
    with capture_logs() as logs:
        await house.privacy.erase(ANN.person)
    [entry] = [log for log in logs if log["event"] == "person_erased"]
    assert (entry["scopes"], entry["residue"]) == (1, 0)
    assert entry["rows"] > 10
    assert "ann" not in repr(entry)


async def test_an_export_is_json_of_everything_of_one_person(house: House) -> None:
    canaries, others = Canaries([]), Canaries(["unused"] * 500)
    for scope in (ANN, ANN_IN_PUBLIC):
        await house.live_in(scope, iter(canaries))
    await house.live_in(ANNA, iter(others))
    export = await house.privacy.export(ANN.person)
    written = json.dumps(export)
    assert [word for word in canaries.used if word not in written] == []
    assert [word for word in others.used[500:] if word in written] == []
    assert (export["person"], export["exported_at"]) == (ANN.person, START.isoformat())
    assert list(export["scopes"]) == ["dm", "guild:1"]
    stores = export["scopes"]["dm"]
    assert set(stores) >= {"sessions", "recall", "blocks", "archival", "facts", "fact_revisions", "journal", "inbox"}
    [said, *_] = stores["recall"]
    assert isinstance(said["id"], str)
    assert said["sent_at"] == START.isoformat()
    assert said["parts"][0]["type"] == "text"


async def test_an_export_of_somebody_unknown_is_empty(house: House) -> None:
    assert (await house.privacy.export("console:nobody"))["scopes"] == {}
