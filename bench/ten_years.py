"""Years of daily chat with one person, on a clock that is set: how large the tiers are, what a prompt takes, what is
still known.

Invariant: everything comes in by the door that messages come in by and by what the scheduler runs; questions about what
was planted are asked off the record, so that asking teaches nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

from learning_world import SetClock
from line_chart import Line, Panel, drawn
from stand_ins import Nowhere, WordEmbedder
from years_told import AREAS, DEEDS, FIRST_AREAS, FRIENDS, PLACES, Planted, planted

from bot.agent import Agent
from bot.chat import Conversation, IncomingMessage, OutgoingMessage
from bot.handler import ChatHandler
from bot.offline import OfflineModel
from bot.tool_table import toolbox_for
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart
from memory.parameters import MemoryParameters
from memory.policy.hot_state import size_of
from memory.ports import OnText
from memory.records import Scope
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_FIRST_DAY = datetime(2026, 1, 1, 8, 0, tzinfo=UTC)
DAYS_OF_YEAR = 365
DAYS_OF_MONTH = 30
_PLANTED_EVERY = 7  # days, in the first year
_QUESTION_EVERY = 3  # days
_DECISION_EVERY = 5  # days
_TIDY_EVERY = 7  # days; it takes as long as a turn and finds little
_FULL = 0.9  # of the largest there ever was

_PERSON = "console:ann"
_SCOPE = Scope(person=_PERSON, audience="dm")
_DAILY = Conversation(platform="console", key=f"{_PERSON}:dm", audience="dm")
_ASIDE = Conversation(platform="console", key=f"{_PERSON}:aside", audience="dm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Thirty days. Sizes in bytes at their end; tokens estimated, the mean of all prompts."""

    number: int
    hot_bytes: int
    tree_bytes: int
    tree_nodes: int
    warm_bytes: int
    warm_entries: int
    cold_entries: int
    context_tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Years:
    """What came of it.

    Attributes:
        known: how many of the planted facts are known at the end of each year.
        planted: how many were told.
        full_from: the month in which hot state and tree became as large as they stay, about.
        context_by_year: tokens, the mean of each year after that.
        seconds: that all of it took.
    """

    months: tuple[Month, ...]
    known: tuple[int, ...]
    planted: int
    full_from: int
    context_by_year: tuple[float, ...]
    seconds: float

    @property
    def context_spread(self) -> float:
        """How far the years lie apart, as a share of the smallest."""
        return max(self.context_by_year) / min(self.context_by_year) - 1


class DiaryModel:
    """The rules that look after memory without a key, which here also file what is told under its subject.

    By themselves they take for an event what names its day, and file all of it in one place.
    """

    name = "diary"

    def __init__(self) -> None:
        self._rules = OfflineModel()
        self.events: dict[str, dict[str, Any]] = {}

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """The answer by rule; of an exchange that is in the diary, what the diary says of it as well."""
        response = await self._rules.complete(request)
        if request.system[0].name != "extract_facts":
            return response
        found = [one for one in json.loads(response.message.text)["candidates"] if one["kind"] == "fact"]
        found += [event for told, event in self.events.items() if told in request.messages[-1].text]
        parts = (TextPart(text=json.dumps({"candidates": found})),)
        return ModelResponse(parts=parts, stop_reason=StopReason.END_TURN, model=self.name)

    async def close(self) -> None:
        """Nothing is held."""


class Heard(Nowhere):
    """A channel that keeps the last answer."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Keep it."""
        self.text = message.text
        return await super().send(message)


@dataclass(slots=True, kw_only=True)
class Life:
    """An application that is running, and the person who talks to it."""

    system: MemorySystem
    handler: ChatHandler
    clock: SetClock
    channel: Heard
    diary: DiaryModel
    draw: random.Random = field(default_factory=lambda: random.Random(7))
    said: int = 0

    async def say(self, text: str, *, where: Conversation = _DAILY) -> str:
        """Say something, wait until everything that follows from it is done, and return the answer."""
        self.said += 1
        await self.handler.accept(
            IncomingMessage(
                id=str(self.said),
                conversation=where,
                person=_PERSON,
                author_name="Ann",
                text=text,
                sent_at=self.clock.time,
            )
        )
        await self.handler.idle()
        await self.system.settle()
        return self.channel.text

    async def day(self, number: int, planted: list[Planted]) -> list[int]:
        """One day of chat, and the night; the tokens of each prompt."""
        self.clock.time = _FIRST_DAY + timedelta(days=number)
        sizes = []
        for text in self._words(number, planted):
            await self.say(text)
            last = self.system.prompt_sizes.last(_SCOPE)
            assert last is not None
            sizes.append(last.tokens)
            self.clock.time += timedelta(minutes=5)
        self.clock.time = _FIRST_DAY + timedelta(days=number, hours=16)
        await self.system.sweep_idle()
        if number % _TIDY_EVERY == 0:
            await self.system.tidy()
        await self.system.consolidator.run_all()
        await self.system.settle()
        return sizes

    def _words(self, number: int, planted: list[Planted]) -> Iterator[str]:
        year = number // DAYS_OF_YEAR
        area = self.draw.choice(list(AREAS)[: FIRST_AREAS + year])
        thing, friend, place = self.draw.choice(AREAS[area]), self.draw.choice(FRIENDS), self.draw.choice(PLACES)
        told = f"Today I {self.draw.choice(DEEDS)} the {thing} ({area}) with {friend} from {place}."
        self._file(told, f"{area}/{thing}", importance=0.5)
        yield told
        if year == 0 and number % _PLANTED_EVERY == 0:
            yield planted[number // _PLANTED_EVERY % len(planted)].told
        elif number % _QUESTION_EVERY == 0:
            yield f"When did I last do anything about the {thing}?"
        if number % _DECISION_EVERY == 0:
            decided = f"We decided to leave the {thing} to {friend} until {place} is done."
            self._file(decided, "lessons", importance=0.8)
            yield decided

    def _file(self, told: str, category: str, *, importance: float) -> None:
        text = told.replace("Today I", "User").replace("We decided", "User decided")
        self.diary.events = {told: {"text": text, "kind": "event", "category": category, "importance": importance}}

    async def known(self, planted: list[Planted]) -> int:
        """How many planted facts an answer holds, asked off the record."""
        sittings = self.system.oversight.sittings
        await sittings.off_record(_SCOPE, conversation=_ASIDE.key, community=None)
        answers = [(await self.say(one.question, where=_ASIDE), one.answer) for one in planted]
        await sittings.off_record(_SCOPE, conversation=_ASIDE.key, community=None)
        return sum(word in answer for answer, word in answers)

    async def month(self, number: int, sizes: list[int]) -> Month:
        """What there is at the end of a month."""
        stores = self.system.stores
        entries, warm_bytes = await stores.warm.size(_SCOPE)
        return Month(
            number=number,
            hot_bytes=size_of(await stores.hot.shown(_SCOPE)),
            tree_bytes=len((await stores.tree.index(_SCOPE)).encode()),
            tree_nodes=len((await stores.tree.load(_SCOPE)).nodes),
            warm_bytes=warm_bytes,
            warm_entries=entries,
            cold_entries=await stores.cold.count(_SCOPE),
            context_tokens=mean(sizes),
        )


@asynccontextmanager
async def beginning(folder: Path) -> AsyncIterator[Life]:
    """Run an application in a folder."""
    parameters, clock, counter, diary = MemoryParameters(), SetClock(), TiktokenCounter(), DiaryModel()
    clock.time = _FIRST_DAY
    async with open_memory(
        database_url=f"sqlite:///{folder / 'keepsake.db'}",
        embedder=WordEmbedder(),
        counter=counter,
        memory_model=diary,
        parameters=parameters,
        clock=clock,
        notes_folder=folder / "notes",
    ) as system:
        agent = Agent(model=OfflineModel(), toolbox=toolbox_for(parameters), counter=counter, secret=b"bench")
        handler = ChatHandler(system=system, agent=agent, clock=clock)
        channel = Heard()
        handler.attach({Heard.platform: channel})
        handler.open()
        yield Life(system=system, handler=handler, clock=clock, channel=channel, diary=diary)
        await handler.drain(5)


async def live(folder: Path, years: int, *, day_done: Callable[[int], None]) -> Years:
    """Live so many years.

    Args:
        folder: where the database and the notes are.
        years: how many.
        day_done: is told how many days are over.
    """
    began, facts = perf_counter(), planted()
    told = facts[: DAYS_OF_YEAR // _PLANTED_EVERY + 1]
    months: list[Month] = []
    known: list[int] = []
    sizes: list[int] = []
    async with beginning(folder) as life:
        for number in range(years * DAYS_OF_YEAR):
            sizes += await life.day(number, facts)
            if (number + 1) % DAYS_OF_MONTH == 0:
                months.append(await life.month(len(months) + 1, sizes))
                sizes = []
            if (number + 1) % DAYS_OF_YEAR == 0:
                known.append(await life.known(told))
            day_done(number + 1)
    full_from = _full_from(months)
    return Years(
        months=tuple(months),
        known=tuple(known),
        planted=len(told),
        full_from=full_from,
        context_by_year=_by_year([month.context_tokens for month in months[full_from - 1 :]]),
        seconds=perf_counter() - began,
    )


def _full_from(months: list[Month]) -> int:
    """The first month from which hot state and tree are as large as they get, about."""
    hot, tree = (max(sizes) for sizes in zip(*((one.hot_bytes, one.tree_bytes) for one in months), strict=True))
    full = (one.number for one in months if one.hot_bytes >= _FULL * hot and one.tree_bytes >= _FULL * tree)
    return next(full, len(months))


def _by_year(tokens: list[float]) -> tuple[float, ...]:
    """The means of whole years; of what is left only where it is all there is."""
    of_year = DAYS_OF_YEAR // DAYS_OF_MONTH
    whole = [mean(tokens[start : start + of_year]) for start in range(0, len(tokens) - of_year + 1, of_year)]
    return tuple(whole) or (mean(tokens),)


def picture(years: Years, limits: MemoryParameters) -> str:
    """The months as lines, as SVG."""

    def line(name: str, value: Callable[[Month], float]) -> Line:
        points = [(month.number * DAYS_OF_MONTH / DAYS_OF_YEAR, value(month)) for month in years.months]
        return Line(name=name, points=points)

    most_tokens = max(month.context_tokens for month in years.months)
    panels = (
        Panel(
            title="What is recent, in KB",
            lines=[line("warm entries", lambda month: month.warm_bytes / 1_024)],
            highest=limits.warm_max_kb,
            limit=(limits.warm_max_kb, f"at most {limits.warm_max_kb}"),
        ),
        Panel(
            title="What is always in the prompt, in KB",
            lines=[
                line("hot, at most 5", lambda month: month.hot_bytes / 1_024),
                line("tree, at most 2", lambda month: month.tree_bytes / 1_024),
            ],
            highest=5,
        ),
        Panel(
            title="Archived entries",
            lines=[line("cold entries", lambda month: month.cold_entries)],
            highest=max(1, years.months[-1].cold_entries),
        ),
        Panel(
            title="Prompt of a turn, in tokens, the mean of a month",
            lines=[line("context", lambda month: month.context_tokens)],
            highest=most_tokens,
        ),
        Panel(
            title=f"Facts of the first year that are known when asked, of {years.planted}",
            lines=[Line(name="known", points=[(end, count) for end, count in enumerate(years.known, start=1)])],
            highest=years.planted,
        ),
    )
    return drawn(f"{len(years.known)} years of daily chat", panels, last=len(years.known), unit="years")
