"""What each preset switches on: a table, so that a new part of memory is a new column and not a new condition."""

from __future__ import annotations

from dataclasses import dataclass

from memory.parameters import Preset


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of memory at work.

    Attributes:
        tools: the model may search and write memory.
        core_memory: core memory stands in the prompt.
        retrieval: past messages and documents are looked up for each message.
        rolling_summary: sessions are summed up when they end.
        facts: facts are learned after each exchange and looked up for each message.
    """

    tools: bool
    core_memory: bool
    retrieval: bool
    rolling_summary: bool
    facts: bool


_PARTS = {
    Preset.FULL: Parts(tools=True, core_memory=True, retrieval=True, rolling_summary=True, facts=True),
    Preset.PAGING: Parts(tools=True, core_memory=True, retrieval=True, rolling_summary=False, facts=False),
    Preset.ROLLING: Parts(tools=False, core_memory=False, retrieval=False, rolling_summary=True, facts=False),
    Preset.FACTS: Parts(tools=False, core_memory=False, retrieval=False, rolling_summary=False, facts=True),
}


def parts_of(preset: Preset) -> Parts:
    """The parts of memory that a preset switches on."""
    return _PARTS[preset]
