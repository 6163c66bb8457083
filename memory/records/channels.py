"""What is known of a channel or thread, and is nobody's personal data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ChannelMode(StrEnum):
    """When the bot answers in a channel without being named."""

    MENTION = "mention"
    THREADS = "threads"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """What holds in a channel or thread.

    Attributes:
        silenced: an admin switched the bot off here, or in the channel that this thread hangs on.
        mode: what an admin chose for this thread, else for its channel; None where nobody chose.
        engaged_at: when the bot last took part in this thread; None where it never did.
    """

    silenced: bool = False
    mode: ChannelMode | None = None
    engaged_at: datetime | None = None
