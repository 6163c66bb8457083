"""A device of a shared mirror: stores on a database of its own, without a bot around them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.database import Database, open_database
from memory.ids import IdSource
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.opening.stores import open_stores
from memory.parameters import MemoryParameters
from memory.privacy import Due
from memory.processes.indexer import Indexer
from memory.processes.mirror_register import MirrorRegister
from memory.processes.mirror_taking import MirrorTaking
from memory.processes.mirror_telling import MirrorTelling
from memory.processes.mirroring import Mirroring
from memory.services import Stores
from memory.stores.mirror_merge import MirrorMerge
from memory.stores.mirror_state import RegistrationStore
from memory.stores.mirrored import STORES, tables_of
from tests.doubles.shared_mirror import SharedMirror
from tests.fakes import FakeClock, HashEmbedder, WordTokenCounter
from tests.new_database import database_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One of several."""

    name: int
    database: Database
    stores: Stores
    process: SharedMirror
    mirror: Mirroring


async def opened(
    folder: Path, name: int, clock: FakeClock, stack: AsyncExitStack, *, hosted: str = "shared.db"
) -> Device:
    """A device that mirrors in a file of the folder."""
    database = await open_database(await database_in(folder / str(name)))
    stack.push_async_callback(database.close)
    ids = IdSource(clock)
    counter, parameters = WordTokenCounter(), MemoryParameters()
    stores = open_stores(
        database,
        SqliteTextIndex(),
        embedder=HashEmbedder(),
        counter=counter,
        ids=ids,
        parameters=parameters,
        clock=clock,
    )
    process = SharedMirror(folder / hosted, tables_of(STORES))
    stack.push_async_callback(process.close)
    indexer = Indexer(stores.search)
    stack.push_async_callback(indexer.close)
    shared: dict[str, Any] = {"database": database, "changes": stores.mirror_changes}
    as_they_are: dict[str, Any] = {"hot": stores.hot, "tree": stores.tree}
    merge = MirrorMerge((*stores.imported, stores.recall), blocks=stores.blocks, search=stores.search)
    telling = MirrorTelling(process, **shared, **as_they_are, ids=ids, clock=clock, stores=STORES)
    taking = MirrorTaking(**shared, **as_they_are, merge=merge, indexer=indexer)
    register = MirrorRegister(
        process, **shared, registrations=RegistrationStore(database), merge=merge, clock=clock, stores=STORES
    )
    shared |= {"register": register, "telling": telling, "taking": taking}
    mirror = Mirroring(process, **shared, jobs=stores.jobs, clock=clock, stores=STORES)

    async def erase_due(due: Due) -> int:
        return await erase(database, stores, due)

    await mirror.watch(erase_due=erase_due)
    return Device(name=name, database=database, stores=stores, process=process, mirror=mirror)


async def erase(database: Database, stores: Stores, due: Due) -> int:
    """Erase the scopes that are due."""
    async with database.transaction() as tx:
        scopes = await due(tx)
        for scope in scopes:
            for store in stores.personal:
                await store.erase(scope, tx)
    return len(scopes)
