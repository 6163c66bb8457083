"""Core memory: a few short labelled texts of a scope that stand in every prompt, with all their versions.

Invariants: all blocks of a scope together never grow past the limit; every write leaves a version that says who
made it and why; a refused write writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Row, Select, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.database import Database, Transaction
from memory.errors import CoreMemoryFull, InvalidInput, TextNotFound
from memory.policy.core_memory import (
    block_of,
    characters,
    check_label,
    check_limit,
    holding,
    tidied,
    with_lines,
    with_replacement,
)
from memory.policy.diff import reverse_lines
from memory.ports import TokenCounter
from memory.records import BLOCK_LABELS, BlockVersion, Change, MemoryBlock, Scope
from memory.schema import block_versions, memory_blocks
from memory.stores.scoped import (
    as_stored,
    change_columns,
    change_of_row,
    delete_scope,
    in_any_scope,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_values,
)

_log = structlog.get_logger(__name__)

_BLOCKS = select(memory_blocks).where(in_any_scope(memory_blocks))  # made once, which takes longer than running it


class BlockStore:
    """The tables of core memory.

    Args:
        database: where the rows are.
        counter: counts tokens for the log.
        limit: characters that all blocks of a scope may have together.
    """

    name = "blocks"

    def __init__(self, database: Database, counter: TokenCounter, *, limit: int) -> None:
        self._database = database
        self._counter = counter
        self._limit = limit

    async def load(self, scope: Scope) -> tuple[MemoryBlock, ...]:
        """Every block in the order of ``BLOCK_LABELS``; one never written is empty and has version 0."""
        async with self._database.read() as connection:
            return tuple((await _current(connection, scope)).values())

    async def append(
        self, scope: Scope, tx: Transaction, *, label: str, text: str, change: Change, at: datetime
    ) -> MemoryBlock:
        """Add lines at the end of a block. Lines that stand there already are not written again.

        Raises:
            MemoryRefusal: there is nothing but whitespace in ``text``.
            UnknownBlock: there is no such block.
            CoreMemoryFull: it does not fit.
        """
        blocks = await _current(tx.connection, scope)
        block = block_of(blocks, label)
        value = with_lines(block.value, text)
        if value == block.value:
            return block
        return await self._write(scope, tx, blocks=blocks, block=block, value=value, change=change, at=at)

    async def replace(
        self, scope: Scope, tx: Transaction, *, label: str | None, old: str, new: str, change: Change, at: datetime
    ) -> MemoryBlock:
        """Replace a text that stands once in a block.

        A replacement that was made already, as the same call run again after a crash would, is not made twice.

        Args:
            scope: whose block.
            tx: the open transaction.
            label: the block, or None for the first that holds ``old``.
            old: the text that stands there, exactly.
            new: what to put in its place; empty to delete it.
            change: who does it and why.
            at: when.

        Raises:
            TextNotFound: ``old`` does not stand there.
            MemoryRefusal: it stands there more than once.
            UnknownBlock: there is no such block.
            CoreMemoryFull: it does not fit.
        """
        blocks = await _current(tx.connection, scope)
        block = holding(blocks, label, old)
        value = with_replacement(block, old, new)
        if value == block.value:
            return block
        return await self._write(scope, tx, blocks=blocks, block=block, value=value, change=change, at=at)

    async def rewrite(
        self, scope: Scope, tx: Transaction, *, label: str, value: str, change: Change, at: datetime
    ) -> MemoryBlock:
        """Replace the whole value of a block; the value it has already is not written again.

        Raises:
            UnknownBlock: there is no such block.
            CoreMemoryFull: it does not fit.
        """
        blocks = await _current(tx.connection, scope)
        block = block_of(blocks, label)
        if tidied(value) == block.value:
            return block
        return await self._write(scope, tx, blocks=blocks, block=block, value=value, change=change, at=at)

    async def rollback(
        self, scope: Scope, tx: Transaction, *, label: str, version: int, change: Change, at: datetime
    ) -> MemoryBlock:
        """Bring back the value of a version, as a new version, so that it can itself be undone.

        Args:
            scope: whose block.
            tx: the open transaction.
            label: the block.
            version: the version to bring back; 0 is the empty block before its first write.
            change: who does it and why.
            at: when.

        Raises:
            TextNotFound: there is no such version.
            UnknownBlock: there is no such block.
            CoreMemoryFull: it does not fit beside what the other blocks hold now.
        """
        blocks = await _current(tx.connection, scope)
        block = block_of(blocks, label)
        query = _versions(scope, label).where(block_versions.c.version == version)
        wanted = (await tx.connection.execute(query)).first()
        if wanted is None and version != 0:
            raise TextNotFound(f"The {label} block has no version {version}. Its versions are 0 to {block.version}.")
        return await self._write(
            scope, tx, blocks=blocks, block=block, value=wanted.value if wanted else "", change=change, at=at
        )

    async def without(self, scope: Scope, *, label: str, made: Callable[[Change], bool]) -> tuple[str, str]:
        """A block's text, and the same text without some changes. Raises UnknownBlock.

        Args:
            scope: whose block.
            label: the block.
            made: whether a change is one of those to leave out.
        """
        versions = await self.versions(scope, label)
        text = versions[0].value if versions else ""
        without = text
        for version, before in zip(versions, [*(older.value for older in versions[1:]), ""], strict=False):
            if made(version.change):
                without = reverse_lines(without, before, version.value)
        return text, without

    async def versions(self, scope: Scope, label: str) -> list[BlockVersion]:
        """Every version of a block, newest first. Raises UnknownBlock."""
        check_label(label)
        async with self._database.read() as connection:
            return [_version(row) for row in await connection.execute(_versions(scope, label))]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every version of every block; the newest of each is the block."""
        return await rows_of_scope(self._database, block_versions, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back versions of an export, all at once; how many were not there.

        Raises:
            InvalidInput: another version has the number of one of them, or core memory would pass its limit.
        """
        before = await _current(tx.connection, scope)
        new = await restore_rows(tx, block_versions, scope, rows)
        after = dict(before)
        for row in new:
            if row["version"] > after[row["label"]].version:
                after[row["label"]] = MemoryBlock(
                    label=row["label"], value=row["value"], version=row["version"], updated_at=row["changed_at"]
                )
        try:
            check_limit(before, after, limit=self._limit)
        except CoreMemoryFull as error:
            raise InvalidInput(
                f"The core memory of {scope} would hold {characters(after):,} characters, more than the "
                f"{self._limit:,} allowed here (CORE_MEMORY_LIMIT). Nothing was imported."
            ) from error
        for label, block in after.items():
            if block is not before[label]:
                await _put(tx, scope, block)
        return len(new)

    async def take_newest(self, scope: Scope, tx: Transaction) -> None:
        """Let each block be what its newest version says, after versions of another device came in between.

        Together they may then be over the limit: they can only be made shorter until they are below it.
        """
        query = select(block_versions).where(in_scope(block_versions, scope)).order_by(block_versions.c.version)
        newest = {row.label: row for row in await tx.connection.execute(query)}
        for row in newest.values():
            await _put(
                tx,
                scope,
                MemoryBlock(label=row.label, value=row.value, version=row.version, updated_at=row.changed_at),
            )

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every block and version of a scope; rows deleted per table."""
        return {table.name: await delete_scope(tx, table, scope) for table in (memory_blocks, block_versions)}

    async def _write(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        blocks: dict[str, MemoryBlock],
        block: MemoryBlock,
        value: str,
        change: Change,
        at: datetime,
    ) -> MemoryBlock:
        written = MemoryBlock(
            label=block.label, value=tidied(value), version=block.version + 1, updated_at=as_stored(at)
        )
        after = {**blocks, block.label: written}
        check_limit(blocks, after, limit=self._limit)
        await _put(tx, scope, written)
        await tx.connection.execute(
            insert(block_versions).values(
                person=scope.person,
                audience=scope.audience,
                label=written.label,
                version=written.version,
                value=written.value,
                changed_at=at,
                **change_columns(change),
            )
        )
        tx.after_commit(lambda: self._log_write(blocks, after, written, change))
        return written

    def _log_write(
        self,
        before: dict[str, MemoryBlock],
        after: dict[str, MemoryBlock],
        written: MemoryBlock,
        change: Change,
    ) -> None:
        _log.info(
            "memory_write",
            memory="core",
            label=written.label,
            version=written.version,
            source_message=change.source_message,
            session_id=change.session_id,
            characters=characters(after),
            tokens_before=self._tokens(before),
            tokens_after=self._tokens(after),
        )

    def _tokens(self, blocks: dict[str, MemoryBlock]) -> int:
        return sum(self._counter.count(block.value) for block in blocks.values())


async def _current(connection: AsyncConnection, scope: Scope) -> dict[str, MemoryBlock]:
    rows = await connection.execute(_BLOCKS, scope_values(scope))
    written = {
        row.label: MemoryBlock(label=row.label, value=row.value, version=row.version, updated_at=row.updated_at)
        for row in rows
    }
    return {label: written.get(label, MemoryBlock(label=label, value="", version=0)) for label in BLOCK_LABELS}


async def _put(tx: Transaction, scope: Scope, block: MemoryBlock) -> None:
    """Make it the block of its label, in place of the one before."""
    before = in_scope(memory_blocks, scope) & (memory_blocks.c.label == block.label)
    await tx.connection.execute(delete(memory_blocks).where(before))
    await tx.connection.execute(
        insert(memory_blocks).values(
            person=scope.person,
            audience=scope.audience,
            label=block.label,
            value=block.value,
            version=block.version,
            updated_at=block.updated_at,
        )
    )


def _versions(scope: Scope, label: str) -> Select[Any]:
    return (
        select(block_versions)
        .where(in_scope(block_versions, scope), block_versions.c.label == label)
        .order_by(block_versions.c.version.desc())
    )


def _version(row: Row[Any]) -> BlockVersion:
    return BlockVersion(
        label=row.label,
        version=row.version,
        value=row.value,
        changed_at=row.changed_at,
        change=change_of_row(row),
    )
