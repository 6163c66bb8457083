"""The last message that was seen in each channel, and when the bot was there, kept over a restart.

By the first, what was missed in a channel can be asked for; by the second, what was missed where nothing was ever seen.

Noted in memory, and written down now and then: after a crash a little more is asked for than was missed, and the inbox
knows what it has.

Invariant: a channel's last message only ever gets later, as does the time at which the bot was there, and both stay
where they were while what was missed before is still being asked for.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from memory.errors import StorageError
from memory.ports import Clock
from memory.stores.last_seen import Seen
from memory.system import MemorySystem
from memory.tidying import CHANNELS_KNOWN

_log = structlog.get_logger(__name__)

_MOST_CHANNELS = 2_000
_PRESENCE_NOTED = timedelta(minutes=1)
# A connection that is dead is found out late, and two clocks do not agree.
_PRESENCE_UNSURE = timedelta(minutes=2)


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
        self._ahead: dict[str, Seen] = {}
        self._present: dict[str, Seen] = {}
        self._caught_up: set[str] = set()

    def lost(self, platform: str) -> None:
        """From now on messages of a platform may be missed, as before its first connection."""
        if platform in self._caught_up:
            self._note_presence(platform)
        self._caught_up.discard(platform)

    def caught_up(self, platform: str) -> None:
        """What was missed on a platform has been asked for."""
        self._caught_up.add(platform)
        ahead, self._ahead = self._ahead, {}
        for channel, seen in ahead.items():
            self._keep(channel, seen)

    def note(self, channel: str, message: str, at: datetime) -> None:
        """Note a message.

        Args:
            channel: begins with the platform's name and a colon.
            message: the platform's id of it.
            at: when it was said.
        """
        self._keep(channel, Seen(message=message, at=at))

    def _keep(self, channel: str, seen: Seen) -> None:
        noted = self._noted if channel.partition(":")[0] in self._caught_up else self._ahead
        if channel not in noted or seen.at > noted[channel].at:
            noted[channel] = seen

    def _note_presence(self, platform: str) -> None:
        """Note that the bot is on a platform at this moment, under the platform's own name."""
        self._noted[platform] = self._present[platform] = Seen(message="", at=self._clock.now())

    async def flush(self) -> None:
        """Write down what was noted; what cannot be written now is kept for the next time."""
        for platform in self._caught_up:
            last = self._present.get(platform)
            if last is None or self._clock.now() - last.at >= _PRESENCE_NOTED:
                self._note_presence(platform)
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
        known = await self._system.stores.last_seen.since(self._clock.now() - CHANNELS_KNOWN)
        ours = [(channel, seen) for channel, seen in known.items() if channel.startswith(f"{platform}:")]
        return dict(ours[:_MOST_CHANNELS])

    async def absent_since(self, platform: str) -> datetime | None:
        """The moment up to which the bot surely heard all that was said on a platform; None before its first time.

        Raises:
            StorageError: the database cannot be asked.
        """
        if not self._reach:
            return None
        await self.flush()
        present = await self._system.stores.last_seen.of(platform)
        return None if present is None else max(present.at - _PRESENCE_UNSURE, self.not_before)

    @property
    def not_before(self) -> datetime:
        """The earliest moment of which something is asked for."""
        return self._clock.now() - self._reach
