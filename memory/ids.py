"""Record ids: 63-bit integers that rise with time and need no coordination between processes.

Layout, after Twitter's Snowflake (2010): 41 bits of milliseconds since 2024-01-01 UTC, then 22 bits that start
at a random point in each millisecond. FAISS, SQLite and Postgres all take them as they are.

Invariant: one ``IdSource`` never returns the same id twice, and each is larger than the one before.
"""

from __future__ import annotations

import base64
import hashlib
import random
from datetime import UTC, datetime, timedelta
from threading import Lock

from memory.ports import Clock

_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
_LOW_BITS = 22


class IdSource:
    """Draws ids.

    Args:
        clock: where the time comes from. A clock that stands still or goes back still gives rising ids.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._random = random.Random()  # begins anywhere; nothing rests on an id that nobody can guess
        self._drawing = Lock()  # database threads draw as well as the event loop

    def next(self) -> int:
        """A new id."""
        milliseconds = max(0, (self._clock.now() - _EPOCH) // timedelta(milliseconds=1))
        # Half of the low bits are random, so that a run of ids within a millisecond does not spill over.
        candidate = (milliseconds << _LOW_BITS) | self._random.getrandbits(_LOW_BITS - 1)
        with self._drawing:
            self._last = max(candidate, self._last + 1)
            return self._last


def handle_of(record_id: int) -> str:
    """Six letters and digits by which people name a record, the same for ever, unlike any other's but by chance.

    Of 2,000 records two share a handle once in 500 times (30 bits).
    """
    digest = hashlib.blake2b(record_id.to_bytes(8, "big"), digest_size=5).digest()
    return base64.b32encode(digest).decode().lower()[:6]
