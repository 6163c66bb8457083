"""What people edit and delete in Slack, and where the app is removed, over the real client library."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory.messages import ModelRequest
from tests.adapters.slack.test_memory import Workspace, workspace
from tests.desk import learning
from tests.doubles.slack import BOT_USER, TEAM, SlackDouble
from tests.fakes import ScriptedModel

OSLO, ROME = "I live in Oslo.", "I live in Rome."
LEARNS = {"Oslo": [{"text": "User lives in Oslo"}], "Rome": [{"text": "User lives in Rome"}]}


def posted(slack: SlackDouble) -> dict[str, Any]:
    """The last thing that a person posted."""
    said = [post for posts in slack.messages.values() for post in posts if "bot_id" not in post]
    return max(said, key=lambda post: str(post["ts"]))


async def told(place: Workspace, event: dict[str, Any]) -> None:
    """Slack tells something; returns when everything that follows from it is done."""
    await (await place.slack.deliver(event)).wait()
    await place.world.handler.idle()
    await place.world.system.settle()


async def remembered(place: Workspace, audience: str) -> list[str]:
    facts = place.world.system.stores.facts
    scopes = await place.world.system.privacy.scopes_of("slack:T1:U1")
    return [fact.text for scope in scopes if scope.audience == audience for fact in await facts.current(scope)]


@pytest.mark.parametrize(("channel", "audience"), [("D1", "dm"), ("C1", "team:T1")])
async def test_an_edited_message_changes_the_fact(
    slack: SlackDouble, tmp_path: Path, channel: str, audience: str
) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await place.say("U1", channel, OSLO)
        assert await remembered(place, audience) == ["User lives in Oslo"]
        await told(place, slack.edit(posted(slack), f"<@{BOT_USER}> {ROME}"))
        assert await remembered(place, audience) == ["User lives in Rome"]
        assert "Oslo" not in str(await place.world.system.privacy.export("slack:T1:U1"))


@pytest.mark.parametrize("tombstone", [False, True])
async def test_a_message_deleted_before_it_is_learned_from_leaves_nothing(
    slack: SlackDouble, tmp_path: Path, tombstone: bool
) -> None:
    release = asyncio.Event()
    taught = learning(LEARNS)

    async def slow(request: ModelRequest) -> Any:
        await release.wait()
        return taught.default(request)  # type: ignore[operator]  # learning() answers by a function

    memory_model = ScriptedModel(default=slow)
    async with workspace(slack, tmp_path, memory_model=memory_model) as place:
        message = slack.message("U1", "D1", OSLO, channel_type="im")
        await (await slack.deliver(message)).wait()
        await memory_model.asked.wait()
        await (await slack.deliver(slack.delete(message, tombstone=tombstone))).wait()
        release.set()
        await place.world.system.settle()
        assert "Oslo" not in str(await place.world.system.privacy.export("slack:T1:U1"))


async def test_a_preview_or_a_reply_in_the_thread_is_no_edit(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await place.say("U1", "D1", OSLO)
        asked = len(place.world.memory_model.requests)
        await told(place, slack.edit(posted(slack), OSLO, attachments=[{"title": "Oslo"}], reply_count=1))
        assert len(place.world.memory_model.requests) == asked


async def test_a_file_taken_off_a_message_is_gone_with_what_it_held(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await place.say("U1", "D1", "look", subtype="file_share", files=[{"id": "F1", "name": "oslo.txt"}])
        assert "oslo.txt" in str(await place.world.system.privacy.export("slack:T1:U1"))
        await told(place, slack.edit(posted(slack), "look", files=[]))
        assert "oslo.txt" not in str(await place.world.system.privacy.export("slack:T1:U1"))


async def test_the_same_edit_told_twice_changes_the_fact_once(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await place.say("U1", "D1", OSLO)
        event = slack.edit(posted(slack), ROME)
        for _ in range(2):
            await told(place, event)
        assert await remembered(place, "dm") == ["User lives in Rome"]


async def test_what_others_edit_and_delete_is_nothing_to_us(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await place.say("U1", "D1", OSLO)
        other = slack.message("U2", "C1", "just talking", channel_type="channel")
        await told(place, slack.edit(other, "still talking"))
        await told(place, slack.delete(other))
        assert await remembered(place, "dm") == ["User lives in Oslo"]


GONE = [
    {"type": "app_uninstalled"},
    {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}},
    {"type": "group_left", "channel": "G1"},
    {"type": "group_deleted", "channel": "G1"},
    {"type": "channel_deleted", "channel": "G1"},
    {"type": "channel_left", "channel": "G1"},
]


@pytest.mark.parametrize("event", GONE, ids=lambda event: event["type"])
async def test_what_was_said_where_the_app_was_removed_is_read_nowhere(
    slack: SlackDouble, tmp_path: Path, event: dict[str, Any]
) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await told(place, slack.message("U1", "G1", f"<@{BOT_USER}> {OSLO}", channel_type="group"))
        assert await place.world.system.search("slack:T1:U1", "Oslo", limit=5)
        await told(place, event)
        assert await place.world.system.search("slack:T1:U1", "Oslo", limit=5) == []


async def test_other_tokens_that_are_revoked_are_not_ours(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await place.say("U1", "D1", OSLO)
        await told(place, {"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}})
        assert await place.world.system.search("slack:T1:U1", "Oslo", limit=5)


async def test_being_asked_back_into_a_channel_gives_its_memory_back(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, memory_model=learning(LEARNS)) as place:
        await told(place, slack.message("U1", "G1", f"<@{BOT_USER}> {OSLO}", channel_type="group"))
        await told(place, {"type": "group_left", "channel": "G1"})
        await told(place, {"type": "member_joined_channel", "channel": "G1", "user": "U2", "team": TEAM})
        assert await place.world.system.search("slack:T1:U1", "Oslo", limit=5) == []
        await told(place, {"type": "member_joined_channel", "channel": "G1", "user": BOT_USER, "team": TEAM})
        assert await place.world.system.search("slack:T1:U1", "Oslo", limit=5)
