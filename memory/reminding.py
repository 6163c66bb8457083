"""What the agent's tools do with reminders.

Invariant: a reminder is set for a moment that is still to come, and belongs to the conversation it was set in.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from memory.errors import InvalidInput
from memory.exchange import Exchange, Place
from memory.ids import handle_of
from memory.policy.audience import reach_of_person
from memory.policy.fact_text import normalised
from memory.policy.reminder_times import moment_of
from memory.records import Reminder
from memory.saving import saving
from memory.services import Services

LONGEST_TEXT = 500
MOST_WAITING = 50
_FURTHEST = timedelta(days=5 * 366)
_EXAMPLES = 'Say it as "tomorrow at 9", "in 10 minutes", "on Friday at 17:00" or as 2026-03-05T14:30.'
_AGAIN_AND_AGAIN = re.compile(r"\b(?:every|each|daily|weekly|monthly|yearly|hourly)\b", re.I)


class Reminding:
    """Reminders as the agent uses them.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._stores = services.stores

    async def set(self, exchange: Exchange, *, text: str, when: str) -> tuple[Reminder, datetime]:
        """Set a reminder; it, and its moment in the person's time zone.

        Args:
            exchange: in which it was asked for; words like "in 10 minutes" count from its message.
            text: what to say.
            when: an ISO time, or words.

        Raises:
            InvalidInput: the time is not understood, past or too far away, there are too many reminders, or nothing
                is to be remembered.
            PersonErased: the person was erased meanwhile.
        """
        if len(text) > LONGEST_TEXT:
            raise InvalidInput(f"A reminder has at most {LONGEST_TEXT} characters. Say it shorter.")
        if not exchange.session.kept:
            raise InvalidInput(
                "Nothing of this conversation is to be remembered, and so no reminder either. /mydata incognito, "
                "or /mydata resume where memory is paused, ends that."
            )
        zone = await self._stores.preferences.zone(self._place.scope)
        moment = self._understood(when, exchange.user.sent_at.astimezone(zone))
        async with saving(self._services, exchange) as tx:
            waiting = await self._stores.reminders.waiting(reach_of_person(self._place.scope.person))
            if len(waiting) >= MOST_WAITING:
                raise InvalidInput(f"There are {MOST_WAITING} reminders already. Cancel one first.")
            reminder = await self._stores.reminders.add(
                self._place.scope,
                tx,
                conversation=self._place.conversation,
                heard_by=self._place.audience,
                community=self._place.community,
                reply_to=exchange.user.platform_id or "",
                text=text,
                due_at=moment,
                source_message=exchange.user.id,
                at=self._services.clock.now(),
            )
        return reminder, moment.astimezone(zone)

    async def waiting(self) -> list[tuple[Reminder, datetime]]:
        """The reminders that this conversation may know of, with their moments in the person's time zone."""
        zone = await self._stores.preferences.zone(self._place.scope)
        own, *_ = self._place.reach.of_each  # those of a linked account are said, and cancelled, there
        found = await self._stores.reminders.waiting(own)
        return [(reminder, reminder.due_at.astimezone(zone)) for reminder in found]

    async def cancel(self, said: str) -> Reminder:
        """Take a reminder back.

        Args:
            said: its handle, or words that stand in no other one.

        Raises:
            InvalidInput: no reminder, or more than one, is meant, or it is being said just now.
        """
        meant = _chosen([reminder for reminder, _ in await self.waiting()], said)
        async with self._services.database.transaction() as tx:
            if not await self._stores.reminders.cancel(
                meant.scope, tx, reminder_id=meant.id, at=self._services.clock.now()
            ):
                raise InvalidInput("That reminder is being said just now.")
        return meant

    def _understood(self, when: str, asked_at: datetime) -> datetime:
        if _AGAIN_AND_AGAIN.search(when):
            raise InvalidInput("A reminder is said once; one that comes back cannot be set. Name a single moment.")
        moment = moment_of(when, asked_at)
        if moment is None:
            raise InvalidInput(f"The time {when[:80]!r} is not understood. {_EXAMPLES}")
        if moment <= asked_at:  # what was to come when it was asked for is not refused for a slow answer
            raise InvalidInput(f"{moment:%Y-%m-%d %H:%M} is past already. Name a moment that is still to come.")
        if moment - asked_at > _FURTHEST:
            raise InvalidInput("That is more than five years away. Name an earlier moment.")
        return moment


def _chosen(reminders: list[Reminder], said: str) -> Reminder:
    words = normalised(said)
    found = [one for one in reminders if handle_of(one.id) == words] or [
        one for one in reminders if words and words in normalised(one.text)
    ]
    if not reminders:
        raise InvalidInput("There are no reminders.")
    if len(found) != 1:
        names = "; ".join(f"{handle_of(one.id)}: {one.text[:40]}" for one in (found or reminders)[:10])
        problem = "Several reminders have these words." if found else "There is no such reminder."
        raise InvalidInput(f"{problem} Name one of: {names}.")
    return found[0]
