"""Working memory: what the agent is doing for the person just now, as a value that every operation makes anew.

Invariant: it never grows beyond its limits, however often it is written to: what is oldest goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from memory.errors import InvalidInput
from memory.policy.fact_text import normalised

OBSERVATION_LENGTH = 500
OBSERVATIONS_KEPT = 10
OBSERVATIONS_SHOWN = 3
OBSERVATION_SHOWN_LENGTH = 200
STEPS_SHOWN = 3

# Beyond these a context that is shown with every message would be mostly about itself.
_LINE_LENGTH = 200
_STEPS_KEPT = 50
_SUB_GOALS = 20
_NOTES = 20
_HYPOTHESES = 10
_EVIDENCE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that was seen on the way.

    Attributes:
        source: where: a tool, a document, a person.
        content: what, at most 500 characters.
        at: when, as ISO 8601.
    """

    source: str
    content: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """An assumption, how sure it is from 0 to 1, and what speaks for and against it."""

    text: str
    confidence: float
    evidence_for: tuple[str, ...] = ()
    evidence_against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMemory:
    """The state of the task at hand.

    Attributes:
        goal: what it is all for; empty where there is none.
        sub_goals: the steps left, in order.
        completed_steps: the steps done, as ``step: result``.
        observations: oldest first.
        notes: by key.
        hypotheses: in the order they were made.
    """

    goal: str = ""
    sub_goals: tuple[str, ...] = ()
    completed_steps: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    hypotheses: tuple[Hypothesis, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return self == WorkingMemory()

    def set_goal(self, goal: str) -> WorkingMemory:
        """Work on something else: the steps of the old goal go, what was seen, noted and assumed stays."""
        return replace(self, goal=_line(goal), sub_goals=(), completed_steps=())

    def decompose(self, sub_goals: Sequence[str]) -> WorkingMemory:
        """Put these steps in place of those left."""
        return replace(self, sub_goals=tuple(_line(one) for one in sub_goals if one.strip())[:_SUB_GOALS])

    def complete_step(self, step: str, result: str) -> WorkingMemory:
        """Note a step as done, whether or not it was planned, and take it off those left."""
        done = f"{_line(step)}: {_line(result)}"
        left = tuple(one for one in self.sub_goals if normalised(one) != normalised(_line(step)))
        return replace(self, sub_goals=left, completed_steps=(*self.completed_steps, done)[-_STEPS_KEPT:])

    def observe(self, source: str, content: str, *, at: datetime) -> WorkingMemory:
        """Add what was seen; of more than ten the oldest goes."""
        seen = Observation(source=_line(source), content=content[:OBSERVATION_LENGTH], at=at.isoformat())
        return replace(self, observations=(*self.observations, seen)[-OBSERVATIONS_KEPT:])

    def note(self, key: str, value: str) -> WorkingMemory:
        """Keep a value under a key, in place of the one before."""
        notes = {**self.notes, _line(key): _line(value)}
        return replace(self, notes=dict(list(notes.items())[-_NOTES:]))

    def add_hypothesis(self, text: str, confidence: float) -> WorkingMemory:
        """Assume something, with a confidence from 0 to 1; of too many the oldest goes."""
        assumed = Hypothesis(text=_line(text), confidence=confidence)
        return replace(self, hypotheses=(*self.hypotheses, assumed)[-_HYPOTHESES:])

    def weigh(
        self, hypothesis: str, evidence: str, *, supports: bool, confidence: float | None = None
    ) -> WorkingMemory:
        """Add what speaks for or against an assumption.

        Args:
            hypothesis: its words, or words that stand in no other one.
            evidence: what was found.
            supports: whether it speaks for it.
            confidence: how sure it is now; None to leave that as it is.

        Raises:
            InvalidInput: no hypothesis, or more than one, is meant.
        """
        words = normalised(hypothesis)
        meant = [one for one in self.hypotheses if normalised(one.text) == words] or [
            one for one in self.hypotheses if words and words in normalised(one.text)
        ]
        if len(meant) != 1:
            known = "; ".join(one.text for one in self.hypotheses) or "none"
            raise InvalidInput(f"Name one of the working hypotheses by its words. There are: {known}.")
        [one] = meant
        weighed = replace(one, confidence=one.confidence if confidence is None else confidence)
        line = _line(evidence)
        if supports:
            weighed = replace(weighed, evidence_for=(*one.evidence_for, line)[-_EVIDENCE:])
        else:
            weighed = replace(weighed, evidence_against=(*one.evidence_against, line)[-_EVIDENCE:])
        return replace(self, hypotheses=tuple(weighed if each is one else each for each in self.hypotheses))


def shown(memory: WorkingMemory) -> str:
    """Working memory as the prompt shows it: only the sections that hold something, with blank lines between."""
    sections = (
        ("Current Goal", [memory.goal] if memory.goal else []),
        ("Progress", _progress(memory)),
        ("Recent Observations", _observations(memory)),
        ("Notes", [f"- {key}: {value}" for key, value in memory.notes.items()]),
        ("Working Hypotheses", [line for one in memory.hypotheses for line in _hypothesis(one)]),
    )
    return "\n\n".join("\n".join([f"## {title}", *lines]) for title, lines in sections if lines)


def _progress(memory: WorkingMemory) -> list[str]:
    done = [f"- [x] {step}" for step in memory.completed_steps[-STEPS_SHOWN:]]
    return [*done, *(f"- [ ] {step}" for step in memory.sub_goals)]


def _observations(memory: WorkingMemory) -> list[str]:
    return [
        f"- [{seen.source}] {' '.join(seen.content[:OBSERVATION_SHOWN_LENGTH].split())}"
        for seen in memory.observations[-OBSERVATIONS_SHOWN:]
    ]


def _hypothesis(one: Hypothesis) -> list[str]:
    return [
        f"- {one.text} (confidence {one.confidence:.0%})",
        *(f"  for: {line}" for line in one.evidence_for),
        *(f"  against: {line}" for line in one.evidence_against),
    ]


def as_value(memory: WorkingMemory) -> dict[str, Any]:
    """The state as a JSON value."""
    return asdict(memory)


def from_value(value: Mapping[str, Any]) -> WorkingMemory:
    """The inverse of ``as_value``, also of a value that went through JSON."""
    return WorkingMemory(
        goal=value["goal"],
        sub_goals=tuple(value["sub_goals"]),
        completed_steps=tuple(value["completed_steps"]),
        observations=tuple(Observation(**seen) for seen in value["observations"]),
        notes=dict(value["notes"]),
        hypotheses=tuple(
            Hypothesis(
                text=one["text"],
                confidence=one["confidence"],
                evidence_for=tuple(one["evidence_for"]),
                evidence_against=tuple(one["evidence_against"]),
            )
            for one in value["hypotheses"]
        ),
    )


def _line(text: str) -> str:
    """The text on one line, so that nothing of it can look like a section or an entry of its own."""
    return " ".join(text.split())[:_LINE_LENGTH]
