"""Core memory: one limit over all blocks, every write a version, refused writes write nothing."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memory.database import Database
from memory.errors import CoreMemoryFull, MemoryRefusal, TextNotFound, UnknownBlock
from memory.records import HUMAN, PERSONA, Change, MemoryBlock, Scope
from memory.stores.blocks import BlockStore
from tests.fakes import START, WordTokenCounter

BOB = Scope(person="console:bob", audience="dm")
CHANGE = Change(actor="agent", reason="core_memory_append", source_message=11, session_id=22, job="j")


class Core:
    """The blocks of one scope, each write in a transaction of its own."""

    def __init__(self, database: Database, scope: Scope, *, limit: int = 60) -> None:
        self.database = database
        self.scope = scope
        self.store = BlockStore(database, WordTokenCounter(), limit=limit)

    async def append(self, label: str, text: str) -> MemoryBlock:
        async with self.database.transaction() as tx:
            return await self.store.append(self.scope, tx, label=label, text=text, change=CHANGE, at=START)

    async def replace(self, label: str | None, old: str, new: str) -> MemoryBlock:
        async with self.database.transaction() as tx:
            return await self.store.replace(self.scope, tx, label=label, old=old, new=new, change=CHANGE, at=START)

    async def rewrite(self, label: str, value: str) -> MemoryBlock:
        async with self.database.transaction() as tx:
            return await self.store.rewrite(self.scope, tx, label=label, value=value, change=CHANGE, at=START)

    async def rollback(self, label: str, version: int) -> MemoryBlock:
        async with self.database.transaction() as tx:
            return await self.store.rollback(self.scope, tx, label=label, version=version, change=CHANGE, at=START)

    async def values(self) -> dict[str, str]:
        return {block.label: block.value for block in await self.store.load(self.scope)}

    async def history(self, label: str) -> list[tuple[int, str]]:
        return [(version.version, version.value) for version in await self.store.versions(self.scope, label)]


@pytest.fixture
def core(database: Database, ann: Scope) -> Core:
    return Core(database, ann)


async def test_unwritten_blocks_are_empty_and_have_version_0(core: Core) -> None:
    assert await core.store.load(core.scope) == (
        MemoryBlock(label=PERSONA, value="", version=0),
        MemoryBlock(label=HUMAN, value="", version=0),
    )


async def test_appended_lines_stand_below_each_other_with_a_version_each(core: Core) -> None:
    await core.append(HUMAN, "Name: Ann.")
    written = await core.append(HUMAN, "  Likes   tea. \n\n")
    assert written == MemoryBlock(label=HUMAN, value="Name: Ann.\nLikes tea.", version=2, updated_at=START)
    assert (await core.store.load(core.scope))[1] == written
    newest, first = await core.store.versions(core.scope, HUMAN)
    assert (newest.version, newest.value) == (2, written.value)
    assert (first.version, first.value, first.changed_at, first.change) == (1, "Name: Ann.", START, CHANGE)


async def test_a_line_that_stands_there_is_not_appended_again(core: Core) -> None:
    await core.append(HUMAN, "Likes tea.\nLikes cake.")
    again = await core.append(HUMAN, "Likes cake.")
    assert again.version == 1
    assert (await core.append(HUMAN, "Likes cake")).version == 2


async def test_an_append_past_the_limit_of_all_blocks_is_refused_whole_with_both_remedies(core: Core) -> None:
    await core.append(PERSONA, "p" * 30)
    await core.append(HUMAN, "h" * 20)
    with pytest.raises(CoreMemoryFull) as refusal:
        await core.append(HUMAN, "x" * 10)
    for word in ("archival_insert", "core_memory_replace", "50", "60", "61"):
        assert word in str(refusal.value)
    assert await core.values() == {PERSONA: "p" * 30, HUMAN: "h" * 20}
    assert len(await core.history(HUMAN)) == 1
    await core.append(HUMAN, "x" * 9)


async def test_a_shrinking_write_is_accepted_over_a_limit_that_was_lowered(
    core: Core, database: Database, ann: Scope
) -> None:
    await core.append(HUMAN, "Likes tea. " * 4 + "Has a dog.")
    tight = Core(database, ann, limit=20)
    with pytest.raises(CoreMemoryFull):
        await tight.append(HUMAN, "x")
    with pytest.raises(CoreMemoryFull):
        await tight.replace(HUMAN, "dog", "big dog")
    await tight.replace(HUMAN, "Has a dog.", "")
    assert len((await tight.values())[HUMAN]) > 20


async def test_replace_finds_the_block_that_holds_the_text(core: Core) -> None:
    await core.append(PERSONA, "Calm.")
    await core.append(HUMAN, "Lives in Oslo.")
    assert (await core.replace(None, "Lives in Oslo.", "Lives in Rome.")).label == HUMAN
    assert await core.values() == {PERSONA: "Calm.", HUMAN: "Lives in Rome."}


@pytest.mark.parametrize("old", ["Oslo", "", "  ", "lives"])
async def test_text_that_does_not_stand_there_is_not_replaced(core: Core, old: str) -> None:
    await core.append(HUMAN, "Lives in Rome.")
    for label in (None, HUMAN):
        with pytest.raises(TextNotFound):
            await core.replace(label, old, "x")
    assert await core.history(HUMAN) == [(1, "Lives in Rome.")]


async def test_a_named_block_is_the_only_one_searched(core: Core) -> None:
    await core.append(HUMAN, "Lives in Rome.")
    with pytest.raises(TextNotFound, match="persona block"):
        await core.replace(PERSONA, "Rome", "Oslo")


async def test_an_empty_replacement_deletes_and_leaves_no_blank_line(core: Core) -> None:
    await core.append(HUMAN, "Name: Ann.\nLikes tea.\nHas a dog.")
    await core.replace(None, "Likes tea.", "")
    await core.replace(None, " a ", " ")
    assert (await core.values())[HUMAN] == "Name: Ann.\nHas dog."


async def test_a_text_that_stands_there_twice_is_not_replaced(core: Core) -> None:
    await core.append(HUMAN, "Likes tea.\nHer sister likes tea.")
    with pytest.raises(MemoryRefusal, match="2 times"):
        await core.replace(None, "ikes tea", "ikes coffee")
    await core.replace(None, "sister likes tea", "sister likes coffee")
    assert await core.values() == {PERSONA: "", HUMAN: "Likes tea.\nHer sister likes coffee."}


async def test_a_replacement_made_already_is_not_made_twice(core: Core) -> None:
    await core.append(HUMAN, "Likes tea.")
    await core.replace(None, "Likes tea", "Likes tea and coffee")
    assert (await core.replace(None, "Likes tea", "Likes tea and coffee")).version == 2
    assert (await core.values())[HUMAN] == "Likes tea and coffee."


async def test_rewriting_the_same_value_writes_no_version(core: Core) -> None:
    await core.rewrite(PERSONA, "Calm.")
    await core.rewrite(PERSONA, "Calm. ")
    await core.rewrite(PERSONA, "Lively.")
    assert await core.history(PERSONA) == [(2, "Lively."), (1, "Calm.")]


async def test_a_rollback_is_a_new_version_and_can_be_undone(core: Core) -> None:
    await core.append(HUMAN, "Lives in Oslo.")
    await core.replace(HUMAN, "Oslo", "Rome")
    await core.rollback(HUMAN, 1)
    assert (await core.values())[HUMAN] == "Lives in Oslo."
    await core.rollback(HUMAN, 2)
    await core.rollback(HUMAN, 0)
    assert await core.history(HUMAN) == [
        (5, ""),
        (4, "Lives in Rome."),
        (3, "Lives in Oslo."),
        (2, "Lives in Rome."),
        (1, "Lives in Oslo."),
    ]


async def test_a_rollback_to_an_unknown_version_or_past_the_limit_is_refused(core: Core) -> None:
    await core.append(HUMAN, "h" * 50)
    with pytest.raises(TextNotFound, match="0 to 1"):
        await core.rollback(HUMAN, 2)
    await core.rewrite(HUMAN, "short")
    await core.append(PERSONA, "p" * 50)
    with pytest.raises(CoreMemoryFull):
        await core.rollback(HUMAN, 1)


async def test_an_unknown_block_or_an_empty_text_is_refused(core: Core) -> None:
    with pytest.raises(UnknownBlock, match="persona and human"):
        await core.append("system", "x")
    with pytest.raises(UnknownBlock):
        await core.replace("system", "x", "y")
    with pytest.raises(UnknownBlock):
        await core.store.versions(core.scope, "system")
    with pytest.raises(MemoryRefusal):
        await core.append(HUMAN, " \n ")


async def test_every_write_is_logged_with_tokens_before_and_after_and_never_with_its_text(core: Core) -> None:
    with capture_logs() as logs:
        await core.append(HUMAN, "Likes jasmine tea.")
        await core.append(HUMAN, "Likes jasmine tea.")
        await core.append(PERSONA, "Calm.")
    assert [
        (log["event"], log["label"], log["version"], log["tokens_before"], log["tokens_after"]) for log in logs
    ] == [("memory_write", HUMAN, 1, 0, 3), ("memory_write", PERSONA, 1, 3, 4)]
    assert "jasmine" not in repr(logs)


async def test_a_write_that_is_rolled_back_is_not_logged(core: Core) -> None:
    async def write_and_fail() -> None:
        async with core.database.transaction() as tx:
            await core.store.append(core.scope, tx, label=HUMAN, text="x", change=CHANGE, at=START)
            raise RuntimeError("power")

    with capture_logs() as logs, pytest.raises(RuntimeError, match="power"):
        await write_and_fail()
    assert logs == []
    assert await core.history(HUMAN) == []


async def test_blocks_of_one_scope_are_no_others(core: Core, database: Database) -> None:
    await core.append(HUMAN, "Name: Ann.")
    bob = Core(database, BOB)
    assert await bob.values() == {PERSONA: "", HUMAN: ""}
    await bob.append(HUMAN, "Name: Bob.")
    assert [row["value"] for row in await core.store.export(core.scope)] == ["Name: Ann."]
    async with database.transaction() as tx:
        assert await core.store.erase(core.scope, tx) == {"memory_blocks": 1, "block_versions": 1}
    assert await core.values() == {PERSONA: "", HUMAN: ""}
    assert (await bob.values())[HUMAN] == "Name: Bob."


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["append", "replace", "rewrite", "rollback"]),
        st.sampled_from([PERSONA, HUMAN]),
        st.text(st.characters(codec="utf-8"), max_size=40),
        st.integers(0, 4),
    ),
    max_size=8,
)


PERSONS = count()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=WRITES)
async def test_no_order_of_writes_passes_the_limit_or_loses_a_version(
    database: Database, writes: list[tuple[str, str, str, int]]
) -> None:
    core = Core(database, Scope(person=f"console:{next(PERSONS)}", audience="dm"))
    for kind, label, text, version in writes:
        before = await core.values()
        try:
            if kind == "replace":
                await core.replace(None, before[label][:version], text)
            elif kind == "rollback":
                await core.rollback(label, version)
            else:
                await getattr(core, kind)(label, text)
        except MemoryRefusal:
            assert await core.values() == before
        assert sum(map(len, (await core.values()).values())) <= 60
    for block in await core.store.load(core.scope):
        history = await core.history(block.label)
        assert [number for number, _ in history] == list(range(block.version, 0, -1))
        assert (history[0][1] if history else "") == block.value
