"""Every sentence the bot says by itself, in one place: plain words, what happened, what to do.

Invariant: nothing here shows a stack trace, a secret or another person's data.
"""

from __future__ import annotations

from datetime import datetime

from bot.chat import Conversation
from bot.model_rules import sentence_of
from memory.errors import EmbedderError, MemorySystemError, ModelError, StorageError
from memory.messages import StopReason
from memory.policy.limits import Limit

EMPTY_MESSAGE = "Your message has no text that I can read. Write me something and I will answer."
REFUSED = "I can't help with that. Let's talk about something else."
NOTHING_TO_SAY = "I have no answer to that. Could you put it differently?"
BROKEN_OFF = "I was interrupted while I wrote this answer. Please ask again."
STOPPING = "I am about to be restarted, so I did not begin with this. Please try again in a minute."
STOPPED = "I was stopped before this was done. Please look whether it was, and try again in a minute."
SHORTENED = "\n\n(Your message was longer than I can read at once, so I left out its middle.)"
_CUT_OFF = " … (cut off: the answer was longer than I may write)"
UNFINISHED = {
    StopReason.MAX_TOKENS: _CUT_OFF,
    StopReason.CONTEXT_EXCEEDED: _CUT_OFF,
    StopReason.INTERRUPTED: " … (broken off: the connection to my model was lost)",
}
"""What stands below an answer that is not whole, by why it ended."""

_LATE = "(This is late: I was away when you wrote.)"
_KEPT = " Your message is kept."

_TROUBLE: tuple[tuple[type[MemorySystemError], str], ...] = (
    (EmbedderError, "My memory search is broken; whoever runs me has to look at it (keepsake doctor)."),
    (StorageError, "I can't use my memory right now; whoever runs me has to look at it (keepsake doctor)."),
)


def reminder(text: str, *, late_for: datetime | None) -> str:
    """A reminder as it is said.

    Args:
        text: what the person wanted to be reminded of.
        late_for: when it was due, in the person's time zone, where it could not be said then.
    """
    said = f"Reminder: {text}"
    if late_for is None:
        return said
    return f"{said}\n\n(This is late: it was for {late_for:%Y-%m-%d %H:%M} {late_for.tzname()}.)"


def limit_reached(limit: Limit, most: int, *, resets: datetime) -> str:
    """What is said instead of an answer when the day's limit is used up.

    Args:
        limit: which one.
        most: its value.
        resets: when the next day begins, in the installation's time zone.
    """
    whose = "you" if limit in (Limit.PERSON_TURNS, Limit.PERSON_TOKENS) else "everybody here together"
    what = "answers" if limit in (Limit.PERSON_TURNS, Limit.COMMUNITY_TURNS) else "tokens"
    again = f"{resets:%Y-%m-%d %H:%M} {resets.tzname()}"
    reached = f"That was all for today: the limit for {whose} is {most:,} {what} a day."
    return f"{reached} I answer again from {again} on.{_KEPT}"


def waiting(position: int) -> str:
    """What is shown while many are answered at once and this one has to wait."""
    return f"(Many people are asking me at once. You are number {position:,} in line.)"


def with_notes(reply: str, *notes: str, late: bool) -> str:
    """An answer with what is to be said below it, and that it comes late where it does."""
    return "\n\n".join(filter(None, (reply, *notes, _LATE if late else "")))


def notice(where: Conversation, *, admin_reads_dms: bool) -> str:
    """What a person is told below the first answer: what is remembered, who may see it, how to see and erase it.

    Args:
        where: the conversation of the answer.
        admin_reads_dms: admins of a Slack workspace may read what is remembered of direct messages.
    """
    direct = ", of direct messages too" if admin_reads_dms else " of what you say in channels, not of direct messages"
    readers = {
        "discord": "Admins of a server can see what I remember of what you say in it, never of direct messages.",
        "slack": f"Admins of this workspace can see what I remember{direct}.",
        "console": "Whoever runs me can see it.",
    }
    return (
        f"I remember what we talk about, so that I know it next time. {readers.get(where.platform, '')} "
        "`/mydata show` shows you everything, `/mydata pause` stops it, `/mydata erase` erases it."
    )


def trouble(error: MemorySystemError) -> str:
    """What to tell a person whose message could not be answered."""
    if isinstance(error, ModelError):
        return sentence_of(error) + _KEPT
    for kind, sentence in _TROUBLE:
        if isinstance(error, kind):
            return sentence + _KEPT
    return str(error)


def bug(error_id: str) -> str:
    """What to tell a person when the fault is ours."""
    return f"Something went wrong on my side (error {error_id}). It has been noted." + _KEPT
