"""The command table: every command of every platform, in the order in which help lists them.

Invariant: a command exists on a platform because it stands here, and for no other reason.
"""

from __future__ import annotations

from bot.commands import Command
from bot.commands_budget import BUDGET_COMMANDS
from bot.commands_channels import CHANNEL_COMMANDS
from bot.commands_experience import MEMORY_EXPERIENCE_COMMANDS, MYDATA_EXPERIENCE_COMMANDS
from bot.commands_facts import MEMORY_FACT_COMMANDS, MYDATA_FACT_COMMANDS
from bot.commands_link import LINK_COMMANDS
from bot.commands_memory import MEMORY_COMMANDS
from bot.commands_mydata import MYDATA_COMMANDS
from bot.commands_numbers import NUMBER_COMMANDS
from bot.commands_tiers import MEMORY_TIER_COMMANDS, MYDATA_TIER_COMMANDS

COMMAND_TABLE: tuple[Command, ...] = (
    *MYDATA_COMMANDS,
    *LINK_COMMANDS,
    *MYDATA_FACT_COMMANDS,
    *MYDATA_EXPERIENCE_COMMANDS,
    *MYDATA_TIER_COMMANDS,
    *MEMORY_COMMANDS,
    *NUMBER_COMMANDS,
    *CHANNEL_COMMANDS,
    *BUDGET_COMMANDS,
    *MEMORY_FACT_COMMANDS,
    *MEMORY_EXPERIENCE_COMMANDS,
    *MEMORY_TIER_COMMANDS,
)
