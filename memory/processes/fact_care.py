"""What people and admins do to single facts: forget, correct, pin, and take one change back.

Invariant: a change, what follows from it for core memory, and its entry in the audit log are one transaction; nothing
is deleted, and no text stands in the audit log.
"""

from __future__ import annotations

from memory.database import Database, Transaction
from memory.errors import CoreMemoryFull, InvalidInput
from memory.ids import handle_of
from memory.policy.audience import reach_of_scope
from memory.policy.core_memory import restated
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.ports import Clock
from memory.processes.indexer import Indexer
from memory.processes.written_pages import WrittenPages
from memory.records import By, Change, Fact, MemoryBlock, Scope
from memory.stores.audit import AuditStore
from memory.stores.blocks import BlockStore
from memory.stores.facts import FactStore

_LONGEST = 500  # characters of a correction


class FactCare:
    """Changes facts by somebody's word.

    Args:
        database: for the transaction over all stores.
        facts: the facts.
        blocks: core memory, which may say the same as a fact.
        audit: says who did it.
        indexer: makes what has changed found by its meaning.
        pages: what people read of it in files.
        clock: dates it.
    """

    def __init__(
        self,
        *,
        database: Database,
        facts: FactStore,
        blocks: BlockStore,
        audit: AuditStore,
        indexer: Indexer,
        pages: WrittenPages,
        clock: Clock,
    ) -> None:
        self._database = database
        self._facts = facts
        self._blocks = blocks
        self._audit = audit
        self._indexer = indexer
        self._pages = pages
        self._clock = clock

    async def forget(self, scope: Scope, fact_id: int, *, by: By) -> Fact:
        """Retire a fact for good: it is shown no more, and not learned again from what was said before.

        A line of core memory that says the same goes with it.

        Raises:
            InvalidInput: it is no current fact any more.
        """
        async with self._database.transaction() as tx:
            fact = await self._facts.forget(
                scope, tx, fact_id=fact_id, change=_change(by, "forget"), at=self._clock.now()
            )
            forgotten = await self._noted(tx, fact, by, "forget")
            await self._put_right(tx, scope, forgotten.text, "", _change(by, "forget"))
        await self._pages.forgotten(scope)
        return forgotten

    async def correct(self, scope: Scope, fact_id: int, text: str, *, by: By) -> Fact:
        """Put other words in place of a fact, and of a line of core memory that says the same. Secrets are taken out.

        Raises:
            InvalidInput: it is no current fact any more, or the text is empty or longer than 500 characters.
        """
        text = redact(clean(text)).strip()
        if len(text) > _LONGEST:
            raise InvalidInput(f"A fact is one short sentence. Write at most {_LONGEST} characters.")
        async with self._database.transaction() as tx:
            before = await self._facts.get(reach_of_scope(scope), [fact_id])
            fact = await self._facts.correct(
                scope, tx, fact_id=fact_id, text=text, change=_change(by, "correct"), at=self._clock.now()
            )
            corrected = await self._noted(tx, fact, by, "correct")
            for wrong in before:
                await self._put_right(tx, scope, wrong.text, corrected.text, _change(by, "correct"))
        self._indexer.kick()
        await self._pages.forgotten(scope)
        return corrected

    async def pin(self, scope: Scope, fact_id: int, *, pinned: bool, by: By) -> Fact:
        """Keep a fact from whatever is learned later, or no longer.

        Raises:
            InvalidInput: it is no current fact any more.
        """
        action = "pin" if pinned else "unpin"
        async with self._database.transaction() as tx:
            fact = await self._facts.pin(
                scope, tx, fact_id=fact_id, pinned=pinned, change=_change(by, action), at=self._clock.now()
            )
            return await self._noted(tx, fact, by, action)

    async def without(self, scope: Scope, revision_id: int) -> tuple[Fact, Fact]:
        """A fact as it is, and as ``revert`` would make it.

        Raises:
            InvalidInput: there is no such change, or nothing of it to take back.
        """
        async with self._database.transaction() as tx:
            return await self._facts.without(scope, tx, revision_id=revision_id)

    async def revert(self, scope: Scope, revision_id: int, *, by: By) -> tuple[Fact, Fact]:
        """Take one change of one fact back, as a new change.

        Returns:
            the fact before and after.

        Raises:
            InvalidInput: there is no such change, or nothing of it to take back.
        """
        name = handle_of(revision_id)
        async with self._database.transaction() as tx:
            before, after = await self._facts.without(scope, tx, revision_id=revision_id)
            change = _change(by, f"revert of {name}")
            await self._facts.revert(scope, tx, revision_id=revision_id, change=change, at=self._clock.now())
            await self._audit.note(
                scope, tx, actor=by.audited, action=f"{by.command} revert", detail=f"revision {name}"
            )
        self._indexer.kick()
        await self._pages.forgotten(scope)
        return before, after

    async def _put_right(self, tx: Transaction, scope: Scope, fact: str, new: str, change: Change) -> None:
        """Let core memory say of a fact what is right; nothing where that is too long for it."""

        async def rewrite(block: MemoryBlock, words: str) -> None:
            value = restated(block.value, fact, words)
            await self._blocks.rewrite(scope, tx, label=block.label, value=value, change=change, at=self._clock.now())

        for block in await self._blocks.load(scope):
            try:
                await rewrite(block, new)
            except CoreMemoryFull:
                await rewrite(block, "")

    async def _noted(self, tx: Transaction, fact: Fact | None, by: By, action: str) -> Fact:
        if fact is None:
            raise InvalidInput("That is no fact any more: it was replaced or forgotten meanwhile.")
        await self._audit.note(
            fact.scope, tx, actor=by.audited, action=f"{by.command} {action}", detail=f"fact {handle_of(fact.id)}"
        )
        return fact


def _change(by: By, reason: str) -> Change:
    return Change(actor=by.actor, reason=reason)
