"""One run of the town: what is said is delivered to a bot in a process of its own, and things go wrong on the way.

Invariant: what must not be is a sentence in the outcome; a run in which nothing changes any more is given up.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.soak_town import (
    Kept,
    Saying,
    Size,
    Town,
    accepted_on_discord,
    kept_in,
    noted,
    sayings,
    told_why,
    unfinished,
)
from tests.blackbox.process import Keepsake, Services, unclean_lines
from tests.doubles.discord import Scripted as DiscordScripted
from tests.doubles.slack import BOT_ID, Delivery, cut, rate_limited, server_error

_BATCH = 12  # messages said before the next are
_MOST_WAITING = 60  # messages that wait for their answers at once
_LOOK = 0.1  # seconds between two looks at what is done
_PATIENCE = 150.0  # seconds in which nothing changes
_LIMITED = {"Retry-After": "1", "Via": "1.1 google"}  # without Via, discord.py takes it for a ban of the address


Started = Callable[[Path, Mapping[str, str]], AbstractAsyncContextManager[Keepsake]]
"""How a process is started: where, and with which settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run showed.

    Attributes:
        answered, told: messages that were answered in full, and those whose author was told why not.
        problems: what must not be, each as a sentence; none where all is well.
        kept: what the database holds.
        seconds: how long the run took.
        rss: the resident memory of the last process in MB, the median of the second and of the last quarter of its
            life.
    """

    answered: int
    told: int
    problems: list[str]
    kept: Kept
    seconds: float
    rss: tuple[float, float]


@dataclass(kw_only=True)
class Run:
    """One run of the town.

    Attributes:
        faults: whether anything goes wrong.
        tell: is told how far it has come.
        killed: the processes before the last one.
        out_of_order: the sayings whose place in the order the services themselves changed.
    """

    folder: Path
    size: Size
    seed: int
    faults: bool
    outside: Services
    town: Town
    tell: Callable[[str], None]
    started: Started
    said: list[Saying] = field(default_factory=list)
    killed: list[Keepsake] = field(default_factory=list)
    out_of_order: set[int] = field(default_factory=set)
    rss: list[float] = field(default_factory=list)
    processes: AsyncExitStack = field(default_factory=AsyncExitStack)
    _keepsake: Keepsake | None = None

    @property
    def name(self) -> str:
        return "troubled" if self.faults else "calm"

    @property
    def database(self) -> Path:
        return self.folder / "data" / "keepsake.db"

    @property
    def keepsake(self) -> Keepsake:
        assert self._keepsake is not None
        return self._keepsake

    async def start(self) -> None:
        self.rss.clear()
        settings = {**self.outside.all_settings, "LOG_LEVEL": "INFO"}
        self._keepsake = await self.processes.enter_async_context(self.started(self.folder, settings))
        await self.keepsake.until_logged("ready", patience=_PATIENCE)

    async def kill(self) -> None:
        """SIGKILL amid turns. What Discord told and was not stored yet is nobody's, so that is waited for."""
        told = sum(saying.on_discord for saying in self.said)
        await self._until(lambda: told - accepted_on_discord(self.database))
        await self.keepsake.kill()
        self.killed.append(self.keepsake)

    async def live(self) -> None:
        """Say everything, with what goes wrong on the way, and wait until all is done."""
        plan = sayings(self.size, self.seed)
        batches = [plan[start : start + _BATCH] for start in range(0, len(plan), _BATCH)]
        kills = {len(batches) * (1 + number) // (self.size.kills + 1) for number in range(self.size.kills)}
        for number, batch in enumerate(batches):
            if self.faults:
                await self._go_wrong(number)
            kills_now = self.faults and number in kills
            await self._say(batch, kills_now=kills_now)
            self.rss.append(_rss_mb(self.keepsake.pid))
            await self._until(lambda: len(self.said) - self._answers(), most=_MOST_WAITING)
            if number % max(1, len(batches) // 20) == 0:
                self.tell(f"{self.name}: {self._answers()} of {len(plan)} are answered")
        await self._until(lambda: len(self.said) - self._answers())
        self.tell(f"{self.name}: all are answered; {unfinished(self.database)} jobs are left")
        await self._until(lambda: unfinished(self.database), look=10 * _LOOK)
        self.keepsake.terminate()
        await self.keepsake.ended()

    def _answers(self) -> int:
        """How many posts of the bot there are; it is asked often, so nothing is read of them."""
        on_slack = sum(post.get("bot_id") == BOT_ID for posts in self.outside.slack.messages.values() for post in posts)
        return len(self.outside.discord.sent) + on_slack

    async def _say(self, batch: Sequence[Saying], *, kills_now: bool) -> None:
        on_slack = [saying for saying in batch if not saying.on_discord]
        events = {saying.number: self.town.slack_event(saying) for saying in on_slack}
        if self.faults and len(on_slack) > 1:
            one, two = on_slack[:2]
            on_slack[:2] = two, one
            self.out_of_order |= {one.number, two.number}
        deliveries = {saying.number: await self._deliver(saying.number, events[saying.number]) for saying in on_slack}
        for saying in batch:
            if saying.on_discord:
                channel, person, words = self.town.discord_place(saying)
                twice = 2 if self.faults and saying.number % 5 == 0 else 1
                await self.outside.discord.post(channel, person, words, times=twice)
        self.said += batch
        if kills_now:
            await self.kill()
            await self.start()
        for saying in on_slack:
            await self._acknowledged(saying.number, events[saying.number], deliveries[saying.number])
            if self.faults and saying.number % 5 == 1:
                await self._deliver(saying.number, events[saying.number], attempt=1)

    async def _deliver(self, number: int, event: dict[str, Any], attempt: int = 0) -> Delivery | None:
        try:
            return await self.outside.slack.deliver(event, event_id=f"Ev-note-{number}", retry_attempt=attempt)
        except (IndexError, ConnectionError):
            return None  # no connection just now; it is delivered again

    async def _acknowledged(self, number: int, event: dict[str, Any], delivery: Delivery | None) -> None:
        """Deliver until it is acknowledged, as Slack does."""
        for attempt in range(1, 60):
            if delivery is not None:
                try:
                    async with asyncio.timeout(3):
                        await delivery.acked.wait()
                    return
                except TimeoutError:
                    pass
            self.out_of_order.add(number)
            await asyncio.sleep(_LOOK)
            delivery = await self._deliver(number, event, attempt)
        raise AssertionError(f"Slack could not tell note {number}:\n{self.keepsake.stderr}")

    async def _go_wrong(self, number: int) -> None:
        """What goes wrong beside the model and the killing, a little before every batch."""
        discord, slack = self.outside.discord, self.outside.slack
        limited = DiscordScripted(
            status=429, body={"message": "slow", "retry_after": 0.3, "global": False}, headers=_LIMITED
        )
        troubles: tuple[Callable[[], Awaitable[None] | None], ...] = (
            lambda: discord.script("POST", r"/messages$", limited),
            lambda: slack.script("chat.postMessage", rate_limited(1)),
            discord.gateway.drop,
            slack.disconnect,
            lambda: discord.script("POST", r"/messages$", DiscordScripted(cut=True, served=True)),
            lambda: slack.script("chat.postMessage", cut(after=True)),
            lambda: slack.script("chat.postMessage", server_error()),
            slack.drop,
            lambda: discord.script("POST", r"/messages$", DiscordScripted(status=500)),
        )
        waiting = troubles[number % len(troubles)]()
        if waiting is not None:
            await waiting

    async def _until(self, left: Callable[[], int], *, most: int = 0, look: float = _LOOK) -> None:
        """Wait until no more is left than that. Raises AssertionError where nothing changes for long."""
        before, changed = left(), perf_counter()
        while before > most:
            await asyncio.sleep(look)  # the other process and its database raise no event
            if (now := left()) != before:
                before, changed = now, perf_counter()
            elif perf_counter() - changed > _PATIENCE:
                last = "\n".join(self.keepsake.lines[-40:])
                missing = "; ".join([f"{unfinished(self.database)} unfinished", *self._unanswered(self.town.answers())])
                raise AssertionError(f"It does not come to an end: {missing}.\n{last}")

    def outcome(self, seconds: float) -> Outcome:
        """What is to be seen from outside."""
        answers = self.town.answers()
        echoes = Counter(note for said in answers.values() for answer in said if (note := noted(answer)) is not None)
        told = sum(told_why(answer) for said in answers.values() for answer in said if noted(answer) is None)
        problems = [f"Note {note} was answered {times} times." for note, times in echoes.items() if times > 1]
        problems += [
            f"{place} shows {answer!r}."
            for place, said in answers.items()
            for answer in said
            if noted(answer) is None and not told_why(answer)
        ]
        problems += self._unanswered(answers)
        problems += self._disorder(answers)
        for process in (*self.killed, self.keepsake):
            problems += [f"The log shows {line}" for line in unclean_lines(process)]
        half = self.rss[len(self.rss) // 4 : len(self.rss) // 2] or self.rss
        return Outcome(
            answered=len(echoes),
            told=told,
            problems=problems,
            kept=kept_in(self.database, self.town),
            seconds=seconds,
            rss=(median(half), median(self.rss[len(self.rss) * 3 // 4 :])),
        )

    def _unanswered(self, answers: dict[str, list[str]]) -> list[str]:
        """The places that have more or fewer answers than messages."""
        expected = Counter(map(self.town.place_of, self.said))
        return [
            f"{place} has {len(answers[place])} answers to {count} messages: {answers[place]}"
            for place, count in expected.items()
            if len(answers[place]) != count
        ]

    def _disorder(self, answers: dict[str, list[str]]) -> list[str]:
        """The answers to one person in one place that came before an earlier one."""
        who = {saying.number: saying.who for saying in self.said}
        problems = []
        for place, said in answers.items():
            last: dict[int, int] = {}
            for note in filter(None, map(noted, said)):
                if note in self.out_of_order:
                    continue
                if last.get(who[note], -1) > note:
                    problems.append(f"Note {note} was answered after {last[who[note]]} in {place}.")
                last[who[note]] = note
        return problems


def _rss_mb(pid: int) -> float:
    """What a process has in memory now, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(kilobytes) / 1_024
