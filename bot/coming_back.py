"""A start on an empty disk: memory comes back from the mirror before anybody is answered.

Invariant: a mirror that cannot be reached is said plainly and does not keep the bot from starting; what it holds comes
as soon as it can be reached.
"""

from __future__ import annotations

import sys

import structlog

from bot.config import Settings
from bot.run_time_settings import take_up
from memory.errors import MirrorUnavailable
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)


async def bring_back(system: MemorySystem, settings: Settings) -> None:
    """Where memory is mirrored: bring back what matters most if nothing of it is here, and let the rest follow.

    Settings that were changed while the bot ran elsewhere are in force again afterwards.
    """
    mirror = system.mirror
    if mirror is None:
        return
    if not await mirror.is_new_here():
        mirror.kick()
        return
    _say("Looking for memory in the mirror.")
    try:
        rows = await mirror.restore(archive=False)
    except MirrorUnavailable as error:
        _log.error("mirror_unavailable_at_start", error=str(error))
        _say(f"WARNING: Nothing came back from the mirror yet. {error} What it holds comes once it can be reached.")
        return
    await take_up(settings, system)
    _say(f"{rows:,} rows came back from the mirror; the archive follows." if rows else "The mirror holds nothing yet.")
    mirror.kick()


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)
