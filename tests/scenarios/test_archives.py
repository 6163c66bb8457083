"""What people said before the bot was there: an archive of Discord or Slack becomes the memory of each of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import open_archive
from memory.errors import InvalidInput
from memory.policy.audience import reach_of, reach_of_person
from memory.processes.archive_importer import ArchiveReceipt
from memory.records import Archive, PastMessage, Scope
from tests.desk import learning
from tests.world import World, running

ANN, BOB = "discord:11", "discord:12"
EVA = "slack:T1:U1"


def said(number: int, who: str, text: str, **extra: Any) -> dict[str, Any]:
    author = {"id": who, "name": f"user{who}", "nickname": {"11": "Ann", "12": "Bob"}.get(who), "isBot": who == "99"}
    return {
        "id": str(1000 + number),
        "type": "Default",
        "timestamp": f"2021-05-{1 + number // 24:02}T{number % 24:02}:00:00+02:00",
        "timestampEdited": None,
        "content": text,
        "author": author,
        "attachments": [],
        **extra,
    }


TALK = [
    said(0, "11", "My cat is called Biscuit"),
    said(1, "12", "I keep bees behind the chapel"),
    said(2, "99", "I am a bot and say beep"),
    said(3, "11", "", type="GuildMemberJoin"),
    said(4, "11", "", attachments=[{"id": "5", "fileName": "cat.png"}]),
    said(5, "12", "pinned", type="ChannelPinnedMessage"),
]


def discord_file(folder: Path, *, kind: str = "GuildTextChat", guild: str = "7", messages: Any = TALK) -> Path:
    channel = {"id": "500", "type": kind, "categoryId": "400", "category": "Talk", "name": "general"}
    export = {"guild": {"id": guild, "name": "Garden"}, "channel": channel, "messages": messages}
    path = folder / "general.json"
    path.write_text(json.dumps(export), encoding="utf-8-sig")
    return path


def post(ts: int, user: str, text: str, **extra: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": f"{1_600_000_000 + ts}.000100", **extra}


def slack_file(folder: Path, **other: Any) -> Path:
    files: dict[str, Any] = {
        "users.json": [
            {"id": "U1", "team_id": "T1", "profile": {"display_name": "Eva"}},
            {"id": "U2", "team_id": "T1", "name": "finn"},
            {"id": "UB", "team_id": "T1", "is_bot": True},
        ],
        "channels.json": [{"id": "C1", "name": "general"}],
        "groups.json": [{"id": "G1", "name": "staff"}],
        "dms.json": [{"id": "D1", "members": ["U1", "UB"]}, {"id": "D2", "members": ["U1", "U2"]}],
        "general/2020-09-13.json": [
            post(0, "U1", "I moved to <https://oslo.no|Oslo> &amp; like it, <@U2>"),
            post(1, "UB", "beep", bot_id="B1"),
            post(2, "U2", "has joined", subtype="channel_join"),
            post(3, "U2", "Which part?", thread_ts="1600000000.000100"),
        ],
        "staff/2020-09-13.json": [post(10, "U1", "My salary is 5100")],
        "D1/2020-09-13.json": [post(20, "U1", "My secret is a piano")],
        "D2/2020-09-13.json": [post(30, "U1", "Between us: I quit")],
        **other,
    }
    path = folder / "workspace.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path


def opened(path: Path, *, public: bool = False) -> Archive:
    archive = open_archive(path, public=public, team=None)
    assert archive is not None
    return archive


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as world:
        yield world


async def take_in(world: World, archive: Archive, *, learn: bool = False) -> ArchiveReceipt:
    receipt = await world.system.oversight.archives.run(archive, actor="operator", learn=learn)
    await world.system.settle()
    return receipt


async def everything(world: World, person: str) -> set[tuple[str, str]]:
    """What is found of a person: by whom it could be heard, and the words."""
    start, end = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    found = await world.system.stores.recall.between(reach_of_person(person), start, end, limit=100_000)
    return {(message.scope.audience, message.text) for message in found}


async def test_each_person_gets_what_they_said_on_discord_with_its_date(tmp_path: Path, world: World) -> None:
    archive = opened(discord_file(tmp_path))
    assert (archive.messages, archive.left_out) == (3, 3)
    receipt = await take_in(world, archive)
    assert receipt.people == {ANN: 2, BOB: 1}
    private = "channel:500"
    assert await everything(world, ANN) == {(private, "My cat is called Biscuit"), (private, "[attached: cat.png]")}
    [hit, *_] = await world.system.search(BOB, "bees chapel", limit=3)
    assert (hit.text, hit.author, hit.at.isoformat()) == (
        "I keep bees behind the chapel",
        "Bob",
        "2021-04-30T23:00:00+00:00",
    )
    [entry] = await world.system.stores.audit.recent(reach_of_person(BOB), limit=5)
    assert (entry.actor, entry.action) == ("operator", "memory import")


async def test_a_channel_of_discord_is_as_public_as_the_operator_says(tmp_path: Path) -> None:
    def audience(*, public: bool, **file: Any) -> set[tuple[str, str | None]]:
        archive = opened(discord_file(tmp_path, **file), public=public)
        return {(message.audience, message.community) for message in archive.read()}

    assert audience(public=True) == {("guild:7", None)}
    assert audience(public=False, kind="GuildPublicThread") == {("channel:400", "guild:7")}
    assert audience(public=True, kind="GuildPrivateThread") == {("channel:500", "guild:7")}
    assert audience(public=True, kind="DirectTextChat", guild="0") == {("channel:500", None)}  # two people
    alone = [message for message in TALK if message["author"]["id"] != "12"]
    assert audience(public=False, kind="DirectTextChat", guild="0", messages=alone) == {("dm", None)}
    assert audience(public=True, kind="DirectGroupTextChat", guild="0") == {("channel:500", None)}


async def test_a_workspace_of_slack_is_told_apart_by_who_could_hear(tmp_path: Path, world: World) -> None:
    archive = opened(slack_file(tmp_path))
    assert (archive.messages, archive.left_out) == (5, 2)
    await take_in(world, archive)
    assert await everything(world, EVA) == {
        ("team:T1", "I moved to Oslo (https://oslo.no) & like it, @finn"),
        ("channel:G1", "My salary is 5100"),
        ("dm", "My secret is a piano"),
        ("channel:D2", "Between us: I quit"),
    }
    assert await everything(world, "slack:T1:U2") == {("team:T1", "Which part?")}
    in_public = reach_of(Scope(person=EVA, audience="team:T1"))
    found = await world.system.stores.recall.search(in_public, "piano salary Oslo", limit=9, evicted_only=False)
    assert {hit.scope.audience for hit in found} == {"team:T1"}


async def test_an_import_that_was_killed_goes_on_and_one_that_is_repeated_adds_nothing(tmp_path: Path) -> None:
    many = [said(number, "11", f"Fig number {number}") for number in range(450)]
    archive = opened(discord_file(tmp_path, messages=many))

    def killed() -> Iterator[PastMessage]:
        for number, message in enumerate(archive.read()):
            if number == 250:
                raise KeyboardInterrupt
            yield message

    async with running(tmp_path) as world:
        with pytest.raises(KeyboardInterrupt):
            await take_in(world, replace(archive, read=killed))
        assert len(await everything(world, ANN)) == 200
    async with running(tmp_path) as world:
        receipt = await take_in(world, archive)
        assert (receipt.people, receipt.already_here) == ({ANN: 250}, 200)
        whole = await world.system.privacy.export(ANN)
        receipt = await take_in(world, archive)
        assert (receipt.people, receipt.already_here) == ({}, 450)
        assert (await world.system.privacy.export(ANN))["scopes"] == whole["scopes"]
        assert len(await everything(world, ANN)) == 450


async def test_what_was_said_in_a_pause_stays_out(tmp_path: Path, world: World) -> None:
    async with world.system.transaction() as tx:
        began = datetime(2021, 5, 1, 0, tzinfo=UTC)
        await world.system.stores.consent.pause(Scope(person=ANN, audience="dm"), tx, at=began)
    receipt = await take_in(world, opened(discord_file(tmp_path)))
    assert (receipt.people, receipt.kept_out) == ({ANN: 1, BOB: 1}, 1)
    assert await everything(world, ANN) == {("channel:500", "My cat is called Biscuit")}


async def test_facts_are_learned_only_where_that_is_asked_for(tmp_path: Path) -> None:
    taught = {"Biscuit": [{"text": "Has a cat called Biscuit", "subject": "user", "predicate": "has", "object": "cat"}]}
    archive = opened(discord_file(tmp_path))
    for name, learn in (("without", False), ("with", True)):
        (tmp_path / name).mkdir()
        async with running(tmp_path / name, memory_model=learning(taught)) as world:
            receipt = await take_in(world, archive, learn=learn)
            facts = await world.system.stores.facts.within(reach_of_person(ANN))
            assert [fact.text for fact in facts] == (["Has a cat called Biscuit"] if learn else [])
            assert bool(receipt.to_learn) is bool(world.memory_model.requests) is learn


async def test_an_import_is_in_no_window_and_in_no_summary(tmp_path: Path, world: World) -> None:
    await world.say("Hello there")
    mine = [message for message in opened(discord_file(tmp_path)).read() if message.person == ANN]
    here = [replace(message, person="console:ann", audience="dm", conversation="console:ann:dm") for message in mine]
    await take_in(world, Archive(title="", messages=2, left_out=0, read=lambda: iter(here)))
    await world.say("Who am I?")
    assert "Biscuit" not in str(world.model.requests[-1].messages[:-1])
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()
    assert "Biscuit" not in str(world.memory_model.requests)


def _bomb(folder: Path) -> Path:
    return slack_file(folder, **{"general/2020-09-14.json": b" " * (30 << 20)})


def _outside(folder: Path) -> Path:
    return slack_file(folder, **{"../../etc/2020-09-14.json": []})


def _cut(folder: Path) -> Path:
    path = slack_file(folder)
    path.write_bytes(path.read_bytes()[:-100])
    return path


def _of_another_age(folder: Path) -> Path:
    return slack_file(folder, **{"general/2020-09-14.json": [{**post(1, "U1", "hello"), "ts": "253402300799.000100"}]})


def _undated(folder: Path) -> Path:
    return slack_file(folder, **{"general/2020-09-14.json": [{**post(1, "U1", "hello"), "ts": "yesterday"}]})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (_bomb, "too large to be a day"),
        (_outside, "outside of itself"),
        (_cut, "no zip file, or damaged"),
        (_undated, "has no date"),
        (_of_another_age, "of the year 9999"),
        (
            lambda folder: slack_file(folder, **{"D1/2020-09-14.json": [post(1, "U1", "", files=[{"name": True}])]}),
            "D1/2020-09-14.json",
        ),
        (
            lambda folder: discord_file(folder, messages=[said(0, "11", "hi", timestamp="0001-01-01T00:00:00+14:00")]),
            "messages.0.timestamp",
        ),
        (
            lambda folder: discord_file(folder, messages=[said(0, "11", "hi", timestampEdited="9999-12-31T23:00:00Z")]),
            "messages.0.timestampEdited",
        ),
        (lambda folder: slack_file(folder, **{"general/2020-09-14.json": b"{"}), "general/2020-09-14.json"),
        (lambda folder: slack_file(folder, **{"users.json": [{"id": "U1"}]}), "--team T01ABCDEF"),
        (lambda folder: discord_file(folder, messages=[said(0, "eleven", "hello")]), "messages.0.author.id"),
        (lambda folder: discord_file(folder, messages={}), "damaged at messages"),
    ],
)
def test_a_bad_archive_is_refused_with_a_sentence(tmp_path: Path, make: Callable[[Path], Path], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        opened(make(tmp_path))
    assert sentence in str(refused.value)
