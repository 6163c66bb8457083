"""A thumb below an answer on Discord moves the procedures that the answer was given, over the real discord.py."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adapters.discord_adapter import DiscordAdapter
from bot.changes import OnChange, PlatformChange, Reaction
from memory.policy.audience import reach_of_person
from memory.records import Change, HowTo
from tests.doubles.discord import DiscordDouble
from tests.doubles.discord_gateway import TOKEN
from tests.fakes import RecordingChannel
from tests.world import World, running


async def with_a_procedure(world: World, person: str, audience: str) -> None:
    scope = world.system.conversation(person=person, audience=audience, conversation="discord:1").place.scope
    how_to = HowTo(name="Report", description="Reports.", steps=("Be short.",), triggers=("report",))
    change, at, procedures = Change(actor=person, reason="test"), world.clock.now(), world.system.stores.procedures
    async with world.system.transaction() as tx:
        proposed = await procedures.propose(scope, tx, how_to=how_to, change=change, at=at)
        assert proposed is not None
        await procedures.approve(scope, tx, procedure_id=proposed.id, change=change, at=at)


class Followed:
    """Tells when reactions have been followed."""

    def __init__(self, follow: OnChange) -> None:
        self._follow = follow
        self.reactions: asyncio.Queue[Reaction] = asyncio.Queue()

    async def __call__(self, change: PlatformChange) -> None:
        await self._follow(change)
        if isinstance(change, Reaction):
            await self.reactions.put(change)


@pytest.mark.parametrize("direct", [True, False])
async def test_a_thumb_on_an_answer_counts_and_can_be_taken_back(tmp_path: Path, direct: bool) -> None:
    async with DiscordDouble().running() as discord, running(tmp_path, channel=RecordingChannel("discord")) as world:
        ann, bob, guild = discord.add_user("Ann"), discord.add_user("Bob"), discord.add_guild("Home")
        place = discord.add_dm() if direct else discord.add_channel(guild, "general")
        person, audience = f"discord:{ann.id}", "dm" if direct else f"guild:{guild.id}"
        await with_a_procedure(world, person, audience)
        followed = Followed(world.following.apply)
        adapter = DiscordAdapter(
            token=TOKEN,
            on_message=world.following.accept,
            is_for_us=world.listener.is_for_us,
            on_change=followed,
            api_url=discord.api_url,
            gateway_url=discord.gateway_url,
            guild_ready_timeout=0.05,
        )
        world.handler.attach({"discord": adapter})

        async def rate_after(who: str, emoji: str, *, taken_back: bool = False) -> float | None:
            user = {"Ann": ann, "Bob": bob}[who]
            await discord.react(place, answer, user, emoji, taken_back=taken_back)
            async with asyncio.timeout(20):
                await followed.reactions.get()
            [procedure] = await world.system.stores.procedures.all(reach_of_person(person))
            return procedure.success_rate

        try:
            await adapter.start()
            await discord.post(place, ann, f"{discord.bot.mention} Please write the report.")
            await discord.until_sent(1)
            await world.handler.idle()
            answer = str(place.messages[-1]["id"])
            assert await rate_after("Bob", "👍") is None
            assert await rate_after("Ann", "👍🏽") == 1.0
            assert await rate_after("Ann", "👍🏽", taken_back=True) is None
            assert await rate_after("Ann", "👎") == 0.0
        finally:
            await adapter.stop()
