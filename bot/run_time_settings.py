"""Settings that the operator may change while the bot runs.

A change is checked as the whole of the settings is checked at the start, with the same sentences; it acts on the next
turn, is kept with who made it, and survives a restart.

Invariant: what is in force passed that check. A change that no longer does, since the environment changed, is left out
with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import structlog
from pydantic import ValidationError

from bot.config import Settings, problems_of
from memory.errors import InvalidInput
from memory.stores.parameter_changes import ParameterChange
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)

CHANGEABLE = (
    "max_conversation_history",
    "history_target",
    "eviction_threshold",
    "eviction_target",
    "max_tool_response_age",
    "auto_store_tool_results",
    "enable_end_of_turn_memory",
    "tool_call_cap",
    "tool_result_max_tokens",
    "journal_limit",
    "journal_expiry_days",
    "journal_tail_entries",
    "journal_tail_tokens",
    "retrieved_share",
    "retrieved_min_room",
    "retrieved_hits",
    "retrieved_facts",
    "retrieved_entries",
    "tree_search_mode",
    "message_reserve",
    "session_idle_minutes",
)
"""The settings that may be changed at run time, as their environment variables in small letters."""

AS_CONFIGURED = "default"
"""The word that takes a change back."""


def with_changes(settings: Settings, changes: Mapping[str, str]) -> Settings:
    """The settings with some of them changed, checked as a whole.

    Args:
        settings: those configured.
        changes: typed values by name.

    Raises:
        InvalidInput: with a sentence for each problem.
    """
    configured = {name: getattr(settings, name) for name in Settings.model_fields}
    try:
        return Settings(_env_file=None, **{**configured, **changes})
    except ValidationError as error:
        raise InvalidInput("\n".join([*problems_of(error), "Nothing was changed."])) from error


async def take_up(settings: Settings, system: MemorySystem) -> None:
    """Put the changes of earlier runs into force; those that fit no longer are left out."""
    fitting: dict[str, str] = {}
    for name, value in (await _changes(system)).items():
        try:
            with_changes(settings, {**fitting, name: value})
        except InvalidInput as error:
            _log.warning("changed_setting_left_out", name=name, problem=str(error))
        else:
            fitting[name] = value
    system.in_force.current = with_changes(settings, fitting).memory_parameters


async def change(
    settings: Settings, system: MemorySystem, *, name: str, value: str, actor: str, at: datetime
) -> Settings:
    """Change one setting; all of them as they are in force then.

    Args:
        settings: those configured.
        system: whose numbers are changed.
        name: one of ``CHANGEABLE``.
        value: as typed; ``AS_CONFIGURED`` takes a change back.
        actor: who changes it.
        at: when.

    Raises:
        InvalidInput: it cannot be changed, or not to that.
    """
    if name not in CHANGEABLE:
        raise InvalidInput(f"{name[:60]!r} cannot be changed at run time. You can change: {', '.join(CHANGEABLE)}.")
    kept = None if value.lower() == AS_CONFIGURED else value
    changes = {known: typed for known, typed in (await _changes(system)).items() if known != name}
    new = with_changes(settings, changes if kept is None else {**changes, name: kept})
    async with system.transaction() as tx:
        await system.stores.parameter_changes.add(
            tx, ParameterChange(name=name, value=kept, changed_at=at, actor=actor)
        )
    system.in_force.current = new.memory_parameters
    _log.info("setting_changed", name=name, value=getattr(new, name), actor=actor)
    return new


async def _changes(system: MemorySystem) -> dict[str, str]:
    found = await system.stores.parameter_changes.in_force()
    return {name: str(change.value) for name, change in found.items() if name in CHANGEABLE}
