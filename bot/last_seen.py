"""The last message that was seen in each channel, kept over a restart, so that what was missed can be asked for.

Noted in memory, and written down now and then: after a crash a little more is asked for than was missed, and the inbox
knows what it has.

Invariant: a channel's last message only ever gets later.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from memory.errors import StorageError
from memory.ports import Clock
from memory.stores.last_seen import Seen
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)

_CHANNELS_KNOWN = timedelta(days=30)
_MOST_CHANNELS = 200


class LastSeen:
    """Notes what was seen.

    Args:
        system: keeps it.
        clock: says how long ago something was missed.
        reach: how far back what was missed is asked for; zero for not at all.
    """

    def __init__(self, *, system: MemorySystem, clock: Clock, reach: timedelta) -> None:
        self._system = system
        self._clock = clock
        self._reach = reach
        self._noted: dict[str, Seen] = {}

    def note(self, channel: str, message: str, at: datetime) -> None:
        """Note a message.

        Args:
            channel: begins with the platform's name and a colon.
            message: the platform's id of it.
            at: when it was said.
        """
        known = self._noted.get(channel)
        if known is None or at > known.at:
            self._noted[channel] = Seen(message=message, at=at)

    async def flush(self) -> None:
        """Write down what was noted; what cannot be written now is kept for the next time."""
        noted, self._noted = self._noted, {}
        if not noted:
            return
        try:
            async with self._system.transaction() as tx:
                await self._system.stores.last_seen.note(tx, noted)
        except StorageError as error:
            self._noted = noted | self._noted
            _log.warning("last_seen_not_written", error=str(error))

    async def on(self, platform: str) -> dict[str, Seen]:
        """From where on each channel of a platform is to be asked for what was missed, the latest channels first.

        Raises:
            StorageError: the database cannot be asked.
        """
        if not self._reach:
            return {}
        await self.flush()
        known = await self._system.stores.last_seen.since(self._clock.now() - _CHANNELS_KNOWN)
        ours = [(channel, seen) for channel, seen in known.items() if channel.startswith(f"{platform}:")]
        return dict(ours[:_MOST_CHANNELS])

    @property
    def not_before(self) -> datetime:
        """The earliest moment of which something is asked for."""
        return self._clock.now() - self._reach
