"""How large the prompts of this process were, section by section, for statistics and metrics.

Invariant: bounded, and about sizes alone: no text stands here.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from memory.records import Scope

_SCOPES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSize:
    """One prompt.

    Attributes:
        sections: estimated tokens of each section.
        tokens: calibrated tokens of the whole.
        messages: messages of the conversation in it, without those of the running turn.
    """

    sections: Mapping[str, int]
    tokens: int
    messages: int


class PromptSizes:
    """The last prompt of each scope that wrote lately, and all prompts since the start together.

    Attributes:
        totals: their estimated tokens by section.
    """

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self._last: OrderedDict[Scope, PromptSize] = OrderedDict()

    def note(self, scope: Scope, size: PromptSize) -> None:
        """Note a prompt that is about to be sent."""
        self.totals.update(size.sections)
        self._last[scope] = size
        self._last.move_to_end(scope)
        if len(self._last) > _SCOPES:
            self._last.popitem(last=False)

    def last(self, scope: Scope) -> PromptSize | None:
        """The scope's last prompt, or None where there was none since the start."""
        return self._last.get(scope)
