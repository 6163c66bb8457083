"""The tools of reminders: set, list, cancel.

Invariant: times are told in the person's time zone, with the zone's name.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from bot.tools import Arguments, Tool
from memory.exchange import Exchange
from memory.ids import handle_of
from memory.person import PersonMemory


class SetArguments(Arguments):
    text: str = Field(min_length=1, description="As it will be said to the person.")
    when: str = Field(
        min_length=1,
        description='Local time as 2026-03-05T14:30, or words: "tomorrow at 9".',
    )


class ListArguments(Arguments):
    pass


class CancelArguments(Arguments):
    reminder: str = Field(min_length=1, description="Its six letters, or words of its text.")


async def _set(memory: PersonMemory, exchange: Exchange, arguments: SetArguments) -> str:
    reminder, moment = await memory.reminding.set(exchange, text=arguments.text, when=arguments.when)
    return f"Reminder {handle_of(reminder.id)} is set for {_told(moment)}."


async def _list(memory: PersonMemory, exchange: Exchange, arguments: ListArguments) -> str:
    waiting = await memory.reminding.waiting()
    lines = [f"- {handle_of(one.id)}, {_told(moment)}: {' '.join(one.text.split())}" for one, moment in waiting]
    return "\n".join(lines) or "There are no reminders."


async def _cancel(memory: PersonMemory, exchange: Exchange, arguments: CancelArguments) -> str:
    reminder = await memory.reminding.cancel(arguments.reminder)
    return f"The reminder is cancelled: {' '.join(reminder.text.split())}"


def _told(moment: datetime) -> str:
    return f"{moment:%A, %Y-%m-%d %H:%M} {moment.tzname()}"


REMINDER_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="set_reminder",
        description="Write to the person here once, later.",
        arguments=SetArguments,
        run=_set,
    ),
    Tool(
        name="list_reminders",
        description="List the reminders.",
        arguments=ListArguments,
        run=_list,
    ),
    Tool(
        name="cancel_reminder",
        description="Take a reminder back.",
        arguments=CancelArguments,
        run=_cancel,
    ),
)
