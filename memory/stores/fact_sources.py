"""Takes back what a message taught once its author edited or deleted it.

A fact that rests on the message is erased with its history, so that no earlier version is a back door to words that
were taken away; whatever else said the same is named, to be learned from again. A fact that the person corrected or
pinned rests on their own word: it stays, and only its earlier words go.

Invariant: afterwards no fact, revision or search entry holds words that come from the message alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from memory.database import Transaction
from memory.policy.fact_changes import confirmations, not_said_in, without_previous_value, wordless
from memory.records import Change, Fact, FactState, Scope
from memory.stores.fact_revisions import FactChange, FactRevisionStore
from memory.stores.fact_table import FactTable

_TEACHING = ("add", "update")


class FactSources:
    """The facts of messages.

    Args:
        table: the facts.
        revisions: their history, which says what each message did.
    """

    def __init__(self, table: FactTable, revisions: FactRevisionStore) -> None:
        self._table = table
        self._revisions = revisions

    async def withdraw(
        self, scope: Scope, tx: Transaction, *, message_id: int, change: Change, at: datetime, edited: bool
    ) -> frozenset[int]:
        """Take back everything that a message taught.

        What it retired is true again, unless something else retired that since. A wish to forget stays fulfilled.

        Args:
            scope: whose facts.
            tx: the open transaction.
            message_id: the message.
            change: who takes it back, and why.
            at: when.
            edited: whether the message is still there, in other words: then what was forgotten of it stays known
                as unwanted, though without its words, so that the new words do not bring it back.

        Returns:
            the other messages that said what is erased now.
        """
        work = await self._revisions.of_message(scope, tx, source_message=message_id)
        taught = {past.revision.fact_id for past in work if past.revision.action in _TEACHING}
        known = await self._table.taught_by(scope, tx, message_id)
        taught |= {fact.id for fact in known.values() if fact.source_message == message_id}
        for fact in known.values():
            if fact.id not in taught:
                await self._table.write(tx, not_said_in(fact, message_id))
        retired = [past for past in work if past.revision.action == "supersede" and past.revision.fact_id not in taught]
        erased, again = set(), set()
        for fact in (await self._table.load(scope, tx, taught)).values():
            others = await self._untaught(scope, tx, fact, message_id, edited=edited)
            if others is not None:
                erased.add(fact.id)
                again |= others
        true_again = await self._retired_by_it_alone(scope, tx, retired, erased)
        await self._revisions.remove(scope, tx, revision_ids=[past.revision.id for past in retired])
        for fact in true_again:
            back = replace(fact, state=FactState.CURRENT, superseded_by=None)
            await self._table.revise(fact, back, tx, action="restore", change=change, at=at)
        return frozenset(again - {message_id})

    async def _retired_by_it_alone(
        self, scope: Scope, tx: Transaction, retired: Sequence[FactChange], erased: Collection[int]
    ) -> list[Fact]:
        """The facts that nothing but the message retired: by a fact that is erased now, or by none."""
        retiring = {past.revision.id for past in retired}
        found = []
        for fact in (await self._table.load(scope, tx, {past.revision.fact_id for past in retired})).values():
            history = await self._revisions.of_facts(scope, tx, fact_ids=[fact.id])
            last = next(past.revision.id for past in history if past.revision.action == "supersede")
            by = fact.superseded_by
            if fact.state is FactState.SUPERSEDED and last in retiring and (by is None or by in erased):
                found.append(fact)
        return found

    async def _untaught(
        self, scope: Scope, tx: Transaction, fact: Fact, message_id: int, *, edited: bool
    ) -> set[int] | None:
        """Take a fact back; the other messages that said it, or None where it was not true or stays."""
        history = await self._revisions.of_facts(scope, tx, fact_ids=[fact.id])
        others = _sources(fact, history) - {message_id}
        if fact.state is FactState.FORGOTTEN and others:
            return None  # it must stay known as unwanted in its own words, which others said too
        if fact.state is FactState.CURRENT and (fact.pinned or _was_corrected(history)):
            await self._keep_as_own_word(scope, tx, fact, corrected=_was_corrected(history))
            return None
        await self._pass_on(scope, tx, fact)
        if fact.state is FactState.FORGOTTEN and edited:
            await self._table.write(tx, wordless(fact))
            await self._revisions.reword(scope, tx, fact_id=fact.id, reworded=wordless)
            return None
        await self._table.remove(scope, tx, [fact.id])
        await self._revisions.remove(scope, tx, revision_ids=[past.revision.id for past in history])
        return others if fact.state is FactState.CURRENT else None

    async def _keep_as_own_word(self, scope: Scope, tx: Transaction, fact: Fact, *, corrected: bool) -> None:
        """Leave a fact as it reads now, and nothing of how it read before."""

        def reworded(past: Fact) -> Fact:
            said = past if past.text == fact.text else wordless(past)
            return replace(said, metadata={}) if corrected else said

        if corrected:
            await self._table.write(tx, replace(fact, metadata={}))
        await self._revisions.reword(scope, tx, fact_id=fact.id, reworded=reworded)

    async def _pass_on(self, scope: Scope, tx: Transaction, fact: Fact) -> None:
        """Let what a fact retired be retired by what retired the fact itself, which forgets the fact's value."""
        if fact.superseded_by is not None:
            for old in await self._table.superseded_by(scope, tx, fact.id):
                await self._table.write(tx, replace(old, superseded_by=fact.superseded_by))
            for later in (await self._table.load(scope, tx, [fact.superseded_by])).values():
                await self._table.write(tx, without_previous_value(later, fact.object))
                await self._revisions.reword(
                    scope, tx, fact_id=later.id, reworded=lambda past: without_previous_value(past, fact.object)
                )


def _sources(fact: Fact, history: Sequence[FactChange]) -> set[int]:
    """The messages that said a fact."""
    taught = {past.revision.change.source_message for past in history if past.revision.action in _TEACHING}
    return {source for source in (fact.source_message, *taught, *confirmations(fact)) if source is not None}


def _was_corrected(history: Sequence[FactChange]) -> bool:
    return any(past.revision.action == "correct" for past in history)
