"""The calls that are being answered on Discord, and how they end when the bot stops.

Invariant: whoever called and has no answer when the bot stops is told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import discord

from adapters.discord_answers import tell
from bot import replies

_STOP_SECONDS = 2.0
_TELL_SECONDS = 1.0


class Underway:
    """Calls under way.

    Attributes:
        stopping: nothing more is begun.
    """

    def __init__(self) -> None:
        self.stopping = False
        self._running: dict[asyncio.Task[None], discord.Interaction] = {}

    async def follow(self, interaction: discord.Interaction, answering: Coroutine[Any, Any, None]) -> None:
        """Answer a call that is acknowledged already."""
        task = asyncio.ensure_future(answering)
        self._running[task] = interaction
        task.add_done_callback(lambda ended: self._running.pop(ended, None))
        await task

    async def stop(self) -> None:
        """Begin no more calls, and end with those that run; one that takes too long is cancelled, and told so."""
        self.stopping = True
        if not self._running:
            return
        late = dict(self._running)
        await asyncio.wait(late, timeout=_STOP_SECONDS)
        late = {task: interaction for task, interaction in late.items() if not task.done()}
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        if late:
            telling = [asyncio.ensure_future(tell(interaction, replies.STOPPED)) for interaction in late.values()]
            _, unheard = await asyncio.wait(telling, timeout=_TELL_SECONDS)
            for task in unheard:
                task.cancel()
