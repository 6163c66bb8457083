"""The commands there really are, called on Slack by members and admins, on a real memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adapters.slack_adapter import SlackAdapter
from bot.action_table import ACTION_TABLE
from bot.actions import Action, Actions
from bot.command_table import COMMAND_TABLE
from bot.commands import Command, Commands, Group, Services
from memory.parameters import MemoryParameters, Preset
from memory.records import Scope
from tests.adapters.slack.running import started
from tests.desk import usual_settings
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.fakes import RecordingChannel, ScriptedModel
from tests.world import World, running

THREAD = "1772442009.000100"
DIGESTS = ("Ann likes tea.", "Ann likes coffee.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace with an admin and members, in which the whole application answers."""

    slack: SlackDouble
    world: World
    adapter: SlackAdapter

    async def say(self, user: str, channel: str, text: str, **fields: Any) -> None:
        """Somebody speaks to the bot; returns when everything that follows from it is done."""
        kind = "im" if channel.startswith("D") else "channel"
        words = text if kind == "im" else f"<@{BOT_USER}> {text}"
        await (await self.slack.deliver(self.slack.message(user, channel, words, channel_type=kind, **fields))).wait()
        await self.world.handler.idle()
        await self.world.system.settle()

    async def call(self, user: str, channel: str, text: str) -> dict[str, Any]:
        """Somebody calls a slash command; what answers it."""
        return await self.answered("slash_commands", self.slack.slash(user, channel, text))

    async def press(self, user: str, channel: str, shown: dict[str, Any]) -> dict[str, Any]:
        """Somebody presses the button below an answer; what answers that."""
        return await self.answered("interactive", self.slack.press(user, channel, shown))

    async def answered(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Slack sends a payload; what answers it."""
        before = len(self.slack.responses)
        await (await self.slack.deliver_payload(kind, payload)).wait()
        await self.slack.wait_for(lambda: len(self.slack.responses) > before)
        await self.world.system.settle()
        return self.slack.responses[before]


@asynccontextmanager
async def workspace(
    slack: SlackDouble,
    folder: Path,
    *,
    reads_dms: bool = True,
    digests: Sequence[str] = (),
    memory_model: ScriptedModel | None = None,
    actions: Sequence[Action] = ACTION_TABLE,
    table: Sequence[Command] = COMMAND_TABLE,
) -> AsyncIterator[Workspace]:
    """With ``digests``, those are written as summaries, and nothing else is learned."""
    slack.add_user("UADMIN", "Ada", is_admin=True)
    memory_model = memory_model or ScriptedModel(*digests, default="A digest.")
    parameters = MemoryParameters(preset=Preset.ROLLING if digests else Preset.FULL)
    channel = RecordingChannel("slack")
    async with running(folder, memory_model=memory_model, channel=channel, parameters=parameters) as world:
        services = Services(
            system=world.system,
            settings=usual_settings(),
            clock=world.clock,
            admin_reads_dms=reads_dms,
        )
        commands = Commands(table, services)
        listening = world.listener.is_for_us
        async with started(
            slack,
            world.following.accept,
            is_for_us=listening,
            on_change=world.following.apply,
            commands=commands,
            actions=Actions(actions, commands),
            clock=world.clock,
        ) as adapter:
            world.handler.attach({"slack": adapter})
            yield Workspace(slack=slack, world=world, adapter=adapter)


async def with_two_summaries(place: Workspace, channel: str) -> None:
    for said in ("I like tea.", "I like coffee now."):
        await place.say("U1", channel, said)
        await place.call("UADMIN", "C1", f"/memory end-session <@U1> audience:{audience_of(channel)}")


def audience_of(channel: str) -> str:
    return "dm" if channel.startswith("D") else "team:T1"


def text(shown: dict[str, Any]) -> str:
    return "\n".join(block["text"]["text"] for block in shown["blocks"] if block["type"] == "section")


async def test_an_admin_rolls_a_summary_back_and_the_person_sees_who_did(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path, digests=DIGESTS) as place:
        await with_two_summaries(place, "C1")
        versions = await place.call("UADMIN", "C1", "/memory summary <@U1>")
        asked = await place.call("UADMIN", "C1", "/memory rollback <@U1> 1")
        result = await place.press("UADMIN", "C1", asked)
        await place.say("U1", "C1", "What do I like?")
        audit = await place.call("U1", "D1", "/mydata audit")

        assert "coffee" in text(versions)
        assert "Ann likes coffee." in text(asked)
        assert "version 3" in text(result)
        prompt = str(place.world.model.requests[-1].system)
        assert "Ann likes tea." in prompt
        assert "Ann likes coffee." not in prompt
        assert "slack:T1:UADMIN" in text(audit)
        assert "rollback" in text(audit)
        assert all("Ann likes" not in post["text"] for post in slack.posts())


@pytest.mark.parametrize("channel", ["C1", "D2"])
async def test_a_member_reads_nobodys_memory(slack: SlackDouble, tmp_path: Path, channel: str) -> None:
    async with workspace(slack, tmp_path) as place:
        await place.say("U1", "D1", "I live in Oslo.")
        for row in COMMAND_TABLE:
            if row.group is Group.MEMORY:
                arguments = " ".join("<@U1>" if each.name == "person" else "1" for each in row.arguments)
                answer = await place.call("U2", channel, f"/memory {row.name} {arguments}")
                assert text(answer) == "Only an admin of this community may do that."


async def test_an_admin_rolls_back_a_direct_chats_summary_and_sees_its_text_only_where_allowed(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with workspace(slack, tmp_path, reads_dms=False, digests=DIGESTS) as place:
        await with_two_summaries(place, "D1")
        versions = await place.call("UADMIN", "C1", "/memory summary <@U1> audience:dm")
        asked = await place.call("UADMIN", "C1", "/memory rollback <@U1> 1 audience:dm")
        result = await place.press("UADMIN", "C1", asked)

        assert "version 3" in text(result)
        assert "Ann likes" not in text(versions) + text(asked) + text(result)


async def test_a_thread_taken_off_the_record_is_that_thread_alone(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        await place.say("U1", "C1", "!mydata incognito", thread_ts=THREAD)
        await slack.wait_for(lambda: len(slack.ephemeral) == 1)
        sittings = place.world.system.oversight.sittings
        scope = Scope(person="slack:T1:U1", audience="team:T1")
        off = [await sittings.is_off_record(scope, key) for key in ("slack:T1:C1", f"slack:T1:C1:{THREAD}")]
        refused = await place.call("U1", "C1", "/mydata incognito")

        assert off == [False, True]
        assert "nothing of this conversation is remembered" in text(slack.ephemeral[0])
        assert "thread" in text(refused)


async def test_a_silenced_channel_is_silent_in_its_threads_too_until_an_admin_ends_it(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with workspace(slack, tmp_path) as place:
        await place.call("UADMIN", "C1", "/memory silence")
        await place.say("U1", "C1", "hello", thread_ts=THREAD)
        assert slack.posts() == []
        await place.say("UADMIN", "C1", "!memory unsilence", thread_ts=THREAD)
        await slack.wait_for(lambda: len(slack.ephemeral) == 1)
        await place.say("U1", "C1", "hello", thread_ts=THREAD)
        assert len(slack.posts()) == 1


async def test_a_thread_goes_on_without_mentions_but_not_past_them(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:

        async def posts_after(text: str, **fields: Any) -> int:
            event = slack.message("U1", "C1", text, channel_type="channel", **fields)
            await (await slack.deliver(event)).wait()
            await place.world.handler.idle()
            return len(slack.posts())

        assert await posts_after("just talking") == 0
        root = slack.message("U1", "C1", f"<@{BOT_USER}> hello", channel_type="channel")
        await (await slack.deliver(root)).wait()
        await place.world.handler.idle()
        assert await posts_after("and then?", thread_ts=root["ts"]) == 2
        assert await posts_after("<@U2> and you?", thread_ts=root["ts"]) == 2
        assert await posts_after("what of this?", thread_ts="1772442000.000900") == 2


async def test_an_open_channel_is_answered_whatever_is_said_there(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        answer = await place.call("UADMIN", "C1", "/memory channel open")
        assert "From now on" in text(answer)
        await (await slack.deliver(slack.message("U1", "C1", "hello", channel_type="channel"))).wait()
        await place.world.handler.idle()
        assert len(slack.posts()) == 1


async def test_a_group_message_knows_nothing_private_and_no_answer_asks_for_the_history(
    slack: SlackDouble, tmp_path: Path
) -> None:
    slack.add_channel("G2", is_mpim=True, is_private=True)
    async with workspace(slack, tmp_path) as place:
        await place.say("U1", "D1", "My secret is PLUM.")
        event = slack.message("U1", "G2", f"<@{BOT_USER}> what is my secret?", channel_type="mpim")
        await (await slack.deliver(event)).wait()
        await place.world.handler.idle()
        assert "PLUM" not in str(place.world.model.requests[-1])
        assert len(slack.posts()) == 2
        assert not slack.called("conversations.history")
        assert not slack.called("conversations.replies")


async def test_what_others_said_in_a_channel_is_shown_where_a_thread_begins(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        await (await slack.deliver(slack.message("U2", "C1", "Lunch at noon?", channel_type="channel"))).wait()
        await place.say("U1", "C1", "what do you think?")
        assert "Bea] Lunch at noon?" in place.world.model.requests[-1].messages[-1].text


async def test_everyone_gets_their_data_as_a_file_in_their_direct_chat(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        await place.say("U1", "C1", "I live in Oslo.")
        await place.call("U1", "C1", "/mydata export")
        [file] = slack.files.values()

        assert file.channel == "DU1"
        assert file.name.endswith(".json")
        assert "I live in Oslo." in file.content.decode()
        assert isinstance(json.loads(file.content), dict)


async def test_everything_of_a_person_is_erased_by_their_own_word(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        await place.say("U1", "D1", "I live in Oslo.")
        refused = await place.call("U1", "D1", "/mydata erase yes")
        await place.call("U1", "D1", "/mydata erase ERASE")
        shown = await place.call("U1", "D1", "/mydata show")

        assert "Nothing was erased" in text(refused)
        assert "remember nothing" in text(shown)
