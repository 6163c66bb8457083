"""Every sentence the bot says by itself, in one place: plain words, what happened, what to do.

Invariant: nothing here shows a stack trace, a secret or another person's data.
"""

from __future__ import annotations

from bot.chat import Conversation
from memory.errors import (
    ContextOverflow,
    EmbedderError,
    MemorySystemError,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    StorageError,
    StreamInterrupted,
)

EMPTY_MESSAGE = "Your message has no text that I can read. Write me something and I will answer."
REFUSED = "I can't help with that. Let's talk about something else."
NOTHING_TO_SAY = "I have no answer to that. Could you put it differently?"
BROKEN_OFF = "I was interrupted while I wrote this answer. Please ask again."
CUT_OFF = " … (cut off: the answer was longer than I may write)"

_KEPT = " Your message is kept."

_MODEL_TROUBLE: tuple[tuple[type[MemorySystemError], str], ...] = (
    (ModelOverloaded, "My model is overloaded right now. Please ask again in a few minutes."),
    (ModelTimeout, "My model took too long to answer. Please ask again."),
    (StreamInterrupted, "My answer broke off on the way. Please ask again."),
    (
        ContextOverflow,
        "That was too long for my model even after I shortened it. Please send it in smaller pieces.",
    ),
    (ModelRejected, "My model refused the request; whoever runs me has to look at its key and settings."),
    (ModelUnavailable, "I can't reach my model right now. Please ask again later."),
    (ModelError, "My model could not answer. Please ask again."),
    (EmbedderError, "My memory search is broken; whoever runs me has to look at it (keepsake doctor)."),
    (StorageError, "I can't use my memory right now; whoever runs me has to look at it (keepsake doctor)."),
)


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
    if isinstance(error, ModelRateLimited):
        wait = f" in about {round(error.retry_after / 60) or 1} min" if error.retry_after else " later"
        return f"I am asked more than my model allows. Please ask again{wait}." + _KEPT
    for kind, sentence in _MODEL_TROUBLE:
        if isinstance(error, kind):
            return sentence + _KEPT
    return str(error)


def bug(error_id: str) -> str:
    """What to tell a person when the fault is ours."""
    return f"Something went wrong on my side (error {error_id}). It has been noted." + _KEPT
