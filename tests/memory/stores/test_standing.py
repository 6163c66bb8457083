"""What stands in a prompt is read together, and is what each store gives by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory.parameters import MemoryParameters
from memory.policy.working_memory import WorkingMemory
from memory.records import HUMAN, PERSONA, Change, HotItem, HotState, NewEntry, Scope, Session
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")
CHANNEL = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
CHANGE = Change(actor="system", reason="test")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A memory, and writing something of every kind to it."""

    system: MemorySystem

    async def session(self, scope: Scope, conversation: str = "here") -> Session:
        async with self.system.transaction() as tx:
            return await self.system.stores.sessions.start(
                scope, tx, conversation=conversation, community=None, at=START
            )

    async def fill(self, session: Session, word: str) -> None:
        scope, stores = session.scope, self.system.stores
        async with self.system.transaction() as tx:
            for text in (f"{word} first", f"{word} summary"):
                await stores.summaries.append(scope, tx, text=text, change=CHANGE, at=START)
            for label in (HUMAN, PERSONA):
                await stores.blocks.append(scope, tx, label=label, text=f"{word} {label}", change=CHANGE, at=START)
            await stores.preferences.set_zone(scope, tx, name="Europe/Oslo")
            for lesson in (f"{word} old", f"{word} lesson"):
                state = HotState(lessons=(HotItem(text=lesson),))
                await stores.hot.write(scope, tx, state=state, change=CHANGE, at=START)
            await stores.tree.write_index(scope, tx, text=f"{word} tree", at=START)
            working = WorkingMemory(goal=f"{word} goal")
            await stores.working.save(scope, tx, session=session, memory=working, at=START)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_memory(
        database_url=await database_in(tmp_path),
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(default="A digest."),
        parameters=MemoryParameters(),
        clock=FakeClock(),
    ) as system:
        yield House(system=system)


async def test_it_is_what_every_store_gives_of_this_scope(house: House) -> None:
    session = await house.session(ANN)
    await house.fill(session, "dm")
    for other in (CHANNEL, BOB):
        await house.fill(await house.session(other), "other")
    standing, stores = await house.system.stores.standing.load(session), house.system.stores
    summary = await stores.summaries.latest(ANN)
    assert summary is not None
    assert standing.summary == summary.text == "dm summary"
    assert standing.blocks == await stores.blocks.load(ANN)
    assert {block.value for block in standing.blocks} == {f"dm {HUMAN}", f"dm {PERSONA}"}
    assert standing.zone == await stores.preferences.zone(ANN) == ZoneInfo("Europe/Oslo")
    assert standing.hot == await stores.hot.load(ANN)
    assert [item.text for item in standing.hot.lessons] == ["dm lesson"]
    assert standing.tree == "dm tree"
    assert standing.working == await stores.working.load(session) == WorkingMemory(goal="dm goal")


async def test_nothing_stands_in_the_prompt_of_somebody_new(house: House) -> None:
    standing, stores = await house.system.stores.standing.load(await house.session(ANN)), house.system.stores
    assert (standing.summary, standing.tree, standing.working) == ("", "", WorkingMemory())
    assert standing.blocks == await stores.blocks.load(ANN)
    assert standing.zone == await stores.preferences.zone(ANN)
    assert standing.hot == HotState()


async def test_the_task_of_another_session_or_conversation_does_not_stand_there(house: House) -> None:
    session = await house.session(ANN)
    await house.fill(session, "dm")
    for other in (replace(session, id=session.id + 1), replace(session, conversation="elsewhere")):
        assert (await house.system.stores.standing.load(other)).working == WorkingMemory()


async def test_what_was_let_go_of_does_not_stand_there(house: House) -> None:
    session, stores = await house.session(ANN), house.system.stores
    new = NewEntry(text="Sails", category="work", importance=0.5, created_at=START, metadata={})
    async with house.system.transaction() as tx:
        kept = await stores.warm.add(ANN, tx, new=new, change=CHANGE, at=START)
        assert kept is not None
        items = (HotItem(text="Sails", source=f"entry:{kept.id}"), HotItem(text="Gone", source="entry:1"))
        await stores.hot.write(ANN, tx, state=HotState(lessons=items), change=CHANGE, at=START)
    assert [item.text for item in (await stores.standing.load(session)).hot.lessons] == ["Sails"]
