"""When the bot speaks in a simulated Discord, over the whole application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle

from bot.command_table import COMMAND_TABLE
from bot.speaking import Access, Listed, SpeakingRules
from tests.adapters.discord_server import Server, server


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Server]:
    async with server(tmp_path, COMMAND_TABLE) as place:
        yield place


async def answers(place: Server, who: MemberActor, where: ChannelHandle, text: str) -> bool:
    """Whether the bot answers this."""
    before = len(place.world.channel.sent)
    await who.send(where, text)
    await place.world.handler.idle()
    return len(place.world.channel.sent) > before


async def a_thread(place: Server) -> ChannelHandle:
    """A public thread in the channel."""
    channel = place.env.bot.get_channel(place.channel.id)
    assert isinstance(channel, discord.TextChannel)
    await channel.create_thread(name="plans", type=discord.ChannelType.public_thread)
    return place.channel.threads[-1]


def me(place: Server) -> str:
    return f"<@{place.env.bot.user.id}>"


async def test_an_open_channel_is_answered_but_not_what_is_addressed_to_somebody_else(place: Server) -> None:
    assert not await answers(place, place.ann, place.channel, "hello")
    await place.admin.slash(place.channel, "memory channel", mode="open")
    assert await answers(place, place.ann, place.channel, "hello")
    assert not await answers(place, place.ann, place.channel, f"<@{place.bob.id}> hello")


async def test_a_thread_is_followed_once_it_was_named_there(place: Server) -> None:
    thread = await a_thread(place)
    assert not await answers(place, place.ann, thread, "hello")
    assert await answers(place, place.ann, thread, f"{me(place)} hello")
    assert await answers(place, place.bob, thread, "and then?")
    assert not await answers(place, place.bob, place.channel, "and here?")


async def test_a_silenced_channel_silences_its_threads(place: Server) -> None:
    thread = await a_thread(place)
    await place.admin.slash(place.channel, "memory silence")
    assert not await answers(place, place.ann, thread, f"{me(place)} hello")
    await place.admin.slash(thread, "memory unsilence")
    assert await answers(place, place.ann, place.channel, f"{me(place)} hello")


async def test_other_bots_and_webhooks_get_no_answer(place: Server) -> None:
    robot = place.guild.add_member(place.env.create_user("robot", bot=True))
    assert not await answers(place, robot, place.channel, f"{me(place)} hello")


@pytest.mark.parametrize("listed", ["allow", "deny"])
async def test_a_thread_is_under_the_list_that_names_its_channel(tmp_path: Path, listed: str) -> None:
    async with server(tmp_path, COMMAND_TABLE) as place:
        ids = frozenset({str(place.channel.id)})
        place.world.rule(SpeakingRules(access=Access(channels=Listed(**{listed: ids}))))
        thread = await a_thread(place)
        other = place.guild.create_text_channel("other")
        allowed = listed == "allow"
        assert await answers(place, place.ann, thread, f"{me(place)} hello") is allowed
        assert await answers(place, place.ann, other, f"{me(place)} hello") is not allowed


async def test_a_role_on_a_list_counts_for_its_members(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE) as place:
        muted = place.guild.create_role("Muted")
        carol = place.guild.add_member(place.env.create_user("carol"), roles=[muted])
        place.world.rule(SpeakingRules(access=Access(roles=Listed(deny=frozenset({str(muted.id)})))))
        assert not await answers(place, carol, place.channel, f"{me(place)} hello")
        assert await answers(place, place.ann, place.channel, f"{me(place)} hello")
