"""What the agent's tool does with the journal: it reads and searches it, and keeps notes of its own there.

Invariant: the agent changes its own notes alone, and a note that it rewrites or clears stays, out of sight.
"""

from __future__ import annotations

from dataclasses import replace

from memory.errors import InvalidInput
from memory.exchange import Exchange, Place
from memory.policy.journal import printed
from memory.records import ArchiveReason, JournalCategory, NumberedEntry, SearchHit
from memory.saving import saving
from memory.services import Services

_LONGEST = 1_000  # characters of a note: longer texts belong in archival memory
_SHOWN = 30


class Notes:
    """The journal as the agent uses it.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._journal = services.stores.journal

    async def lines(self) -> list[str]:
        """The newest entries in sight, oldest first: ``12. [2026-03-02 09:00:00] text``."""
        return [self._line(one) for one in await self._journal.numbered(self._place.scope, limit=_SHOWN)]

    async def whole(self, number: int) -> str:
        """One entry, in sight or not, with the whole of what the tool answered. Raises InvalidInput: there is none."""
        found = await self._journal.numbered(self._place.scope, number=number)
        if not found:
            raise InvalidInput(f"There is no entry {number}. Read without a number to see the entries.")
        line, result = self._line(found[0]), found[0].entry.result
        if result is None:
            return line
        messages = await self._services.stores.recall.get(self._place.reach, [result.message_id])
        said = [part.content for one in messages for part in one.message.tool_results if part.call_id == result.call_id]
        return "\n".join([line, *said])

    async def search(self, query: str, *, limit: int) -> list[SearchHit]:
        """The entries that answer a query best, digested ones included, each behind its number here."""
        embedded = await self._services.retriever.embed(query)
        hits = await self._journal.search(self._place.reach, query, limit=limit, embedded=embedded)
        numbers = await self._journal.numbers_of(self._place.scope, [hit.record_id for hit in hits])
        return [
            replace(hit, text=f"{numbers[hit.record_id]}. {hit.text}") if hit.record_id in numbers else hit
            for hit in hits
        ]

    async def append(self, exchange: Exchange, text: str) -> None:
        """Add a note. Raises InvalidInput where it is empty or too long, NotKept or PersonErased."""
        now = self._services.clock.now()
        async with saving(self._services, exchange) as tx:
            await self._journal.append(
                self._place.scope,
                tx,
                category=JournalCategory.NOTE,
                text=_checked(text),
                change=exchange.by_agent("memory append"),
                at=now,
            )
            await self._services.journaling.keep_short(self._place.scope, tx, at=now)

    async def update(self, exchange: Exchange, number: int, text: str) -> None:
        """Put another text in the place of a note. Raises InvalidInput, NotKept or PersonErased."""
        now, change = self._services.clock.now(), exchange.by_agent("memory update")
        async with saving(self._services, exchange) as tx:
            note = await self._note(number)
            new = await self._journal.append(
                self._place.scope, tx, category=JournalCategory.NOTE, text=_checked(text), change=change, at=now
            )
            await self._journal.archive(
                self._place.scope,
                tx,
                entry_ids=[note.entry.id],
                reason=ArchiveReason.REWRITTEN,
                change=change,
                at=now,
                replaced_by=new.id,
            )

    async def clear(self, exchange: Exchange, number: int | None) -> int:
        """Take a note, or all, out of sight; how many. Raises InvalidInput, NotKept or PersonErased."""
        async with saving(self._services, exchange) as tx:
            notes = [await self._note(number)] if number is not None else await self._notes()
            return await self._journal.archive(
                self._place.scope,
                tx,
                entry_ids=[note.entry.id for note in notes],
                reason=ArchiveReason.CLEARED,
                change=exchange.by_agent("memory clear"),
                at=self._services.clock.now(),
            )

    async def summarize(self, exchange: Exchange) -> int:
        """Have all entries digested into one, in the background; how many. Raises NotKept or PersonErased."""
        async with saving(self._services, exchange) as tx:
            entries = await self._journal.in_sight(self._place.scope, tx)
            if entries > 1:
                at = self._services.clock.now()
                await self._services.journaling.digest_soon(self._place.scope, tx, keep=0, at=at)
            return entries

    async def _notes(self) -> list[NumberedEntry]:
        entries = await self._journal.numbered(self._place.scope)
        return [one for one in entries if one.entry.category is JournalCategory.NOTE]

    async def _note(self, number: int) -> NumberedEntry:
        for note in await self._notes():
            if note.number == number:
                return note
        raise InvalidInput(f"There is no note {number} in sight. Read to see the notes and their numbers.")

    def _line(self, numbered: NumberedEntry) -> str:
        return f"{numbered.number}. {printed(numbered.entry, self._services.parameters.zone)}"


def _checked(text: str) -> str:
    if len(text) > _LONGEST:
        raise InvalidInput(
            f"The note has {len(text):,} characters, and {_LONGEST:,} are allowed. Shorten it, or keep the text in "
            "archival memory."
        )
    return text
