"""Takes out of core memory what was written into it in answer to one message, out of every version.

Invariant: what other messages wrote stays, and the versions keep their numbers.
"""

from __future__ import annotations

from sqlalchemy import select, update

from memory.database import Transaction
from memory.policy.core_memory import tidied
from memory.policy.diff import reverse_lines
from memory.records import BLOCK_LABELS, Scope
from memory.schema import block_versions, memory_blocks
from memory.stores.scoped import in_scope


class BlockSources:
    """The blocks of core memory by the messages they were written for."""

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Undo, in every version, what was written for a message."""
        for label in BLOCK_LABELS:
            await self._withdraw(scope, tx, label, source_message)

    async def _withdraw(self, scope: Scope, tx: Transaction, label: str, source_message: int) -> None:
        mine = in_scope(block_versions, scope) & (block_versions.c.label == label)
        versions = (
            await tx.connection.execute(select(block_versions).where(mine).order_by(block_versions.c.version))
        ).all()
        writes: list[tuple[str, str]] = []
        before = newest = ""
        for version in versions:
            if version.source_message == source_message:
                writes.append((before, version.value))
            before = newest = version.value
            for text_before, text_after in reversed(writes):
                newest = tidied(reverse_lines(newest, text_before, text_after))
            if newest != version.value:
                at = mine & (block_versions.c.version == version.version)
                await tx.connection.execute(update(block_versions).where(at).values(value=newest))
        if writes:
            block = in_scope(memory_blocks, scope) & (memory_blocks.c.label == label)
            await tx.connection.execute(update(memory_blocks).where(block).values(value=newest))
