"""Which tools are offered, in their fixed order.

Invariant: a tool is offered because it stands in a table here, and for no other reason; of the two sets of names for
the memory tools one alone is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.tools import Tool, Toolbox
from bot.tools_experience import EXPERIENCE_TOOLS
from bot.tools_journal import JOURNAL_TOOLS
from bot.tools_letta import LETTA_TOOLS
from bot.tools_memory import MEMORY_TOOLS
from bot.tools_reminders import REMINDER_TOOLS
from bot.tools_tiers import TIER_TOOLS
from bot.tools_working import WORKING_TOOLS
from memory.parameters import MemoryParameters, ToolNames
from memory.policy.presets import parts_of

_NAMED = {ToolNames.MEMGPT: MEMORY_TOOLS, ToolNames.LETTA: LETTA_TOOLS}
_OTHERS = (*JOURNAL_TOOLS, *WORKING_TOOLS, *REMINDER_TOOLS)

TOOL_TABLE: tuple[Tool, ...] = (*MEMORY_TOOLS, *LETTA_TOOLS, *_OTHERS, *EXPERIENCE_TOOLS, *TIER_TOOLS)
"""Every tool of the program's own, under all its names."""


def toolbox_for(
    parameters: MemoryParameters, further: Sequence[Tool] = (), served: Callable[[], Sequence[Tool]] = tuple
) -> Toolbox:
    """The tools that the preset offers, under the chosen names, and others that are offered with any.

    Args:
        parameters: names the preset.
        further: other tools.
        served: gives those of servers, which may be reached only later.
    """
    parts = parts_of(parameters.preset)
    own = (*_NAMED[parameters.tool_names], *_OTHERS) if parts.tools else ()
    experience, tiers = EXPERIENCE_TOOLS if parts.experience else (), TIER_TOOLS if parts.tiers else ()
    return Toolbox((*own, *experience, *tiers, *further), served)
