"""What comes in from Discord, handed over in the order it came, and what was missed while the connection was away.

Which messages are for the bot, ``bot/speaking.py`` says.

Invariant: a message is handed over before anything else is done with it, and in the order Discord sent it. One that
could not be stored counts as missed, since Discord tells it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import TypeVar

import discord
import structlog

from adapters.discord_catching_up import ChannelsLeft, missed_messages
from adapters.discord_looking_back import untold_changes
from adapters.discord_message import PLATFORM, heard_in
from bot.changes import OnChange, PlatformChange
from bot.chat import OnMessage
from bot.last_seen import LastSeen
from bot.listener import IsForUs
from bot.look_back import LookBack
from bot.speaking import Heard
from memory.errors import MemorySystemError
from memory.ports import Sleep

_log = structlog.get_logger(__name__)

_LONGEST_LOOK_BACK = 120.0
_LOOK_AGAIN = 30.0  # seconds

_Result = TypeVar("_Result")


class DiscordIntake:
    """Takes in what discord.py tells.

    Args:
        on_message: stores a message durably. Called for the messages that are for the bot.
        is_for_us: says which those are. Asked about all that is said.
        on_change: follows edits and deletions, and which servers the bot is in.
        last_seen: what was seen in each channel; None to ask for nothing that was missed.
        look_back: what is kept of late; None to look for no changes that nobody told of.
        sleep: waits before it looks for what it could not take in.
    """

    def __init__(
        self,
        *,
        on_message: OnMessage,
        is_for_us: IsForUs,
        on_change: OnChange,
        last_seen: LastSeen | None,
        look_back: LookBack | None,
        sleep: Sleep,
    ) -> None:
        self._on_message = on_message
        self._is_for_us = is_for_us
        self._on_change = on_change
        self._last_seen = last_seen
        self._look_back = look_back
        self._sleep = sleep
        self._order = asyncio.Lock()
        self._storing: set[asyncio.Task[object]] = set()
        self._catching_up: set[asyncio.Task[None]] = set()
        self._looking_again: asyncio.Task[None] | None = None
        self._looks_owed = 0
        self._sessions = 0
        self._is_look_owed = True
        self._away: set[int] = set()
        self._is_stopped = False

    async def receive(self, message: discord.Message, me: discord.ClientUser) -> None:
        """Hand a message of Discord's over if it is for the bot."""
        heard = heard_in(message, me)
        if heard is not None:
            await self._to_its_end(self._take_in(heard))

    async def follow(self, change: PlatformChange) -> None:
        """Have a change followed, after what was said before it."""
        await self._to_its_end(self._follow(change))

    def lost(self, shard: int) -> None:
        """A shard's connection is away: from now on something may be missed."""
        self._away.add(shard)
        if self._last_seen is not None:
            self._last_seen.lost(PLATFORM)

    def resumed(self, shard: int) -> None:
        """It is back, and Discord has told all that happened meanwhile."""
        self._away.discard(shard)
        self._caught_up()

    def renewed(self, shard: int) -> None:
        """It is back, but of what happened meanwhile nothing is told any more."""
        self._away.discard(shard)
        self._owe_look()

    def not_stored(self, client: discord.Client, me: discord.ClientUser) -> None:
        """Something that was told could not be stored: look for it after a while, as for what was missed."""
        self._owe_look()
        if self._last_seen is not None:
            self._last_seen.lost(PLATFORM)
        self._look_later(client, me)

    def server_came(self, client: discord.Client, me: discord.ClientUser) -> None:
        """The outage of a server is over: look for what was missed there, if that was not possible before."""
        if self._is_look_owed:
            self._look_later(client, me)

    def _look_later(self, client: discord.Client, me: discord.ClientUser) -> None:
        self._looks_owed += 1
        if not self._is_stopped and (self._looking_again is None or self._looking_again.done()):
            self._looking_again = asyncio.create_task(self._look_again(client, me))

    async def _look_again(self, client: discord.Client, me: discord.ClientUser) -> None:
        """Look once for all that is owed when it begins; for what comes to be owed meanwhile, after a while again."""
        while self._looks_owed:
            await self._sleep(_LOOK_AGAIN)
            owed, self._looks_owed = self._looks_owed, 0
            try:
                await self.catch_up(client, me)
            except MemorySystemError as error:
                self._looks_owed += owed
                _log.error("discord_catching_up_failed", error=str(error))

    def _owe_look(self) -> None:
        self._sessions += 1
        self._is_look_owed = True

    def _caught_up(self) -> None:
        """Nothing is missed any more, if no shard is away and what was missed before has been asked for."""
        if self._last_seen is not None and not self._away and not self._is_look_owed:
            self._last_seen.caught_up(PLATFORM)

    async def catch_up(self, client: discord.Client, me: discord.ClientUser) -> None:
        """Find what was changed while the session was lost, and take in what was said, each message marked as late."""
        if self._is_stopped:  # a session that begins while all is being closed
            return
        catching_up = asyncio.create_task(self._catch_up(client, me))
        self._catching_up.add(catching_up)
        catching_up.add_done_callback(self._catching_up.discard)
        await asyncio.wait({catching_up})
        if not catching_up.cancelled():  # by ``stop``; what is still missing is found after the next start
            catching_up.result()

    def start(self) -> None:
        """There is to be a connection: look for what was missed whenever it has been away."""
        self._is_stopped = False
        self._away.clear()

    def stop(self) -> None:
        """Look for nothing more that was missed."""
        self._is_stopped = True
        if self._last_seen is not None:
            self._last_seen.lost(PLATFORM)
        for task in (*self._catching_up, self._looking_again):
            if task is not None:
                task.cancel()

    async def drain(self) -> None:
        """Wait until what has arrived is stored."""
        if self._storing:
            await asyncio.wait(self._storing)

    async def _to_its_end(self, work: Coroutine[object, object, _Result]) -> _Result:
        """Do something that goes on when whoever waits for it is cancelled."""
        storing = asyncio.ensure_future(work)
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        return await storing

    async def _take_in(self, heard: Heard) -> bool:
        async with self._order:
            new = await self._is_for_us(heard) and await self._on_message(heard.message)
        if self._last_seen is not None:
            self._last_seen.note(heard.message.conversation.key, heard.message.id, heard.message.sent_at)
        return new

    async def _follow(self, change: PlatformChange) -> None:
        async with self._order:
            await self._on_change(change)

    async def _catch_up(self, client: discord.Client, me: discord.ClientUser) -> None:
        changes = late = 0
        if self._look_back is not None:
            changes = await self._follow_untold(client, me, self._look_back)
        if self._last_seen is not None:
            late = await self._take_in_missed(client, me, self._last_seen)
        if late or changes:
            _log.info("discord_caught_up", messages=late, changes=changes)

    async def _take_in_missed(self, client: discord.Client, me: discord.ClientUser, last_seen: LastSeen) -> int:
        """Take in what was said; how much of it was new and for us."""
        sessions, late = self._sessions, 0
        try:
            async for message in missed_messages(client, last_seen):
                heard = heard_in(message, me)
                if heard is not None:
                    heard = replace(heard, message=replace(heard.message, late=True))
                    late += await self._to_its_end(self._take_in(heard))
        except ChannelsLeft as left:
            _log.warning("discord_catching_up_unfinished", error=str(left))
        else:
            self._is_look_owed = sessions != self._sessions  # where another session was lost, its own look is
            self._caught_up()
        return late

    async def _follow_untold(self, client: discord.Client, me: discord.ClientUser, look_back: LookBack) -> int:
        """Follow what was changed, as far as it is found in time: what was said waits for that."""
        changes = 0
        try:
            async with asyncio.timeout(_LONGEST_LOOK_BACK):
                async for change in untold_changes(client, me, look_back):
                    await self.follow(change)
                    changes += 1
        except TimeoutError:
            _log.warning("look_back_cut_off", changes=changes)
        return changes
