"""The people of the soak: what each says, where, and what Claude answers; and what is to be found in the end.

Every message has words of its own, so that each answer, stored message and fact can be told apart. All of it follows
from a seed: two towns of one size are told the same.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.blackbox.process import CHAT_MODEL, Services, without_notice, words_asked
from tests.doubles.claude import Answer, Body, Break, Failure, Step, text
from tests.doubles.discord_world import Channel, Guild, Member
from tests.doubles.slack import BOT_USER

_NOTE = re.compile(r"My note (\d+) says fig\d+ and no more\.")
_NUMBERED = re.compile(r"^\d+\. ", re.MULTILINE)
_IN_DIRECT = 0.5  # of all messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is said. Half of the people and channels are on each platform."""

    people: int
    channels: int
    messages: int
    kills: int


FULL = Size(people=200, channels=20, messages=5_000, kills=3)
SMALL = Size(people=6, channels=4, messages=48, kills=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What somebody is to say.

    Attributes:
        number: in the order of the whole town.
        who: which of the people; the even ones are on Discord.
        where: which channel of their platform; None for their direct chat.
    """

    number: int
    who: int
    where: int | None

    @property
    def words(self) -> str:
        return f"My note {self.number} says fig{self.number} and no more."

    @property
    def on_discord(self) -> bool:
        return self.who % 2 == 0


def sayings(size: Size, seed: int = 1) -> list[Saying]:
    """Everything that is said, in order."""
    chance = random.Random(seed)
    spoken = []
    for number in range(size.messages):
        where = None if chance.random() < _IN_DIRECT else chance.randrange(size.channels // 2)
        spoken.append(Saying(number=number, who=chance.randrange(size.people), where=where))
    return spoken


@dataclass(kw_only=True)
class Claude:
    """Claude's mind in the soak: an echo for people, a fact for each note, and trouble where it is wanted.

    Attributes:
        troubled: whether it fails now and then.
        asked: how often it was asked to answer each note.
    """

    troubled: bool
    asked: Counter[int] = field(default_factory=Counter)
    _failed_memory_work: set[int] = field(default_factory=set)

    def __call__(self, body: Body) -> Step:
        if body["model"] != CHAT_MODEL:
            return self._memory_work(body)
        words = words_asked(body)
        note = _NOTE.search(words or "")
        if words is None or note is None:
            return Answer(blocks=(text("Noted."),))
        number = int(note[1])
        self.asked[number] += 1
        answer = Answer(blocks=(text(f"You said: {note[0]}"),))
        return self._trouble(number, answer) if self.troubled else answer

    def _trouble(self, number: int, answer: Answer) -> Step:
        first = self.asked[number] == 1
        match number % 40:
            case 7 if first:
                return Failure(status=529, error_type="overloaded_error", message="scripted")
            case 15 if first:
                return Answer(blocks=answer.blocks, breaks=Break.ABORT, after=1)
            case 23:
                return Answer(blocks=answer.blocks, breaks=Break.ERROR, after=0)
            case 31:
                return Failure(status=529, error_type="overloaded_error", message="scripted")
            case 39 if first:
                return Failure(
                    status=429, error_type="rate_limit_error", message="scripted", headers={"retry-after": "1"}
                )
        return answer

    def _memory_work(self, body: Body) -> Step:
        form, asked = json.dumps(body.get("output_config", {})), json.dumps(body["messages"])
        if '"candidates"' in form:
            said = asked.split("<user_message>")[-1].split("</user_message>")[0]
            numbers = [int(found) for found in re.findall(r"My note (\d+) says", said)]
            if self.troubled and numbers and numbers[0] % 40 == 3 and numbers[0] not in self._failed_memory_work:
                self._failed_memory_work.add(numbers[0])
                return Failure(status=529, error_type="overloaded_error", message="scripted")
            found = [{"kind": "fact", "text": f"Note {number} says fig{number}"} for number in numbers]
            return Answer(blocks=(text(json.dumps({"candidates": found})),))
        if '"ops"' in form:
            count = len(_NUMBERED.findall(body["messages"][0]["content"][0]["text"]))
            ops = [{"candidate": n + 1, "reason": "new", "op": "ADD", "id": None, "text": None} for n in range(count)]
            return Answer(blocks=(text(json.dumps({"ops": ops})),))
        return Answer(blocks=(text("A digest."),))


@dataclass(kw_only=True)
class Town:
    """People and channels on both platforms. Made by ``settled``, before the bot connects."""

    outside: Services
    garden: Guild
    members: list[Member] = field(default_factory=list)
    chats: list[Channel] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)

    @classmethod
    def settled(cls, outside: Services, size: Size) -> Town:
        """A town in which everybody has a direct chat."""
        town = cls(outside=outside, garden=outside.discord.add_guild("Garden"))
        for number in range(size.people // 2):
            town.members.append(outside.discord.add_user(f"Ann{number}"))
            town.chats.append(outside.discord.add_dm())
            outside.slack.add_user(f"U{number}", f"Bea{number}")
            outside.slack.add_channel(f"D{number}", is_im=True)
        for number in range(size.channels // 2):
            town.channels.append(outside.discord.add_channel(town.garden, f"talk{number}"))
            outside.slack.add_channel(f"C{number}")
        return town

    def discord_place(self, saying: Saying) -> tuple[Channel, Member, str]:
        """Where, by whom and in which words something is said on Discord."""
        person = saying.who // 2
        if saying.where is None:
            return self.chats[person], self.members[person], saying.words
        mention = self.outside.discord.bot.mention
        return self.channels[saying.where], self.members[person], f"{mention} {saying.words}"

    def slack_event(self, saying: Saying) -> dict[str, Any]:
        """Somebody says it on Slack: the event of it."""
        person = saying.who // 2
        if saying.where is None:
            return self.outside.slack.message(f"U{person}", f"D{person}", saying.words, channel_type="im")
        words = f"<@{BOT_USER}> {saying.words}"
        return self.outside.slack.message(f"U{person}", f"C{saying.where}", words, channel_type="channel")

    def named(self, scope: str) -> str:
        """A scope with Discord's ids, which rest on the clock, as names."""
        for thing in (*self.members, self.garden):
            scope = scope.replace(thing.id, thing.name)
        return scope

    def answers(self) -> dict[str, list[str]]:
        """What the bot said in every place, in order, without the notice below a first answer."""
        outside = self.outside
        found = {f"discord {channel.id}": outside.discord_answers(channel) for channel in self.chats + self.channels}
        for channel in outside.slack.channels:
            found[f"slack {channel}"] = outside.slack_answers(channel)
        return {place: [without_notice(answer) for answer in said] for place, said in found.items()}

    def place_of(self, saying: Saying) -> str:
        """The place of a saying, as ``answers`` names it."""
        if saying.on_discord:
            return f"discord {self.discord_place(saying)[0].id}"
        return f"slack D{saying.who // 2}" if saying.where is None else f"slack C{saying.where}"


_TOLD_WHY = ("Please ask again", "broken off")  # each sentence about a model in trouble says one of them


def told_why(answer: str) -> bool:
    """Whether an answer says why it is none."""
    return any(sentence in answer for sentence in _TOLD_WHY)


def noted(answer: str) -> int | None:
    """The note that an answer echoes as a whole, or None."""
    found = _NOTE.search(answer)
    return int(found[1]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a database holds in the end.

    Attributes:
        messages: what each person said, by audience, in the order of the platform's times and ids.
        facts: what is known of each person, by audience.
    """

    messages: Mapping[str, list[str]]
    facts: Mapping[str, set[str]]


def kept_in(database: Path, town: Town) -> Kept:
    """Read what is kept, under names that are the same in every town of a size."""
    messages: dict[str, list[str]] = {}
    facts: dict[str, set[str]] = {}
    for person, audience, parts in _rows(
        database,
        "SELECT person, audience, parts FROM messages WHERE role = 'user' "
        "ORDER BY sent_at, length(platform_id), platform_id",
    ):
        messages.setdefault(town.named(f"{person} {audience}"), []).append(json.loads(parts)[0]["text"])
    for person, audience, said in _rows(database, "SELECT person, audience, text FROM facts WHERE state = 'current'"):
        facts.setdefault(town.named(f"{person} {audience}"), set()).add(said)
    return Kept(messages=messages, facts=facts)


def unfinished(database: Path) -> int:
    """How many messages are not answered, and how many jobs not done."""
    [(inbox,)] = _rows(database, "SELECT count(*) FROM inbox WHERE state NOT IN ('delivered', 'dropped')")
    [(jobs,)] = _rows(database, "SELECT count(*) FROM jobs WHERE state = 'pending'")
    return int(inbox) + int(jobs)


def accepted_on_discord(database: Path) -> int:
    """How many messages of Discord were ever accepted."""
    [(inbox,)] = _rows(database, "SELECT count(*) FROM inbox WHERE person LIKE 'discord:%'")
    return int(inbox)


def _rows(database: Path, query: str) -> Iterator[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return iter(connection.execute(query).fetchall())
