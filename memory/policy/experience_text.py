"""Episodes and procedures as text: what is searched, what a prompt shows, what a person edits.

Invariant: ``how_to_from`` reads back what ``editable`` writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from memory.errors import InvalidInput
from memory.records import Difficulty, Episode, Example, HowTo, KeyMoment, Narrative

_SHOWN_EXAMPLES = 2
_LONGEST_NAME = 80
_LONGEST_TEXT = 500  # characters of a description, a step, one side of an example
_MOST_STEPS, _MOST_EXAMPLES, _MOST_TRIGGERS = 20, 20, 10
_SHORTEST_TRIGGER = 3  # characters; shorter ones stand in almost any message

_FIELD = re.compile(r"(description|triggers?|difficulty|examples?|steps?)\s*:\s*", re.IGNORECASE)
_NUMBER = re.compile(r"(?:\d{1,2}[.)]|[-*•])\s+")
_ARROW = re.compile(r"\s*(?:=>|->|→)\s*")


def episode_searchable(narrative: Narrative) -> str:
    """What an episode is found by."""
    moments = [f"{moment.what} {moment.why}".strip() for moment in narrative.key_moments]
    parts = [narrative.summary, narrative.goal, *moments, *narrative.lessons, ", ".join(narrative.tags)]
    return "\n".join(part for part in parts if part)


def episode_shown(episode: Episode) -> str:
    """An episode as a prompt shows it: the summary, then what mattered, a line each."""
    narrative = episode.narrative
    moments = [moment_shown(moment) for moment in narrative.key_moments]
    goal = [f"Goal: {narrative.goal}"] if narrative.goal else []
    lessons = [f"Lesson: {lesson}" for lesson in narrative.lessons]
    return "\n".join([f"{narrative.summary} (outcome: {narrative.outcome})", *goal, *moments, *lessons])


def moment_shown(moment: KeyMoment) -> str:
    """A key moment in a line."""
    why = f" ({moment.why})" if moment.why else ""
    return f"{moment.kind.capitalize()}: {moment.what}{why}"


def procedure_shown(how_to: HowTo) -> str:
    """A procedure as a prompt shows it: title, description, numbered steps, at most two examples."""
    steps = [f"{number}. {step}" for number, step in enumerate(how_to.steps, start=1)]
    examples = [
        line
        for example in how_to.examples[:_SHOWN_EXAMPLES]
        for line in (f"Input: {example.input}", f"Output: {example.output}")
    ]
    return "\n".join([how_to.name, how_to.description, *steps, *examples])


def procedure_searchable(how_to: HowTo) -> str:
    """What a procedure is found by, besides its triggers."""
    return f"{how_to.name}. {how_to.description}"


def training_lines(how_to: HowTo) -> list[dict[str, Any]]:
    """The examples of a procedure as chat models are trained: its steps as the system's words, then both sides.

    Weights are out of a bot's reach; this is how the examples get to whoever trains some.
    """
    told = "\n".join([how_to.description, *(f"{number}. {step}" for number, step in enumerate(how_to.steps, start=1))])
    return [
        {
            "messages": [
                {"role": "system", "content": told},
                {"role": "user", "content": example.input},
                {"role": "assistant", "content": example.output},
            ]
        }
        for example in how_to.examples
    ]


def editable(how_to: HowTo) -> str:
    """A procedure as a person reads and edits it, a line for each part."""
    return "\n".join(
        [
            f"description: {_in_a_line(how_to.description)}",
            *(f"step: {_in_a_line(step)}" for step in how_to.steps),
            *([f"triggers: {', '.join(how_to.triggers)}"] if how_to.triggers else []),
            f"difficulty: {how_to.difficulty}",
            *(f"example: {_in_a_line(one.input)} => {_in_a_line(one.output)}" for one in how_to.examples),
        ]
    )


def how_to_from(text: str, *, present: HowTo) -> HowTo:
    """A procedure with what a text names put in place; what it does not name stays.

    Args:
        text: lines, or parts between ``;``: ``description: ...``, ``triggers: a, b``, ``difficulty: ...``,
            ``example: input => output``; every other line is a step.
        present: the procedure as it is.

    Raises:
        InvalidInput: nothing is named, or a part cannot be used.
    """
    found: dict[str, list[str]] = {}
    for line in filter(None, (part.strip() for part in re.split(r"[\n;]+", text))):
        field = _FIELD.match(line)
        name = field[1].lower().rstrip("s") if field else "step"
        value = line[field.end() :] if field else _NUMBER.sub("", line, count=1)
        found.setdefault(name, []).append(value.strip())
    if not any(value for values in found.values() for value in values):
        raise InvalidInput("Say what to change, as in: description: ...; first step; second step; triggers: a, b")
    return checked(
        HowTo(
            name=present.name,
            description=" ".join(found.get("description", [present.description])),
            steps=tuple(found.get("step", present.steps)),
            examples=tuple(map(example_from, found["example"])) if "example" in found else present.examples,
            triggers=_triggers(found["trigger"]) if "trigger" in found else present.triggers,
            difficulty=difficulty_from(found["difficulty"][-1]) if "difficulty" in found else present.difficulty,
        )
    )


def checked(how_to: HowTo) -> HowTo:
    """A procedure that can be kept, its texts in one line each.

    Raises:
        InvalidInput: it has no name, description or steps, or is too long.
    """
    tidy = HowTo(
        name=_in_a_line(how_to.name),
        description=_in_a_line(how_to.description),
        steps=tuple(step for step in map(_in_a_line, how_to.steps) if step),
        examples=tuple(
            Example(input=one.input.strip(), output=one.output.strip())
            for one in how_to.examples
            if one.input.strip() and one.output.strip()
        ),
        triggers=tuple(dict.fromkeys(trigger.lower() for trigger in map(_in_a_line, how_to.triggers) if trigger)),
        difficulty=how_to.difficulty,
    )
    sides = [side for one in tidy.examples for side in (one.input, one.output)]
    problems = (
        (not tidy.name, "A procedure needs a name."),
        (len(tidy.name) > _LONGEST_NAME, f"The name of a procedure has at most {_LONGEST_NAME} characters."),
        (not (tidy.description and tidy.steps), "A procedure needs a description and at least one step."),
        (len(tidy.steps) > _MOST_STEPS, f"A procedure has at most {_MOST_STEPS} steps. Put some together."),
        (len(tidy.examples) > _MOST_EXAMPLES, f"A procedure has at most {_MOST_EXAMPLES} examples."),
        (len(tidy.triggers) > _MOST_TRIGGERS, f"A procedure has at most {_MOST_TRIGGERS} triggers."),
        (_are_long((tidy.description, *tidy.steps, *sides)), f"A part has at most {_LONGEST_TEXT} characters."),
        (
            any(len(trigger) < _SHORTEST_TRIGGER for trigger in tidy.triggers),
            f"A trigger has at least {_SHORTEST_TRIGGER} characters; shorter ones stand in almost any message.",
        ),
    )
    for is_wrong, sentence in problems:
        if is_wrong:
            raise InvalidInput(sentence)
    return tidy


def difficulty_from(text: str) -> Difficulty:
    """The difficulty of this name. Raises InvalidInput."""
    try:
        return Difficulty(text.strip().lower())
    except ValueError as error:
        raise InvalidInput(f"{text[:40]!r} is no difficulty. Write one of: {', '.join(Difficulty)}.") from error


def same_name(name: str) -> str:
    """What two names that mean the same procedure share."""
    return re.sub(r"[\W_]+", " ", name.casefold()).strip()


def _are_long(texts: Sequence[str]) -> bool:
    return any(len(text) > _LONGEST_TEXT for text in texts)


def example_from(text: str) -> Example:
    """An example written as ``what is asked => the right answer``. Raises InvalidInput."""
    sides = _ARROW.split(text, maxsplit=1)
    if len(sides) < 2:
        raise InvalidInput("An example is written as: what is asked => the right answer")
    return Example(input=sides[0], output=sides[1])


def _triggers(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(trigger.strip() for line in lines for trigger in line.split(",") if trigger.strip())


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
