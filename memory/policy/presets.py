"""What each preset switches on: a table, so that a new part of memory is a new column and not a new condition."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory.parameters import Preset


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of memory at work.

    Attributes:
        tools: the model may search and write memory.
        core_memory: core memory stands in the prompt.
        retrieval: past messages and documents are looked up for each message.
        rolling_summary: sessions are summed up when they end.
        facts: facts are learned after each exchange, and looked up for each message.
        meaning: what is looked up is looked for by its meaning, too, and not by words and categories alone.
        tiers: events are distilled into tiers and filed in a tree of categories, by which they are looked up; the hot
            state and the tree stand in the prompt.
        experience: sessions become episodes when they end; those and procedures are looked up for each message.
    """

    tools: bool
    core_memory: bool
    retrieval: bool
    rolling_summary: bool
    facts: bool
    meaning: bool
    tiers: bool
    experience: bool


_NOTHING = Parts(
    tools=False,
    core_memory=False,
    retrieval=False,
    rolling_summary=False,
    facts=False,
    meaning=False,
    tiers=False,
    experience=False,
)
_PAGING = replace(_NOTHING, tools=True, core_memory=True, retrieval=True, meaning=True)
_PARTS = {
    Preset.FULL: replace(_PAGING, rolling_summary=True, facts=True, tiers=True, experience=True),
    Preset.PAGING: _PAGING,
    Preset.ROLLING: replace(_NOTHING, rolling_summary=True),
    Preset.FACTS: replace(_NOTHING, facts=True, meaning=True),
    Preset.TIERED: replace(_NOTHING, facts=True, tiers=True),
}


def parts_of(preset: Preset) -> Parts:
    """The parts of memory that a preset switches on."""
    return _PARTS[preset]
