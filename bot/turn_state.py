"""A turn while it runs, and how it ended.

Invariant: an ended turn holds all that is to be stored of it; nothing of it is kept anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bot import replies
from memory.messages import Message, assistant_message
from memory.parameters import MemoryParameters
from memory.ports import OnText
from memory.prompt.assembler import Gathered, Prompt
from memory.records import PromptHeld, SearchHit, WindowSize


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How a turn ended.

    Attributes:
        reply: what to say to the person.
        messages: what the turn adds to the conversation after the person's message; empty when refused.
        given: what the reply was given from memory.
        refused: the model would not answer.
        tokens: of all requests and answers of the turn, as the service counted them, or else as they are estimated.
        held: what its prompt was made from, by size; None where a tool may have changed it since.
    """

    reply: str
    messages: tuple[Message, ...]
    given: tuple[SearchHit, ...] = ()
    refused: bool = False
    tokens: int = 0
    held: PromptHeld | None = None


@dataclass(slots=True, kw_only=True)
class Turn:
    """The state of a turn while it runs."""

    gathered: Gathered
    kept: Callable[[Message], Message]
    parameters: MemoryParameters
    begin_call: Callable[[], OnText] | None = None
    prompt: Prompt | None = None
    calls: int = 0
    pauses: int = 0
    tokens: int = 0
    added: list[Message] = field(default_factory=list)

    def ended(self, text: str, *, already_added: bool = False) -> TurnResult:
        """The turn ends with an answer."""
        added = self.added if already_added else [*self.added, assistant_message(text)]
        given, cut = (self.prompt.shown, self.prompt.cut) if self.prompt else ((), False)
        return TurnResult(
            reply=text + replies.SHORTENED * cut,
            messages=tuple(map(self.kept, added)),
            given=given,
            tokens=self.tokens,
            held=None if self.prompt is None or self.calls else self._held(self.prompt),
        )

    def _held(self, prompt: Prompt) -> PromptHeld:
        history = self.gathered.history
        window = WindowSize(messages=len(history), tokens=sum(stored.tokens for stored in history))
        return PromptHeld(fixed_tokens=prompt.estimated_fixed, history=window)

    def refused(self) -> TurnResult:
        """The turn ends without one."""
        return TurnResult(reply=replies.REFUSED, messages=(), refused=True, tokens=self.tokens)
