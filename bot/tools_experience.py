"""The tools for episodes and procedures: look up earlier sessions, and propose how something is to be done.

Invariant: a procedure that a tool saves is a proposal; nothing that the model reads or writes approves it.
"""

from __future__ import annotations

from datetime import date

from pydantic import Field

from bot.tools import Arguments, Tool
from memory.exchange import Exchange
from memory.ids import handle_of
from memory.person import PersonMemory
from memory.policy.experience_text import example_from
from memory.prompt.sections import format_hits
from memory.records import HowTo

_EPISODES = 3


class EpisodeArguments(Arguments):
    query: str = Field(min_length=1)
    start_date: date | None = None
    end_date: date | None = None


class ProcedureArguments(Arguments):
    name: str = Field(min_length=1)
    description: str = Field(min_length=1, description="What it is for.")
    steps: list[str] = Field(min_length=1)
    triggers: list[str] = Field(default=[], description="Words that call for it.")
    examples: list[str] = Field(default=[], description="Each: asked => right answer")


async def _episode_search(memory: PersonMemory, exchange: Exchange, arguments: EpisodeArguments) -> str:
    return format_hits(
        await memory.experience.episodes(
            arguments.query, first=arguments.start_date, last=arguments.end_date, limit=_EPISODES
        )
    )


async def _save_procedure(memory: PersonMemory, exchange: Exchange, arguments: ProcedureArguments) -> str:
    proposed = await memory.experience.propose(
        exchange,
        HowTo(
            name=arguments.name,
            description=arguments.description,
            steps=tuple(arguments.steps),
            triggers=tuple(arguments.triggers),
            examples=tuple(example_from(one) for one in arguments.examples),
        ),
    )
    return (
        f"Proposed: {proposed.how_to.name}. It is not in force: tell the person that they approve it with "
        f"/mydata procedures approve:{handle_of(proposed.id)}"
    )


EXPERIENCE_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="episode_search",
        description="Look up earlier sessions by subject or days: decisions, outcomes, lessons.",
        arguments=EpisodeArguments,
        run=_episode_search,
        is_memory=True,
    ),
    Tool(
        name="save_procedure",
        description="Propose how something is to be done from now on, as the person explained it.",
        arguments=ProcedureArguments,
        run=_save_procedure,
        is_memory=True,
    ),
)
