"""Which tools are offered, in their fixed order.

Invariant: a tool is offered because it stands in a table here, and for no other reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.tools import Tool, Toolbox
from bot.tools_journal import JOURNAL_TOOLS
from bot.tools_memory import MEMORY_TOOLS
from bot.tools_reminders import REMINDER_TOOLS
from bot.tools_working import WORKING_TOOLS
from memory.parameters import Preset
from memory.policy.presets import parts_of

TOOL_TABLE: tuple[Tool, ...] = (*MEMORY_TOOLS, *JOURNAL_TOOLS, *WORKING_TOOLS, *REMINDER_TOOLS)
"""Every tool of the program's own."""


def toolbox_for(preset: Preset, further: Sequence[Tool] = ()) -> Toolbox:
    """The tools that a preset offers, and further ones that are offered with any."""
    return Toolbox((*(TOOL_TABLE if parts_of(preset).tools else ()), *further))
