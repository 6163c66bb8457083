"""What is done about each way in which a model fails a person: one table.

Invariant: every ``ModelError`` has a rule. ``ClaudeModel`` repeats, the turn starts over or shortens, the fallback
model and the circuit breaker follow their columns, and the person reads the sentence of what is left in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memory.errors import (
    ContextOverflow,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelResting,
    ModelTimeout,
    ModelUnavailable,
    StreamInterrupted,
)


class Remedy(Enum):
    """What is tried once before anything else."""

    NONE = "nothing; it would end in the same way, or has taken all the time there is"
    REPEAT = "the same request again, after a short pause and within the same deadline"
    START_OVER = "the answer again from its beginning; if that fails too, what had come is kept and marked"
    SHORTEN = "a shorter prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is done about one kind of error.

    Attributes:
        error: the kind, its subclasses included where they have no rule of their own.
        remedy: what is tried first.
        fallback: whether the model of FALLBACK_MODEL is asked next.
        counts: whether a row of such errors opens the circuit breaker.
        sentence: what the person is told; ``{wait}`` becomes when to ask again.
    """

    error: type[ModelError]
    remedy: Remedy = Remedy.NONE
    fallback: bool = False
    counts: bool = False
    sentence: str


_RULES = (
    Rule(
        error=ModelResting,
        fallback=True,
        sentence="My model can't answer just now, so I let it rest. Please ask again{wait}.",
    ),
    Rule(
        error=ModelRateLimited,
        fallback=True,
        counts=True,
        sentence="I am asked more than my model allows. Please ask again{wait}.",
    ),
    Rule(
        error=ModelOverloaded,
        remedy=Remedy.REPEAT,
        fallback=True,
        counts=True,
        sentence="My model is overloaded right now. Please ask again in a few minutes.",
    ),
    Rule(
        error=ModelUnavailable,
        remedy=Remedy.REPEAT,
        fallback=True,
        counts=True,
        sentence="I can't reach my model right now. Please ask again later.",
    ),
    Rule(
        error=ModelTimeout,
        counts=True,
        sentence="My model took too long to answer. Please ask again.",
    ),
    Rule(
        error=StreamInterrupted,
        remedy=Remedy.START_OVER,
        counts=True,
        sentence="My answer broke off on the way. Please ask again.",
    ),
    Rule(
        error=ContextOverflow,
        remedy=Remedy.SHORTEN,
        sentence="That was too long for my model even after I shortened it. Please send it in smaller pieces.",
    ),
    Rule(
        error=ModelRejected,
        sentence="My model refused the request; whoever runs me has to look at its key and settings.",
    ),
    Rule(error=ModelError, sentence="My model could not answer. Please ask again."),
)


def rule_of(error: ModelError) -> Rule:
    """The rule for an error."""
    return next(rule for rule in _RULES if isinstance(error, rule.error))


def sentence_of(error: ModelError) -> str:
    """What the person is told."""
    return rule_of(error).sentence.format(wait=_wait(error))


def _wait(error: ModelError) -> str:
    seconds = error.retry_after if isinstance(error, ModelRateLimited | ModelResting) else None
    if seconds is None:
        return " later"
    return f" in about {round(seconds / 60)} min" if seconds >= 90 else " in a minute"
