"""Nobody ever reads what another person said, nor what was said to an audience out of reach."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from bot.chat import Conversation
from memory.messages import ModelRequest, TextPart, ToolCall
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of, reach_of_scope, scope_of
from memory.records import Change, ProcedureState, Reach, Scope
from tests.fakes import START, ScriptedModel
from tests.world import World, running

PEOPLE = [f"p{number}" for number in range(50)]
PLACES = [
    Conversation(platform="console", key="console:dm", audience="dm"),
    Conversation(platform="console", key="console:square", audience="guild:1"),
    Conversation(platform="console", key="console:board", audience="channel:9", community="guild:1"),
]
STEPS = 120

# Every text carries a mark of its own: who said it and where, so that a leak shows itself wherever it turns up.
MARK = re.compile(r"mark(p\d+)(dm|square|board)n\d+")
# What others said aloud in the same channel is shown on purpose, in a block of its own, and belongs to no memory.
OVERHEARD = re.compile(r"<channel>.*?</channel>", re.DOTALL)
SUBJECTS = ("jasmine tea", "the harbour ferry", "a red bicycle", "chess on Sundays")


@dataclass(slots=True, kw_only=True)
class Town:
    """People who talk in several places, and what they may see there."""

    world: World
    random: random.Random
    said: int = field(default=0)
    seen: int = field(default=0)

    def text(self, who: str, where: Conversation) -> str:
        self.said += 1
        mark = f"mark{who}{where.key.removeprefix('console:')}n{self.said}"
        return f"I like {self.random.choice(SUBJECTS)} {mark}"

    def key(self, who: str, where: Conversation) -> Conversation:
        """A one-to-one chat is everyone's own; the square and the board are the same channel for all."""
        if where.audience != "dm":
            return where
        return Conversation(platform="console", key=f"console:{who}:dm", audience="dm")

    def check(self, shown: object, reach: Reach) -> None:
        """Every mark in what was shown belongs to the person, and was set within reach."""
        for who, place in MARK.findall(OVERHEARD.sub("", str(shown))):
            self.seen += 1
            audience = next(spot.audience for spot in PLACES if spot.key == f"console:{place}")
            assert f"console:{who}" == reach.person, f"{reach.person} sees {who}"
            assert reach.audiences is None or audience in reach.audiences, f"{audience} leaks into {reach.audiences}"


def reach_in(who: str, where: Conversation) -> Reach:
    return reach_of(scope_of(f"console:{who}", where.audience), where.community)


def keeping(request: ModelRequest) -> str:
    """Memory work that repeats every mark it was shown, so that what was taken from somebody else would show."""
    marks = sorted({found[0] for found in MARK.finditer(str(request.messages))})
    match request.system[0].name:
        case "extract_facts":
            kinds = ("fact", "event")
            items = [{"kind": kind, "text": f"User likes {SUBJECTS[0]} {mark}"} for kind in kinds for mark in marks]
            return json.dumps({"candidates": items})
        case "reconcile_facts":
            return json.dumps({"ops": [{"candidate": 1, "op": "ADD"}]})  # what is passed over is added too
        case "write_episode":
            story = f"They spoke of {SUBJECTS[0]} and {' '.join(marks)}"
            return json.dumps({"summary": story, "lessons": marks, "procedures": [procedure_of(marks)]})
    return " ".join(marks)


def procedure_of(marks: Sequence[str]) -> dict[str, object]:
    name, description = f"Tea {' '.join(marks)[:40]}", f"For {marks[:1]}"
    return {"name": name, "description": description, "steps": marks, "triggers": ["tea"]}


async def talk(town: Town, who: str, where: Conversation) -> None:
    choices = [
        ToolCall(id=f"a{town.said}", name="core_memory_append", arguments={"text": town.text(who, where)}),
        ToolCall(id=f"b{town.said}", name="archival_insert", arguments={"text": town.text(who, where)}),
        ToolCall(id=f"c{town.said}", name="recall_search", arguments={"query": "tea ferry bicycle chess"}),
        ToolCall(id=f"d{town.said}", name="archival_search", arguments={"query": town.random.choice(SUBJECTS)}),
        ToolCall(id=f"e{town.said}", name="conversation_search", arguments={"query": town.random.choice(SUBJECTS)}),
        ToolCall(
            id=f"f{town.said}",
            name="conversation_search_date",
            arguments={"start_date": "2026-01-01", "end_date": "2026-12-31"},
        ),
    ]
    model = town.world.model
    before = len(model.requests)
    model.answers = [(TextPart(text="Let me see."), town.random.choice(choices)), town.text(who, where)]
    await town.world.say(town.text(who, where), who=who, where=town.key(who, where))
    model.answers.clear()
    assert model.requests[before:]
    for request in model.requests[before:]:
        town.check(request, reach_in(who, where))


async def search(town: Town, who: str, where: Conversation) -> None:
    memory = town.world.memory(who, town.key(who, where))
    subject = town.random.choice(SUBJECTS)
    reach = reach_in(who, where)
    town.check(await memory.paging.recall_search(subject, limit=50, evicted_only=False), reach)
    town.check(await memory.paging.archival_search(subject, limit=50), reach)
    everything = await memory.paging.messages_between(START - timedelta(days=1), START + timedelta(days=400), limit=500)
    town.check(everything, reach)
    stores = town.world.system.stores
    town.check(await stores.recall.window(memory.place.scope, memory.place.conversation), reach)
    town.check(await stores.facts.search(reach, subject, limit=50, floor=False), reach)
    town.check(await stores.facts.history(reach, limit=500), reach)
    town.check(await stores.journal.latest(reach, until=town.world.clock.now(), limit=500), reach)
    town.check(await stores.episodes.search(reach, subject, limit=50), reach)
    town.check(await stores.episodes.history(reach, limit=500, forgotten=True), reach)
    await approve_all(town, memory.place.scope)
    town.check(await stores.procedures.applicable(reach, subject, limit=50, floor=False), reach)
    town.check(await stores.procedures.all(reach), reach)
    town.check(await stores.summaries.versions(memory.place.scope), reach)
    given = await stores.reply_sources.latest(memory.place.scope, memory.place.conversation)
    sources = given.sources if given else ()
    assert all(source.scope.person == reach.person for source in sources)
    assert all(reach.audiences is None or source.scope.audience in reach.audiences for source in sources)


async def approve_all(town: Town, scope: Scope) -> None:
    store, change = town.world.system.stores.procedures, Change(actor="person", reason="approve")
    for one in await store.all(reach_of_scope(scope), state=ProcedureState.PROPOSED):
        async with town.world.system.transaction() as tx:
            await store.approve(scope, tx, procedure_id=one.id, change=change, at=town.world.clock.now())


async def look(town: Town, who: str, where: Conversation) -> None:
    system = town.world.system
    person = f"console:{who}"
    town.check(
        json.dumps(await system.privacy.export(person), ensure_ascii=False), Reach(person=person, audiences=None)
    )
    for scope in await system.oversight.scopes_of(person):
        found = await system.oversight.overview(scope)
        heard_in = next(spot for spot in PLACES if spot.audience == scope.audience)
        town.check(found, reach_in(who, heard_in))
    town.check(await system.search(person, "tea", limit=50), Reach(person=person, audiences=None))
    town.check(await system.search(person, "tea", limit=50, audience=where.audience), reach_in(who, where))


async def erase(town: Town, who: str, where: Conversation) -> None:
    await town.world.system.privacy.erase(f"console:{who}")
    assert await town.world.system.privacy.scopes_of(f"console:{who}") == []
    assert (await town.world.system.privacy.export(f"console:{who}"))["scopes"] == {}


async def pass_time(town: Town, who: str, where: Conversation) -> None:
    town.world.clock.advance(minutes=town.random.choice([1, 31]))
    await town.world.system.sweep_idle()


ACTIONS = (*[talk] * 10, *[search] * 4, *[look] * 2, *[pass_time] * 2)


async def test_fifty_people_in_several_places_see_their_own_within_reach_and_nothing_else(tmp_path: Path) -> None:
    chance = random.Random(1)
    small = MemoryParameters(max_conversation_history=4, history_target=2)  # so that messages leave the window
    async with running(tmp_path, parameters=small, memory_model=ScriptedModel(default=keeping)) as world:
        town = Town(world=world, random=chance)
        for who in PEOPLE:
            await talk(town, who, chance.choice(PLACES))
        for step in range(STEPS):
            who = chance.choice(PEOPLE[:8] if step % 2 else PEOPLE)  # some talk much, so that a lot can be found
            await chance.choice(ACTIONS)(town, who, chance.choice(PLACES))
            if step % 60 == 59:
                await erase(town, who, PLACES[0])
        for who in PEOPLE:
            await look(town, who, PLACES[1])
        assert town.seen > 2_000


async def test_an_erasure_leaves_every_other_person_as_they_were(tmp_path: Path) -> None:
    def scopes(exported: dict[str, object]) -> object:
        return exported["scopes"]

    async with running(tmp_path) as world:
        town = Town(world=world, random=random.Random(3))
        for who in PEOPLE[:4]:
            for where in PLACES:
                await talk(town, who, where)
        privacy = world.system.privacy
        before = [scopes(await privacy.export(f"console:{who}")) for who in PEOPLE[1:4]]
        await erase(town, PEOPLE[0], PLACES[0])
        assert [scopes(await privacy.export(f"console:{who}")) for who in PEOPLE[1:4]] == before


def reaches() -> Iterable[tuple[Scope, Reach]]:
    for where in PLACES:
        scope = scope_of("console:ann", where.audience)
        yield scope, reach_of(scope, where.community)


def test_only_a_one_to_one_chat_reads_what_was_said_in_private() -> None:
    may_hear_dm = {scope.audience for scope, reach in reaches() if reach.audiences is None or "dm" in reach.audiences}
    assert may_hear_dm == {"dm"}
