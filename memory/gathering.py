"""What the prompt of a conversation is made of: what always stands in it, its window, and what is found unasked.

Invariant: nothing is shown twice: what stands in the window is neither searched for nor told by the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory.exchange import Exchange, Place
from memory.messages import ToolSpec
from memory.policy.audience import audience_note
from memory.policy.hot_state import as_json
from memory.policy.journal import printed
from memory.policy.presets import parts_of
from memory.policy.relevance import has_content
from memory.policy.working_memory import shown
from memory.processes.wanted import Wanted
from memory.prompt.assembler import Gathered
from memory.prompt.fitting import fit_talk
from memory.records import Candidates, StoredMessage
from memory.services import Services


class Gathering:
    """Reads what a prompt is made of.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._stores = services.stores

    async def gather(self, exchange: Exchange, *, tools: tuple[ToolSpec, ...], now: datetime) -> Gathered:
        """Everything that the prompt is made of. Full text is searched while the message is embedded."""
        services, reach, text = self._services, self._place.reach, exchange.user.text
        wanted = self._wanted() if has_content(text) else Wanted()

        async def read() -> tuple[Gathered, Sequence[StoredMessage], Candidates | None]:
            window = await self._stores.recall.window(self._place.scope, self._place.conversation)
            standing = await self.standing(exchange, tools=tools, now=now)
            standing = replace(standing, journal=await self._journal(window))
            shown_already = _in_sight(window, exchange)
            return standing, window, await services.retriever.worded(reach, text, wanted=wanted, exclude=shown_already)

        embedding = asyncio.ensure_future(services.retriever.compared(text, wanted))
        try:
            await asyncio.sleep(0)  # or the trip to a database thread begins first, and keeps the embedder waiting
            standing, window, worded = await services.database.read_in_one_trip(read)
            found = await services.retriever.retrieve(
                self._place.scope,
                reach,
                text,
                wanted=wanted,
                exclude=_in_sight(window, exchange),
                embedding=embedding,
                worded=worded,
                zone=standing.now.tzinfo,
            )
        finally:
            embedding.cancel()
        return replace(
            standing,
            history=tuple(message for message in window if message.id < exchange.user.id),
            turn=(exchange.user.message,),
            hits=found.hits,
            unsearched=found.failed,
            channel_context=self._channel_context(exchange),
        )

    def _channel_context(self, exchange: Exchange) -> str:
        """What others said here since the person was last answered: as many of the newest as may be shown."""
        services, user = self._services, exchange.user
        lines = services.talk.since_last_answer(
            self._place.conversation, person=self._place.scope.person, message_id=user.platform_id, at=user.sent_at
        )
        return fit_talk(lines, services.parameters, services.counter.count)

    async def _journal(self, window: Sequence[StoredMessage]) -> tuple[str, ...]:
        """The newest lines of the journal, but for those of exchanges that stand in the window, oldest first."""
        shown = {message.exchange_id for message in window}
        entries = await self._stores.journal.tail(self._place.scope, self._services.parameters.journal_tail_entries)
        zone = self._services.parameters.zone
        return tuple(printed(entry, zone) for entry in entries if entry.source_message not in shown)

    async def standing(self, exchange: Exchange, *, tools: tuple[ToolSpec, ...], now: datetime) -> Gathered:
        """What a prompt of this conversation holds before any message."""
        parts = parts_of(self._services.parameters.preset)
        kept = await self._stores.standing.load(exchange.session)
        return Gathered(
            hot=as_json(kept.hot) if parts.tiers and kept.hot.version else "",
            tree=kept.tree if parts.tiers else "",
            agent_name=self._services.parameters.agent_name,
            audience_note=audience_note(self._place.audience, kept=exchange.session.kept),
            summary=kept.summary if parts.rolling_summary else "",
            blocks=kept.blocks if parts.core_memory else (),
            window_summary=exchange.session.window_summary,
            history=(),
            turn=(),
            hits=(),
            now=now.astimezone(kept.zone),
            working_memory=shown(kept.working),
            tools=tools,
        )

    def _wanted(self) -> Wanted:
        """How much is looked for unasked."""
        parameters = self._services.parameters
        parts = parts_of(parameters.preset)
        return Wanted(
            hits=parameters.retrieved_hits if parts.retrieval else 0,
            facts=parameters.retrieved_facts if parts.facts else 0,
            episodes=parameters.retrieved_episodes if parts.experience else 0,
            procedures=parameters.retrieved_procedures if parts.experience else 0,
            entries=parameters.retrieved_entries if parts.tiers else 0,
            by_tree_alone=not parts.meaning,
        )


def _in_sight(window: Sequence[StoredMessage], exchange: Exchange) -> frozenset[int]:
    """The messages that the prompt shows anyway."""
    return frozenset(message.id for message in window) | {exchange.user.id}
