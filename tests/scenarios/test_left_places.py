"""What was said where the bot is no longer: read by nobody, kept for a while, given back or erased in the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bot.changes import MessageEdited, MessagesDeleted, PlaceEntered, PlaceLeft, PlacesKnown
from bot.chat import Conversation, IncomingMessage
from memory.messages import ToolCall
from memory.parameters import MemoryParameters
from memory.records import Scope
from tests.desk import Desk, admin, learning
from tests.fakes import FakeClock, RecordingChannel, ScriptedModel
from tests.world import World, running

ANN = "discord:1001"
SQUARE = Conversation(platform="discord", key="discord:11", audience="guild:1")
BACKROOM = Conversation(platform="discord", key="discord:12", audience="channel:12", community="guild:1")
ELSEWHERE = Conversation(platform="discord", key="discord:21", audience="guild:2")
DM = Conversation(platform="discord", key="discord:31", audience="dm")
PLACES = {"square": SQUARE, "backroom": BACKROOM, "elsewhere": ELSEWHERE, "dm": DM}
LEARNS = {f"word{name}": [{"text": f"User likes word{name}"}] for name in PLACES}


def incoming(world: World, where: Conversation, text: str) -> IncomingMessage:
    return replace(world.incoming(text, where=where), person=ANN)


async def say(world: World, where: Conversation, text: str) -> None:
    await world.following.accept(incoming(world, where, text))
    await world.handler.idle()
    await world.system.settle()


async def settled_in(world: World) -> None:
    """Ann says a word of its own in each place."""
    for name, where in PLACES.items():
        await say(world, where, f"I like word{name}")


async def found(world: World, audience: str | None = None) -> set[str]:
    """The places of which anything is found."""
    hits = [
        hit for name in PLACES for hit in await world.system.search(ANN, f"word{name}", limit=20, audience=audience)
    ]
    return {name for name in PLACES if any(f"word{name}" in hit.text for hit in hits)}


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def test_of_a_server_that_the_bot_left_nothing_is_read_not_even_in_a_direct_chat(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await settled_in(world)
        await world.following.apply(PlaceLeft(place="guild:1"))
        assert await found(world) == {"elsewhere", "dm"}
        await say(world, DM, "What do I like, wordsquare or wordbackroom?")
        prompt = str(world.model.requests[-1])
        assert "I like wordsquare" not in prompt
        assert "likes wordbackroom" not in prompt
        shown = [str(scope) for scope in await world.system.oversight.scopes_of(ANN)]
        assert shown == [f"{ANN}/dm", f"{ANN}/guild:2"]
        assert "wordsquare" in str(await world.system.privacy.export(ANN))  # it is still theirs


async def test_no_procedure_of_a_server_that_the_bot_left_is_followed(tmp_path: Path) -> None:
    save = ToolCall(
        id="t1",
        name="save_procedure",
        arguments={"name": "Report", "description": "Reports.", "steps": ["Wear a hat."], "triggers": ["report"]},
    )
    model = ScriptedModel(save, "I proposed it.", default="Here you are.")
    async with running(tmp_path, channel=RecordingChannel("discord"), model=model) as world:
        await say(world, SQUARE, "There is a way to do this")
        approve, root = f"/memory procedures {ANN} approve:report", admin("root", "guild:1")
        assert (await Desk.of(world).call(approve, by=root, where=SQUARE)).succeeded
        await say(world, DM, "Write the report")
        assert "Wear a hat." in str(model.requests[-1])
        await world.following.apply(PlaceLeft(place="guild:1"))
        await say(world, DM, "Write the report again")
        assert "Wear a hat." not in str(model.requests[-1])


async def test_coming_back_in_time_gives_all_of_it_back(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await settled_in(world)
        await world.following.apply(PlaceLeft(place="guild:1"))
        world.clock.advance(days=29)
        await world.system.tidy()
        await world.following.apply(PlaceEntered(place="guild:1"))
        assert await found(world) == set(PLACES)


async def test_being_spoken_to_in_a_place_proves_that_the_bot_is_there(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await settled_in(world)
        await world.following.apply(PlaceLeft(place="guild:1"))
        await say(world, BACKROOM, "Here we are again")
        assert await found(world) == set(PLACES)


async def test_when_the_time_is_over_it_is_erased_from_the_files_and_the_rest_stays(tmp_path: Path) -> None:
    clock = FakeClock()
    parameters = MemoryParameters(closed_scope_kept=timedelta(days=7))
    async with running(
        tmp_path, clock=clock, channel=RecordingChannel("discord"), memory_model=learning(LEARNS), parameters=parameters
    ) as world:
        await settled_in(world)
        await world.following.apply(PlaceLeft(place="guild:1"))
    clock.advance(days=7)
    async with running(tmp_path, clock=clock, channel=RecordingChannel("discord"), parameters=parameters) as world:
        await world.system.tidy()
        await world.following.apply(PlaceEntered(place="guild:1"))
        assert await found(world) == {"elsewhere", "dm"}
        scopes = await world.system.privacy.scopes_of(ANN)
        assert Scope(person=ANN, audience="guild:1") not in scopes
        assert Scope(person=ANN, audience="channel:12") not in scopes
    kept = files(tmp_path)
    assert b"wordsquare" not in kept
    assert b"wordbackroom" not in kept
    assert b"wordelsewhere" in kept


async def test_a_private_channel_that_is_gone_closes_alone(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await settled_in(world)
        await world.following.apply(PlaceLeft(place="channel:12"))
        assert await found(world) == {"square", "elsewhere", "dm"}


async def test_servers_left_while_nobody_watched_are_closed_at_the_start(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await settled_in(world)
        await world.following.apply(PlacesKnown(kind="guild", places=frozenset({"guild:1"})))
        assert await found(world) == {"square", "backroom", "dm"}
        await world.following.apply(PlacesKnown(kind="guild", places=frozenset({"guild:1", "guild:2"})))
        assert await found(world) == set(PLACES)


async def test_everything_of_a_person_is_erased_in_closed_places_too(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await settled_in(world)
        await world.following.accept(incoming(world, SQUARE, "This one still waits"))
        await world.following.apply(PlaceLeft(place="guild:1"))
        await world.system.privacy.erase(ANN)
        await world.handler.idle()
        assert await world.system.privacy.scopes_of(ANN) == []
        await say(world, ELSEWHERE, "Hello, I am new")
        assert await found(world) == set()
        assert await world.system.stores.recall.count(Scope(person=ANN, audience="guild:2")) == 2


async def test_a_change_that_comes_before_its_message_is_made_good(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        gone, changed = incoming(world, SQUARE, "I like wordsquare"), incoming(world, DM, "I like wordsquare")
        await world.following.apply(MessagesDeleted(channel=SQUARE.key, ids=(gone.id,)))
        later = world.clock.now() + timedelta(seconds=1)
        await world.following.apply(MessageEdited(channel=DM.key, id=changed.id, text="I like worddm", at=later))
        assert not await world.following.accept(gone)
        assert await world.following.accept(changed)
        await world.handler.idle()
        await world.system.settle()
        assert await found(world) == {"dm"}


async def test_a_change_is_kept_for_some_minutes_alone(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        await world.following.apply(MessagesDeleted(channel=SQUARE.key, ids=("1",)))
        world.clock.advance(minutes=6)
        await world.following.apply(MessagesDeleted(channel=SQUARE.key, ids=("2",)))
        assert await world.following.accept(replace(incoming(world, SQUARE, "I like wordsquare"), id="1"))


async def test_secrets_are_taken_out_of_new_words_too(tmp_path: Path) -> None:
    async with running(tmp_path, channel=RecordingChannel("discord"), memory_model=learning(LEARNS)) as world:
        message = incoming(world, DM, "I like worddm")
        await world.following.accept(message)
        await world.handler.idle()
        later = world.clock.now() + timedelta(seconds=1)
        secret = "AKIAIOSFODNN7EXAMPLE"
        await world.following.apply(MessageEdited(channel=DM.key, id=message.id, text=f"My key is {secret}", at=later))
        assert secret not in str(await world.system.privacy.export(ANN))
