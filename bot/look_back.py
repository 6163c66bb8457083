"""What is kept of the conversations that went on lately, for an adapter to compare with what its platform shows.

A platform tells nobody twice that a message was edited or deleted. So after a time without connection an adapter looks
at the latest messages of each conversation, and tells what it finds as if it had just happened.

Invariant: bounded, in conversations, in messages and in days.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from memory.ports import Clock
from memory.system import MemorySystem

_MOST_CONVERSATIONS = 200
_MOST_POSTS = 500


class LookBack:
    """Looks into what is kept.

    Args:
        system: keeps it.
        clock: says how long ago something was said.
        reach: how far back is looked; zero for not at all.
    """

    def __init__(self, *, system: MemorySystem, clock: Clock, reach: timedelta) -> None:
        self._posts = system.stores.kept_posts
        self._clock = clock
        self._reach = reach

    async def conversations(self, platform: str) -> list[str]:
        """The keys of a platform's conversations that are to be looked at, the latest first.

        Raises:
            StorageError: the database cannot be asked.
        """
        if not self._reach:
            return []
        return await self._posts.conversations(platform, since=self.not_before, limit=_MOST_CONVERSATIONS)

    async def posts(self, conversation: str) -> Mapping[str, datetime | None]:
        """What is kept of a conversation: by the platform's id of each post, when it was last edited.

        Raises:
            StorageError: the database cannot be asked.
        """
        return await self._posts.posts(conversation, since=self.not_before, limit=_MOST_POSTS)

    @property
    def not_before(self) -> datetime:
        """The earliest moment that is looked at."""
        return self._clock.now() - self._reach
