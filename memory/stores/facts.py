"""Facts: what is lastingly true of a person, each with its history.

Nothing is deleted: a fact that is no longer true is superseded, one that is not wanted is forgotten, and both can be
brought back. Writes on one fact do nothing, and return None, where there is no such current fact any more or where
only the person's own wish may change it (a pinned one), so that a plan made before the transaction cannot harm.

Invariant: a row, its revision and its search entry change in one transaction; exactly the current facts have a
search entry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.policy.fact_changes import (
    adds_detail,
    confirmed,
    detailed,
    new_fact,
    said_again_in,
    same_statement,
    taken_back,
    undone,
    with_previous_value,
)
from memory.ports import Clock, TokenCounter
from memory.records import Candidate, Change, Fact, FactRevision, FactState, Origin, Scope
from memory.schema import facts
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.fact_search import FactReader
from memory.stores.fact_table import FactTable
from memory.stores.scoped import as_stored, delete_scope, rows_of_scope
from memory.stores.search import SearchStore


class FactStore(FactReader):
    """The table of facts.

    Args:
        database: where the rows are.
        search: indexes their texts.
        revisions: keeps their history.
        ids: draws the facts' ids.
        counter: for the log.
        clock: says what has expired.
    """

    name = "facts"

    def __init__(
        self,
        database: Database,
        search: SearchStore,
        revisions: FactRevisionStore,
        *,
        ids: IdSource,
        counter: TokenCounter,
        clock: Clock,
    ) -> None:
        super().__init__(database, search, revisions, clock)
        self._ids = ids
        self._table = FactTable(search, revisions, counter)

    async def add(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        candidate: Candidate,
        change: Change,
        at: datetime,
        text: str | None = None,
        replaces: Collection[int] = (),
    ) -> Fact | None:
        """Learn a fact, unless it is known; the fact, known or new.

        What a current fact says already only confirms it: its confidence and its date, with no revision. The same
        triple in a longer text that holds the known one becomes its new text.

        Args:
            scope: whose fact.
            tx: the open transaction.
            candidate: what was found.
            change: who or what learned it, and why.
            at: when it was said.
            text: the fact's text where it is not the candidate's own.
            replaces: current facts that it takes the place of; they are superseded by it.

        Returns:
            None where something said or wished for later took it away: it is not learned anew from what was said
            before.

        Raises:
            InvalidInput: the text is empty.
        """
        said = candidate if text is None else replace(candidate, text=text)
        if not said.text.strip():
            raise InvalidInput("An empty text is no fact. Say what to remember.")
        at = as_stored(at)
        replaced = [old for old in [await self._table.changeable(scope, tx, one, change) for one in replaces] if old]
        fact = await self._said_again(scope, tx, said, change, at)
        if fact is None:
            if await self._table.is_settled(scope, tx, said, change.source_message, at):
                return None
            fact = with_previous_value(new_fact(self._ids.next(), scope, said, change.source_message, at), replaced)
            await self._table.revise(None, fact, tx, action="add", change=change, at=at, candidate=said.text)
        for old in replaced:
            if old.id != fact.id:
                await self.supersede(
                    scope, tx, fact_id=old.id, change=change, at=at, by=fact.id, candidate=candidate.text
                )
        return fact

    async def update(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        fact_id: int,
        candidate: Candidate,
        change: Change,
        at: datetime,
        text: str | None = None,
    ) -> Fact | None:
        """Give a fact a new text that holds more detail.

        Args:
            fact_id: the fact; one that cannot be changed is left as it is.
            candidate: what was said; a triple, dates and links in it become the fact's.
            at: when it was said.
            text: the new text where it is not the candidate's own.

        Returns:
            None, too, where something later took away what the candidate says.
        """
        fact = await self._table.changeable(scope, tx, fact_id, change)
        if fact is None or await self._table.is_settled(scope, tx, candidate, change.source_message, as_stored(at)):
            return None
        after = detailed(fact, candidate, text or candidate.text)
        after = replace(after, updated_at=max(fact.updated_at, as_stored(at)))
        await self._table.revise(fact, after, tx, action="update", change=change, at=at, candidate=candidate.text)
        return after

    async def confirm(self, scope: Scope, tx: Transaction, *, fact_id: int, change: Change) -> Fact | None:
        """Note a message that says what a fact says already."""
        fact = await self._table.changeable(scope, tx, fact_id, change)
        if fact is not None:
            await self._table.confirm(tx, said_again_in(fact, change.source_message))
        return fact

    async def supersede(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        fact_id: int,
        change: Change,
        at: datetime,
        by: int | None = None,
        candidate: str | None = None,
    ) -> Fact | None:
        """Retire a fact that is no longer true.

        Args:
            fact_id: the fact; one that cannot be changed is left as it is.
            by: the fact that took its place, where there is one.
            candidate: the text that contradicts it, for the history.
        """
        fact = await self._table.changeable(scope, tx, fact_id, change)
        if fact is None:
            return None
        after = replace(fact, state=FactState.SUPERSEDED, superseded_by=by)
        await self._table.revise(fact, after, tx, action="supersede", change=change, at=at, candidate=candidate)
        return after

    async def forget(self, scope: Scope, tx: Transaction, *, fact_id: int, change: Change, at: datetime) -> Fact | None:
        """Retire a fact that is not wanted; it is not learned again from anything said before."""
        fact = await self._table.changeable(scope, tx, fact_id, change)
        if fact is None:
            return None
        after = replace(fact, state=FactState.FORGOTTEN)
        await self._table.revise(fact, after, tx, action="forget", change=change, at=at)
        return after

    async def correct(
        self, scope: Scope, tx: Transaction, *, fact_id: int, text: str, change: Change, at: datetime
    ) -> Fact | None:
        """Put a person's own words in place of a fact's text. Its triple, which may be wrong now, goes.

        Raises:
            InvalidInput: the text is empty.
        """
        if not text.strip():
            raise InvalidInput("An empty text is no fact. Say what is right, or forget the fact.")
        fact = await self._table.changeable(scope, tx, fact_id, change)
        if fact is None:
            return None
        after = replace(fact, text=text, predicate="", object="", confidence=1.0, updated_at=as_stored(at))
        await self._table.revise(fact, after, tx, action="correct", change=change, at=at, candidate=text)
        return after

    async def pin(
        self, scope: Scope, tx: Transaction, *, fact_id: int, pinned: bool, change: Change, at: datetime
    ) -> Fact | None:
        """Keep a fact from any change but the person's own, or no longer."""
        fact = await self._table.changeable(scope, tx, fact_id, change)
        if fact is None or fact.pinned is pinned:
            return fact
        after = replace(fact, pinned=pinned)
        await self._table.revise(fact, after, tx, action="pin" if pinned else "unpin", change=change, at=at)
        return after

    async def reinstate(
        self, scope: Scope, tx: Transaction, *, fact_id: int, change: Change, at: datetime
    ) -> Fact | None:
        """Bring back a superseded or forgotten fact; None where there is none of that id."""
        fact = (await self._table.load(scope, tx, [fact_id])).get(fact_id)
        if fact is None or not fact.text or fact.state is FactState.CURRENT:
            return fact
        after = replace(fact, state=FactState.CURRENT, superseded_by=None)
        await self._table.revise(fact, after, tx, action="restore", change=change, at=at)
        return after

    async def revert(
        self, scope: Scope, tx: Transaction, *, revision_id: int, change: Change, at: datetime
    ) -> FactRevision:
        """Take one change back: what it changed is as it was before; what other changes did stays.

        Args:
            revision_id: the change.
            change: who takes it back.
            at: when.

        Raises:
            InvalidInput: there is no such change, or there is nothing of it to take back.
        """
        present, after = await self.without(scope, tx, revision_id=revision_id)
        return await self._table.revise(present, after, tx, action="revert", change=change, at=at)

    async def without(self, scope: Scope, tx: Transaction, *, revision_id: int) -> tuple[Fact, Fact]:
        """A fact as it is, and as ``revert`` would make it. Raises InvalidInput, as that does."""
        past = await self._revisions.load(scope, tx, revision_id=revision_id)
        [present] = (await self._table.load(scope, tx, [past.revision.fact_id])).values()
        after = taken_back(present, past.before, past.after)
        if after == present:
            raise InvalidInput("The fact is already as it was before that change.")
        if not after.text:
            raise InvalidInput("What it said before that change is gone: its message was edited or deleted.")
        return present, after

    async def undo(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        origin: Origin,
        change: Change,
        at: datetime,
    ) -> None:
        """Take back everything that one session or one job changed; facts changed again since stay as they are.

        Args:
            origin: the session or the job.
            change: who takes it back.
            at: when.
        """
        changes, _ = await self.without_work(scope, tx, origin=origin)
        for before, after in changes:
            await self._table.revise(before, after, tx, action="revert", change=change, at=at)

    async def without_work(
        self, scope: Scope, tx: Transaction, *, origin: Origin
    ) -> tuple[list[tuple[Fact, Fact]], list[Fact]]:
        """What ``undo`` would do.

        Returns:
            the facts it would change, as they are and as they would be; and those that would stay as they are.
        """
        work: dict[int, tuple[Fact | None, Fact]] = {}
        for past in await self._revisions.of_work(scope, tx, origin=origin):
            _, after = work.get(past.revision.fact_id, (None, past.after))
            work[past.revision.fact_id] = (past.before, after)
        present = await self._table.load(scope, tx, work.keys())
        goals, left = undone(work, present)
        gone = [present[goal.id] for goal in goals if not goal.text]  # their message was edited or deleted
        return [(present[goal.id], goal) for goal in goals if goal.text], [*left, *gone]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every fact of a scope, in the order they were learned."""
        return await rows_of_scope(self._database, facts, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back facts of an export; how many were not there. Raises InvalidInput where another one is."""
        return await self._table.restore(scope, tx, rows)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every fact of a scope (the search store erases its entries); rows deleted per table."""
        return {facts.name: await delete_scope(tx, facts, scope)}

    async def _said_again(
        self, scope: Scope, tx: Transaction, said: Candidate, change: Change, at: datetime
    ) -> Fact | None:
        """The current fact that says the same, confirmed or with more detail; None where there is none."""
        known = await self._table.alike(scope, tx, said, at)
        same = next((fact for fact in known if same_statement(fact, said)), None)
        if same is not None:
            again = said_again_in(confirmed(same, said), change.source_message)
            after = replace(again, updated_at=max(same.updated_at, at))
            await self._table.confirm(tx, after)
            return after
        less = next((fact for fact in known if adds_detail(fact, said)), None)
        if less is None:
            return None
        return await self.update(scope, tx, fact_id=less.id, candidate=said, change=change, at=at) or less
