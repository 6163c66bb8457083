"""The tool of working memory: one tool with seven operations, which costs a third of seven tools.

Invariant: an operation that lacks something says what, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from bot.tools import Arguments, Tool
from memory.errors import InvalidInput
from memory.exchange import Exchange
from memory.person import PersonMemory
from memory.policy.working_memory import WorkingMemory, shown

Operation = Literal["set_goal", "decompose", "complete_step", "observe", "note", "add_hypothesis", "add_evidence"]


class WorkingArguments(Arguments):
    operation: Operation
    text: str = Field(
        default="",
        description="Goal, finished step, observation, note, hypothesis or evidence.",
    )
    steps: list[str] = Field(default=[], description="decompose: in order.")
    result: str = Field(default="", description="complete_step: the outcome.")
    about: str = Field(
        default="",
        description="observe: where. note: its key. add_evidence: the hypothesis's words.",
    )
    confidence: float | None = Field(default=None, ge=0, le=1, description="add_hypothesis, add_evidence.")
    supports: bool = Field(default=True, description="add_evidence: false if against.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What an operation needs, and what it makes of the state."""

    needs: tuple[str, ...]
    make: Callable[[WorkingMemory, WorkingArguments, datetime], WorkingMemory]


_OPERATIONS: dict[Operation, _Step] = {
    "set_goal": _Step(needs=("text",), make=lambda memory, said, at: memory.set_goal(said.text)),
    "decompose": _Step(needs=("steps",), make=lambda memory, said, at: memory.decompose(said.steps)),
    "complete_step": _Step(
        needs=("text", "result"), make=lambda memory, said, at: memory.complete_step(said.text, said.result)
    ),
    "observe": _Step(
        needs=("text", "about"), make=lambda memory, said, at: memory.observe(said.about, said.text, at=at)
    ),
    "note": _Step(needs=("text", "about"), make=lambda memory, said, at: memory.note(said.about, said.text)),
    "add_hypothesis": _Step(
        needs=("text", "confidence"),
        make=lambda memory, said, at: memory.add_hypothesis(said.text, said.confidence or 0.0),
    ),
    "add_evidence": _Step(
        needs=("text", "about"),
        make=lambda memory, said, at: memory.weigh(
            said.about, said.text, supports=said.supports, confidence=said.confidence
        ),
    ),
}


async def _work(memory: PersonMemory, exchange: Exchange, arguments: WorkingArguments) -> str:
    operation = _OPERATIONS[arguments.operation]
    missing = [name for name in operation.needs if getattr(arguments, name) in ("", [], None)]
    if missing:
        raise InvalidInput(f"{arguments.operation} needs {' and '.join(missing)}. Nothing was changed.")
    state = await memory.working.change(exchange, lambda state: operation.make(state, arguments, exchange.user.sent_at))
    return shown(state)


WORKING_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="working_memory",
        description="Keep track of a task of several steps: goal, steps, findings, hypotheses. Forgotten at its end.",
        arguments=WorkingArguments,
        run=_work,
        may_end_turn=True,
        is_memory=True,
    ),
)
