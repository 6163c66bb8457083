"""Channels that take no answers: the bot stops trying there for a while.

A platform that refuses whatever is sent (no permission to write, a locked thread, a person who blocks the bot) must
not be asked again with every message: Discord shuts out whoever collects 10,000 refused requests in ten minutes.

Invariant: an answer that is taken opens a channel at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from bot.chat import Conversation
from memory.ports import Clock

_log = structlog.get_logger(__name__)

_REFUSALS = 3
_CLOSED_FOR = timedelta(minutes=10)
_CHANNELS = 1_000


class Refusals:
    """Counts refused answers by channel, its threads included.

    Args:
        clock: tells how long a channel stays closed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_a_row: dict[str, int] = {}
        self._closed_until: dict[str, datetime] = {}

    def may_speak(self, where: Conversation) -> bool:
        """Whether an answer there is worth a try."""
        now = self._clock.now()
        return self._closed_until.get(_channel(where), now) <= now

    def note(self, where: Conversation, *, refused: bool) -> None:
        """Note what became of an answer. Once its time is over, a closed channel is closed anew by one refusal."""
        channel = _channel(where)
        before = self._in_a_row.pop(channel, 0)
        if not refused:
            self._closed_until.pop(channel, None)
            return
        self._in_a_row[channel] = before + 1
        if self._in_a_row[channel] >= _REFUSALS:
            self._closed_until[channel] = self._clock.now() + _CLOSED_FOR
            _log.warning("channel_takes_no_answers", channel=channel, minutes=_CLOSED_FOR.seconds // 60)
        if len(self._in_a_row) > _CHANNELS:
            oldest = next(iter(self._in_a_row))
            del self._in_a_row[oldest]
            self._closed_until.pop(oldest, None)


def _channel(where: Conversation) -> str:
    return where.parent or where.key
