"""The audience rule on every way in which memory is read: what was said in a place is seen where it may be, only.

A word of its own is planted in each place, by each kind of memory. Then everything that shows memory is asked in each
place: add a tool, a command or another way of reading to its table here, or a test fails.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bot.chat import Conversation
from bot.command_table import COMMAND_TABLE
from bot.commands import Group
from bot.tool_table import TOOL_TABLE
from bot.tools import Toolbox
from memory.messages import ModelRequest, ToolCall, user_message
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_scope
from memory.records import By, Change, NewMessage, ProcedureState, Scope
from tests.desk import OPERATOR, Desk, admin
from tests.fakes import START, FakeClock, ScriptedModel
from tests.world import World, running

PLACES = {
    "dm": Conversation(platform="console", key="console:ann:dm", audience="dm"),
    "square": Conversation(platform="console", key="console:square", audience="guild:1"),
    "backroom": Conversation(platform="console", key="console:backroom", audience="channel:9", community="guild:1"),
    "elsewhere": Conversation(platform="console", key="console:elsewhere", audience="guild:2"),
    "group": Conversation(platform="console", key="console:group", audience="channel:77"),
}
MAY_SEE = {
    "dm": set(PLACES),
    "square": {"square"},
    "backroom": {"backroom", "square"},
    "elsewhere": {"elsewhere"},
    "group": {"group"},
}
OF_COMMUNITY = {"guild:1": {"square", "backroom"}, "guild:2": {"elsewhere"}}
ABOUT = "jasmine tea"
MARK = re.compile(r"quagga(ann|bob)(dm|square|backroom|elsewhere|group)")
PARAMETERS = MemoryParameters(max_conversation_history=6, history_target=2)


def mark(who: str, place: str) -> str:
    return f"quagga{who}{place}"


def planted(who: str, place: str) -> str:
    return f"I like {ABOUT} very much {mark(who, place)}"


def where(who: str, place: str) -> Conversation:
    """A one-to-one chat is everyone's own; the others are the same for all."""
    if place == "dm":
        return Conversation(platform="console", key=f"console:{who}:dm", audience="dm")
    return PLACES[place]


def seen(shown: object, who: str = "ann") -> set[str]:
    """The places whose words were shown; nobody else's may be."""
    found = MARK.findall(str(shown))
    assert {whose for whose, _ in found} <= {who}
    return {place for _, place in found}


def repeating(request: ModelRequest) -> str:
    """Memory work that writes every mark it is shown into whatever it makes."""
    marks = sorted({found[0] for found in MARK.finditer(str(request.messages))})
    said = [f"User likes {ABOUT} {word}" for word in marks]
    match request.system[0].name:
        case "extract_facts":
            facts = [{"kind": "fact", "text": one} for one in said]
            events = [{"kind": "event", "text": f"User drank {ABOUT} {word}"} for word in marks]
            return json.dumps({"candidates": [*facts, *events]})
        case "reconcile_facts":
            return json.dumps({"ops": [{"candidate": 1, "op": "ADD"}]})
        case "write_episode":
            story = {"summary": " ".join(said), "goal": f"Talk of {ABOUT}", "journey": said, "lessons": said}
            empty: dict[str, list[str]] = {"key_moments": [], "tags": [], "facts": [], "procedures": []}
            return json.dumps({**story, **empty, "outcome": "success", "importance": 0.5})
    return " ".join(said)


def saving(text: str) -> list[ToolCall]:
    """The calls by which the agent saves a text wherever it can."""
    calls: Mapping[str, dict[str, Any]] = {
        "core_memory_append": {"text": text},
        "archival_insert": {"text": text},
        "memory": {"operation": "append", "text": text},
        "working_memory": {"operation": "set_goal", "text": text},
        "set_reminder": {"text": text, "when": "in 3 years"},
        "save_procedure": {"name": text, "description": text, "steps": [text], "triggers": [ABOUT]},
    }
    return [ToolCall(id=f"{name}-{text}", name=name, arguments=given) for name, given in calls.items()]


async def lived(world: World) -> None:
    """Ann and Bob talk in every place; then, after a silence, Ann once more."""
    for who, place in product(("ann", "bob"), PLACES):
        for _ in range(2):
            await world.say(planted(who, place), who=who, where=where(who, place))
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()
    for place in PLACES:
        text = planted("ann", place)
        world.model.answers = [saving(text), f"Noted: {text}"]
        await world.say(text, where=where("ann", place))


def told(folder: Path, clock: FakeClock) -> AbstractAsyncContextManager[World]:
    return running(folder, memory_model=ScriptedModel(default=repeating), parameters=PARAMETERS, clock=clock)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, datetime]:
    """What that life leaves: the folder of its database, and the time of its end."""
    folder, clock = tmp_path_factory.mktemp("life"), FakeClock()

    async def live() -> None:
        async with told(folder, clock) as world:
            await lived(world)

    asyncio.run(live())
    return folder, clock.now()


@pytest.fixture
async def world(life: tuple[Path, datetime], tmp_path: Path) -> AsyncIterator[World]:
    """A copy of it, after a restart."""
    folder, end = life
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    async with told(tmp_path, FakeClock(end)) as world:
        yield world


# ways of reading


async def prompt(world: World, place: str) -> object:
    await world.say(f"What about {ABOUT}?", where=where("ann", place))
    return world.model.requests[-1]


async def search(world: World, place: str) -> object:
    return await world.system.search("console:ann", ABOUT, limit=50, audience=PLACES[place].audience)


async def journal(world: World, place: str) -> object:
    reach = world.memory(where=where("ann", place)).place.reach
    return await world.system.stores.journal.latest(reach, until=world.clock.now(), limit=100)


async def fact_history(world: World, place: str) -> object:
    return await world.system.stores.facts.history(world.memory(where=where("ann", place)).place.reach, limit=100)


async def episodes(world: World, place: str) -> object:
    return await world.system.stores.episodes.history(world.memory(where=where("ann", place)).place.reach, limit=100)


async def procedures(world: World, place: str) -> object:
    return await world.system.stores.procedures.all(world.memory(where=where("ann", place)).place.reach)


async def approved_procedures(world: World, place: str) -> object:
    store, scope = world.system.stores.procedures, world.memory(where=where("ann", place)).place.scope
    for one in await store.all(reach_of_scope(scope), state=ProcedureState.PROPOSED):
        await world.system.oversight.experience.approve(scope, one.id, by=By())
    return await prompt(world, place)


async def messages_of_days(world: World, place: str) -> object:
    memory = world.memory(where=where("ann", place))
    first, last = START.date() - timedelta(days=1), START.date() + timedelta(days=1)
    return await memory.paging.messages_between(first, last, limit=100)


async def by_category(world: World, place: str) -> object:
    own = world.memory(where=where("ann", place)).place
    change, now = Change(actor="system", reason="test"), world.clock.now()
    async with world.system.transaction() as tx:
        await world.system.stores.tree.add_node(own.scope, tx, path="tea", description=ABOUT, change=change, at=now)
    return await world.system.tree_search.search(own.scope, own.reach, ABOUT, limit=50)


WAYS: tuple[Callable[[World, str], Awaitable[object]], ...] = (
    prompt,
    search,
    journal,
    fact_history,
    episodes,
    by_category,
    procedures,
    approved_procedures,
    messages_of_days,
)

DAYS = {"start_date": "2026-01-01", "end_date": "2026-12-31"}
QUERY: dict[str, Any] = {"query": ABOUT}
SAVED = "something new"
TOOL_CALLS: dict[str, tuple[dict[str, Any], ...]] = {
    "core_memory_append": ({"text": SAVED},),
    "core_memory_replace": ({"old": "nothing", "new": SAVED},),
    "recall_search": (QUERY,),
    "archival_insert": ({"text": SAVED},),
    "archival_search": (QUERY,),
    "conversation_search": (QUERY,),
    "conversation_search_date": (DAYS,),
    "memory_insert": ({"section": "human", "content": SAVED},),
    "memory_replace": ({"section": "human", "old_content": "nothing", "new_content": SAVED},),
    "memory_rethink": ({"section": "persona", "new_content": SAVED},),
    "archival_memory_insert": ({"content": SAVED},),
    "archival_memory_search": (QUERY,),
    "episode_search": (QUERY, {**QUERY, **DAYS}),
    "memory_tree_search": (QUERY,),
    "save_procedure": ({"name": SAVED, "description": SAVED, "steps": [SAVED]},),
    "memory": (
        {"operation": "read"},
        {"operation": "read", "query": ABOUT},
        {"operation": "read", "number": 1},
        {"operation": "update", "number": 1, "text": SAVED},
        {"operation": "summarize"},
        {"operation": "append", "text": SAVED},
        {"operation": "clear"},
    ),
    "working_memory": (
        {"operation": "add_note", "text": SAVED, "about": "x"},
        {"operation": "set_goal", "text": SAVED},
    ),
    "set_reminder": ({"text": SAVED, "when": "in 2 hours"},),
    "list_reminders": ({},),
    "cancel_reminder": ({"reminder": "nothing"},),
}

# What everyone may ask of their own memory; ``None`` shows nothing of it. The answers are for the caller alone.
MYDATA: dict[str, str | None] = {
    "show": "/mydata show",
    "audit": "/mydata audit",
    "facts": f"/mydata facts {ABOUT}",
    "why": "/mydata why",
    "export": "/mydata export",
    "forget": "/mydata forget jasmine",
    "correct": "/mydata correct fact:jasmine text:tea",
    "pin": "/mydata pin jasmine",
    "unpin": "/mydata unpin jasmine",
    "episodes": f"/mydata episodes {ABOUT}",
    "procedures": "/mydata procedures",
    "documents": "/mydata documents",
    "tree": "/mydata tree",
    "hot": "/mydata hot",
    "link": None,
    "unlink": None,
    "pause": None,
    "resume": None,
    "incognito": None,
    "new": None,
    "timezone": None,
    "erase": None,
}
# What admins may ask of a member's memory.
MEMORY: dict[str, str | None] = {
    "view": "/memory view console:ann",
    "summary": "/memory summary console:ann",
    "rollback": "/memory rollback console:ann 1",
    "undo": "/memory undo console:ann session:{session}",
    "end-session": "/memory end-session console:ann",
    "audit": "/memory audit console:ann",
    "stats": "/memory stats console:ann",
    "facts": "/memory facts console:ann",
    "history": "/memory history console:ann",
    "episodes": "/memory episodes console:ann",
    "procedures": "/memory procedures console:ann",
    "documents": "/memory documents console:ann",
    "revert": "/memory revert console:ann revision:{revision}",
    "tree": "/memory tree console:ann",
    "hot": "/memory hot console:ann",
    "budget": None,
    "settings": None,
    "silence": None,
    "unsilence": None,
    "channel": None,
}
BY_AUDIENCE = frozenset(
    command.name
    for command in COMMAND_TABLE
    if command.group is Group.MEMORY and any(argument.name == "audience" for argument in command.arguments)
)


def test_every_tool_and_every_command_stands_in_a_table_here() -> None:
    assert set(TOOL_CALLS) == {tool.name for tool in TOOL_TABLE}
    assert set(MYDATA) == {command.name for command in COMMAND_TABLE if command.group is Group.MYDATA}
    assert set(MEMORY) == {command.name for command in COMMAND_TABLE if command.group is Group.MEMORY}


async def test_each_way_of_reading_shows_what_the_place_may_see_and_no_more(world: World) -> None:
    for way in WAYS:
        for place in PLACES:
            shown = seen(await way(world, place))
            assert shown <= MAY_SEE[place], f"{way.__name__} in {place}"
            assert place in shown, f"{way.__name__} in {place} shows nothing, so it proves nothing"


async def test_each_tool_shows_what_the_place_may_see_and_no_more(world: World) -> None:
    showing = set()
    for place in PLACES:
        memory = world.memory(where=where("ann", place))
        new = NewMessage(message=user_message("Hello"), author="Ann", sent_at=world.clock.now())
        exchange = await memory.begin(new)
        toolbox = Toolbox(TOOL_TABLE)
        for name, calls in TOOL_CALLS.items():
            for number, arguments in enumerate(calls):
                call = ToolCall(id=f"{place}{name}{number}", name=name, arguments=arguments)
                shown = seen((await toolbox.run(memory, exchange, call)).content)
                assert shown <= MAY_SEE[place], f"{name} {arguments} in {place}"
                showing |= {name} if shown else set()
    assert showing >= {
        "recall_search",
        "episode_search",
        "memory_tree_search",
        "archival_search",
        "conversation_search_date",
        "memory",
        "list_reminders",
    }


async def test_own_commands_show_nothing_of_anybody_else(world: World) -> None:
    desk = Desk.of(world)
    for place in PLACES:
        await world.say(f"What about {ABOUT}?", where=where("ann", place))
        for text in filter(None, MYDATA.values()):
            reply = await desk.call(text, by="ann", where=where("ann", place))
            seen((reply.text, reply.attachment))
        assert seen((await desk.call("/mydata facts", by="ann", where=where("ann", place))).text) == set(PLACES)


async def test_why_names_only_what_the_reply_in_that_place_was_given(world: World) -> None:
    for place in PLACES:
        await world.say(f"What about {ABOUT}?", where=where("ann", place))
        assert seen((await Desk.of(world).call("/mydata why", where=where("ann", place))).text) <= MAY_SEE[place]


@pytest.mark.parametrize("community", OF_COMMUNITY)
async def test_an_admin_is_shown_what_was_said_in_the_own_community_and_no_more(world: World, community: str) -> None:
    ada = admin("ada", community)
    place = {"guild:1": "square", "guild:2": "elsewhere"}[community]
    shown = set()
    for text in await commands_of_admins(world):
        shown |= seen((await Desk.of(world).call(text, by=ada, where=PLACES[place])).text)
    assert shown <= OF_COMMUNITY[community]
    assert place in shown


async def test_an_admin_is_shown_nothing_in_a_place_of_another_community(world: World) -> None:
    for text in await commands_of_admins(world):
        for place in ("elsewhere", "dm", "group"):
            reply = await Desk.of(world).call(text, by=admin("ada", "guild:1"), where=where("ada", place))
            assert seen(reply.text) == set()


async def test_the_operator_is_shown_the_person_that_was_asked_for(world: World) -> None:
    for text in await commands_of_admins(world):
        seen((await Desk.of(world).call(text, by=OPERATOR, where=PLACES["square"])).text)


async def commands_of_admins(world: World) -> list[str]:
    """Every command about ann that shows memory, of the usual audience and of each by name."""
    facts, sessions = world.system.stores.facts, world.system.stores.sessions
    texts = []
    for place in PLACES.values():
        scope = Scope(person="console:ann", audience=place.audience)
        [session, *_] = await sessions.recent(scope, 1)
        [revision, *_] = await facts.history(world.memory(where=place).place.reach, limit=1)
        named = f"audience:{place.audience}"
        for name, text in MEMORY.items():
            if text is not None:
                filled = text.format(session=session.id, revision=revision.id)
                texts += [filled, f"{filled} {named}"] if name in BY_AUDIENCE else [filled]
    return list(dict.fromkeys(texts))
