"""Who may look at and change whose memory, through the commands themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.chat import Conversation
from bot.commands import Caller
from memory.records import Change, Scope
from tests.desk import OPERATOR, Desk, admin, channel, summing_up
from tests.world import World, dm, running

ROOT = admin("root", "guild:1")
PRIVATE = Conversation(platform="console", key="console:1-staff", audience="channel:9", community="guild:1")
ADMIN_COMMANDS = (
    "view console:ann",
    "summary console:ann",
    "rollback console:ann 1",
    "undo console:ann 1",
    "end-session console:ann",
    "audit console:ann",
    "silence",
    "unsilence",
    "settings",
)


@asynccontextmanager
async def two_summaries(folder: Path, where: Conversation) -> AsyncIterator[World]:
    """Ann has talked twice in a place."""
    memory_model = summing_up("Ann likes tea.", "Ann likes coffee.")
    async with running(folder, memory_model=memory_model) as world:
        for text in ("I like tea", "I like coffee"):
            await world.say(text, where=where)
            world.clock.advance(minutes=30)
            await world.system.sweep_idle()
            await world.system.settle()
        yield world


@pytest.mark.parametrize("command", ADMIN_COMMANDS)
async def test_a_member_is_refused_whatever_the_platform_let_through(tmp_path: Path, command: str) -> None:
    async with running(tmp_path) as world:
        await world.say("Hello", where=channel(1))
        for member in (Caller(person="console:bob", name="bob"), admin("bob", "guild:2")):
            reply = await Desk.of(world).call(f"/memory {command}", by=member, where=channel(1))
            assert not reply.succeeded
            assert reply.text == "Only an admin of this community may do that."
        assert await world.system.stores.audit.recent(world.memory(where=channel(1)).place.reach, limit=10) == []


async def test_an_admin_sees_versions_and_rolls_back_and_the_person_can_read_so(tmp_path: Path) -> None:
    async with two_summaries(tmp_path, channel(1)) as world:
        desk = Desk.of(world)
        seen = await desk.call("/memory summary console:ann", by=ROOT, where=channel(1))
        assert "version 2, 2026-03-02 10:00 UTC, 3 words, end of a session (system)" in seen.text
        assert "- Ann likes tea." in seen.text
        assert "+ Ann likes coffee." in seen.text
        asked = await desk.call("/memory rollback console:ann 1", by=ROOT, where=channel(1))
        assert asked.confirm is not None
        assert "+ Ann likes tea." in asked.text
        summaries = world.system.stores.summaries
        scope = world.memory(where=channel(1)).place.scope
        assert len(await summaries.versions(scope)) == 2
        done = await desk.call("/memory rollback console:ann 1 confirmed:yes", by=ROOT, where=channel(1))
        assert done.succeeded
        newest = await summaries.latest(scope)
        assert newest is not None
        assert (newest.version, newest.text, newest.change.actor) == (3, "Ann likes tea.", "admin:console:root")
        await world.say("Hello", where=channel(1))
        assert "Ann likes tea." in world.model.requests[-1].system[0].text
        log = await desk.call("/mydata audit", by="ann")
        assert "console:root: memory rollback, summary to version 1 (guild:1)" in log.text
        assert "console:root: memory summary (guild:1)" in log.text
        assert log.text.index("to version 1") < log.text.index("memory summary")
        assert "likes" not in log.text


async def test_an_admin_reaches_neither_another_server_nor_direct_chats(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for where, text in ((channel(1), "one"), (channel(2), "two"), (dm("ann"), "private"), (PRIVATE, "staff")):
            await world.say(text, where=where)
            await write_core(world, where, f"Said {text}.")
        desk = Desk.of(world)
        for audience, sees in (("guild:1", "Said one."), ("channel:9", "Said staff.")):
            reply = await desk.call(f"/memory view console:ann {audience}", by=ROOT, where=channel(1))
            assert sees in reply.text
        for audience in ("guild:2", "dm", "channel:8"):
            reply = await desk.call(f"/memory view console:ann {audience}", by=ROOT, where=channel(1))
            assert not reply.succeeded
            assert reply.text == f"Nothing is remembered about console:ann heard by {audience} that you may see."
        both = admin("root", "guild:1", "guild:2")  # called in server 1, it is about server 1
        reply = await desk.call("/memory view console:ann guild:2", by=both, where=channel(1))
        assert not reply.succeeded
        assert "guild:2" not in (await desk.call("/mydata audit")).text


async def test_owners_and_the_operator_reach_everything(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for where in (channel(1), channel(2), dm("ann")):
            await world.say("Hello", where=where)
        owner = Caller(person="console:boss", name="boss")
        for caller in (owner, OPERATOR):
            desk = Desk.of(world, owners=frozenset({"console:boss"}))
            for audience in ("guild:1", "guild:2", "dm"):
                reply = await desk.call(f"/memory view console:ann {audience}", by=caller, where=dm(caller.name))
                assert f"Heard by {audience}" in reply.text
        log = (await Desk.of(world).call("/mydata audit")).text
        assert "console:boss: memory view (dm)" in log
        assert "operator: memory view (dm)" in log


async def test_a_slack_workspaces_admin_reaches_direct_messages(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        scope = await slack_dm(world)
        slack_admin = Caller(person="slack:T1:U2", name="root", admin_of=frozenset({"team:T1"}))
        where = Conversation(platform="slack", key="slack:T1:D9", audience="dm")
        reply = await Desk.of(world).call(f"/memory view {scope.person}", by=slack_admin, where=where)
        assert "Likes tea." in reply.text


async def test_texts_of_direct_messages_can_be_kept_from_admins_who_still_roll_them_back(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        scope = await slack_dm(world)
        desk = Desk.of(world, reads_dms=False)
        slack_admin = Caller(person="slack:T1:U2", name="root", admin_of=frozenset({"team:T1"}))
        where = Conversation(platform="slack", key="slack:T1:D9", audience="dm")
        for command in (
            f"/memory view {scope.person}",
            f"/memory summary {scope.person}",
            f"/memory summary {scope.person} 1",
            f"/memory rollback {scope.person} 1",
            f"/memory rollback {scope.person} 1 human",
            f"/memory undo {scope.person} 5",
            f"/memory audit {scope.person}",
            f"/memory rollback {scope.person} 1 confirmed:yes",
            f"/memory undo {scope.person} 5 confirmed:yes",
        ):
            reply = await desk.call(command, by=slack_admin, where=where)
            assert reply.succeeded, command
            assert "Likes" not in reply.text, command
        latest = await world.system.stores.summaries.latest(scope)
        assert latest is not None
        assert (latest.version, latest.text) == (3, "Likes tea.")


async def test_nobody_learns_whether_there_is_more_than_they_may_see(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("Hello", where=dm("ann"))
        replies = [
            (await Desk.of(world).call(f"/memory view console:{who}", by=ROOT, where=channel(1))).text
            for who in ("ann", "nobody")
        ]
        assert replies[0].replace("ann", "nobody") == replies[1]


async def test_suggestions_are_for_those_who_may_see_them(tmp_path: Path) -> None:
    async with two_summaries(tmp_path, channel(1)) as world:
        desk = Desk.of(world)
        for argument, values in (
            ("version", ["2", "1"]),
            ("block", ["persona", "human"]),
            ("audience", ["guild:1"]),
        ):
            assert [one.value for one in await desk.suggest("rollback", argument, ROOT, channel(1))] == values
        origins = await desk.suggest("undo", "session", ROOT, channel(1))
        assert any(one.value.startswith("close_session:") for one in origins)
        for stranger, where in ((admin("bob", "guild:2"), channel(1)), (admin("bob", "guild:2"), channel(2))):
            for name, argument in (("rollback", "version"), ("undo", "session"), ("view", "audience")):
                assert list(await desk.suggest(name, argument, stranger, where)) == []


async def slack_dm(world: World) -> Scope:
    """A person of a workspace, of whom a direct message is remembered."""
    scope = Scope(person="slack:T1:U1", audience="dm")
    stores, now = world.system.stores, world.clock.now()
    async with world.system.transaction() as tx:
        session = await stores.sessions.start(scope, tx, conversation="slack:T1:D1", community=None, at=now)
        await stores.sessions.claim_end(scope, tx, session_id=session.id, at=now)
        change = Change(actor="agent", reason="core_memory_append", session_id=5)
        await stores.blocks.append(scope, tx, label="human", text="Likes tea.", change=change, at=now)
        for text in ("Likes tea.", "Likes coffee."):
            await stores.summaries.append(
                scope, tx, text=text, change=Change(actor="system", reason="end of a session"), at=now
            )
    return scope


async def write_core(world: World, where: Conversation, text: str) -> None:
    async with world.system.transaction() as tx:
        await world.system.stores.blocks.append(
            world.memory(where=where).place.scope,
            tx,
            label="human",
            text=text,
            change=Change(actor="agent", reason="core_memory_append"),
            at=world.clock.now(),
        )
