"""What the mirror tells of a scope's hot state and tree is joined with what is here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from memory.database import Database
from memory.ids import IdSource
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.mirror.replica import Row
from memory.opening.stores import open_stores
from memory.parameters import MemoryParameters
from memory.policy.fact_text import text_hash
from memory.policy.hot_state import as_value
from memory.processes.indexer import Indexer
from memory.processes.mirror_taking import MirrorTaking
from memory.records import Change, HotState, NewEntry, Scope, scope_slug
from memory.services import Stores
from memory.stores.mirror_merge import MirrorMerge
from memory.stores.mirrored import CRITICAL, ERASED, STORES
from tests.fakes import START, FakeClock, HashEmbedder, WordTokenCounter

BY_HAND = Change(actor="person", reason="test")


@pytest.fixture
async def stores(database: Database, ids: IdSource, clock: FakeClock) -> Stores:
    stores = open_stores(
        database,
        SqliteTextIndex(),
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        ids=ids,
        parameters=MemoryParameters(),
        clock=clock,
    )
    await stores.mirror_changes.watch(STORES)
    return stores


async def take(database: Database, stores: Stores, scope: Scope, state: datetime | None, nodes: list[str]) -> list[str]:
    """Take in a hot state of a moment and some categories, with nothing to be told before; what is then to be told."""
    async with database.transaction() as tx:
        await stores.mirror_changes.mirrored(tx, await stores.mirror_changes.pending(limit=500))
    at = START.isoformat()
    node: dict[str, Any] = {"description": "", "warm": 0, "cold": 0, "created_at": at, "last_active_at": at}
    version = {"version": 9, "state": as_value(HotState(agent_name="Elsewhere")), **_nobody()}
    data = {
        "hot_state": None if state is None else {**version, "changed_at": state.isoformat()},
        "tree_nodes": [{**node, "path": path} for path in nodes],
        "timestamp": at,
    }
    await taking_in(database, stores).take(CRITICAL, [told(scope, CRITICAL, "[]", data)], {"b": 1}, {})
    assert await stores.mirror_changes.seen() == {CRITICAL: {"b": 1}}
    return [change.store for change in await stores.mirror_changes.pending(limit=500)]


def told(scope: Scope, table: str, record: str, data: object) -> Row:
    row = {"table": table, "agent_id": scope_slug(scope), "record": record, "device": "b", "seq": 1}
    return row | {"updated_at": 10**18, "data": data}


def taking_in(database: Database, stores: Stores) -> MirrorTaking:
    merge = MirrorMerge(stores.imported, blocks=stores.blocks, search=stores.search)
    return MirrorTaking(
        database=database,
        changes=stores.mirror_changes,
        merge=merge,
        hot=stores.hot,
        tree=stores.tree,
        indexer=Indexer(stores.search),
    )


def _nobody() -> dict[str, Any]:
    return {"actor": "system", "reason": "", "source_message": None, "session_id": None, "job": None}


async def write_hot(database: Database, stores: Stores, scope: Scope) -> None:
    async with database.transaction() as tx:
        await stores.hot.write(scope, tx, state=HotState(agent_name="Here"), change=BY_HAND, at=START)


async def test_a_hot_state_that_nothing_stands_against_comes_back_as_it_was(
    database: Database, stores: Stores, ann: Scope
) -> None:
    await take(database, stores, ann, START, [""])
    [row] = await stores.hot.export(ann)
    assert (row["version"], row["state"]["agent_name"], row["changed_at"]) == (9, "Elsewhere", START)


@pytest.mark.parametrize(("hours", "name"), [(1, "Elsewhere"), (0, "Here"), (-1, "Here")])
async def test_the_later_hot_state_is_in_force_and_both_are_kept(
    database: Database, stores: Stores, ann: Scope, hours: int, name: str
) -> None:
    await write_hot(database, stores, ann)
    await take(database, stores, ann, START + timedelta(hours=hours), [""])
    assert (await stores.hot.load(ann)).agent_name == name
    assert len(await stores.hot.versions(ann)) == 1 + (hours > 0)


async def test_a_mirror_that_has_an_older_hot_state_is_told_of_the_one_here(
    database: Database, stores: Stores, ann: Scope
) -> None:
    await write_hot(database, stores, ann)
    assert await take(database, stores, ann, START - timedelta(hours=1), [""]) == [CRITICAL]


async def test_a_mirror_that_lacks_a_category_in_which_something_is_is_told_of_it(
    database: Database, stores: Stores, ann: Scope
) -> None:
    new = NewEntry(text="Moved to Oslo.", created_at=START, importance=0.5, category="home")
    async with database.transaction() as tx:
        await stores.warm.add(ann, tx, new=new, change=BY_HAND, at=START)
    known = list((await stores.tree.load(ann)).nodes)
    assert await take(database, stores, ann, None, known) == []
    assert await take(database, stores, ann, None, [path for path in known if path != "home"]) == [CRITICAL]
    assert await take(database, stores, ann, None, [*known, "boats"]) == [CRITICAL]  # it is new here
    assert "boats" in (await stores.tree.load(ann)).nodes


@pytest.mark.parametrize("data", [[], "", {"tree_nodes": 1, "hot_state": []}, {"tree_nodes": [1], "hot_state": "x"}])
async def test_a_hot_state_that_is_none_is_passed_over(
    database: Database, stores: Stores, ann: Scope, data: object
) -> None:
    await write_hot(database, stores, ann)
    await taking_in(database, stores).take(CRITICAL, [told(ann, CRITICAL, "[]", data)], {"b": 1}, {})
    assert (await stores.hot.load(ann)).agent_name == "Here"


async def test_rows_that_are_none_of_a_store_are_refused_and_the_others_taken(
    database: Database, stores: Stores, ann: Scope
) -> None:
    async with database.transaction() as tx:
        await stores.journal.add(ann, tx, text="Moved to Oslo.", change=BY_HAND, at=START)
    [mine] = await stores.journal.export(ann)
    journal = next(store for store in STORES if store.name == "journal")
    data = journal.values(mine) | {"id": 7, "text": "Slept.", "text_hash": text_hash("Slept.")}
    rows = [
        told(ann, journal.remote, record, said)
        for record, said in (
            ("[7]", data),
            ("[8]", data),  # says of itself that it is another one
            (f"[{mine['id']}]", data),
            ("[9]", ""),
            ("[10]", data | {"id": 10, "mood": "good"}),
            ("[]", None),
            ('["x"]', None),
            (f"[{10**30}]", None),
        )
    ]
    await taking_in(database, stores).take(journal.remote, rows, {"b": 1}, {"journal": journal})
    assert {row["text"] for row in await stores.journal.export(ann)} == {"Moved to Oslo.", "Slept."}
    assert await stores.mirror_changes.seen() == {journal.remote: {"b": 1}}


async def test_what_a_newer_version_wrote_is_looked_at_again_after_the_next_update(
    database: Database, stores: Stores, ann: Scope
) -> None:
    changes, taking = stores.mirror_changes, taking_in(database, stores)
    at = START.isoformat()
    node = {"path": "home", "description": "", "warm": 0, "cold": 0, "created_at": at, "last_active_at": at}
    data = {"hot_state": {"mood": "good"}, "tree_nodes": [node, node | {"path": "boats", "colour": "blue"}]}
    async with database.transaction() as tx:
        await changes.note_seen(tx, table=ERASED, seen={"b": 4})
    await write_hot(database, stores, ann)
    for _ in range(2):  # the second time everything is here
        async with database.transaction() as tx:
            await changes.mirrored(tx, await changes.pending(limit=9))
        await taking.take(CRITICAL, [told(ann, CRITICAL, "[]", data)], {"b": 1}, {})
    assert "home" in (await stores.tree.load(ann)).nodes
    assert await changes.pending(limit=9) == []  # or two versions would tell each other without an end
    await changes.watch(STORES)
    assert await changes.seen() == {CRITICAL: {"b": 1}, ERASED: {"b": 4}}
    async with database.transaction() as tx:
        await tx.connection.execute(text("UPDATE alembic_version SET version_num = 'later'"))
    await changes.watch(STORES)
    await changes.watch(STORES)
    assert await changes.seen() == {ERASED: {"b": 4}}
