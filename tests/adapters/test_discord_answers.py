"""What the Discord adapter sends: answers in parts, once each, and typing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.chat import DeliveryFailed, DeliveryRefused
from tests.adapters.discord_running import answer, started
from tests.doubles.discord import DiscordDouble, Scripted
from tests.fakes import RecordingChannel
from tests.world import running


async def test_an_answer_is_a_reply_that_pings_nobody_else(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked, "@everyone <@&1> <@2> hi"))

    (sent,) = discord.sent
    assert sent["content"] == "@everyone <@&1> <@2> hi"
    assert sent["allowed_mentions"] == {"parse": [], "replied_user": True}
    assert str(sent["message_reference"]["message_id"]) == asked
    assert len(sent["nonce"]) == 25
    assert sent["enforce_nonce"] is True


async def test_a_long_answer_comes_in_parts_and_only_the_first_is_a_reply(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    text = "\n".join(f"line {number}" for number in range(1_000))
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "count")
        await adapter.send(answer(chat, asked, text))

    assert "\n".join(sent["content"] for sent in discord.sent) == text
    assert ["message_reference" in sent for sent in discord.sent] == [True] + [False] * (len(discord.sent) - 1)
    assert len({sent["nonce"] for sent in discord.sent}) == len(discord.sent) > 1


async def test_the_same_answer_sent_again_appears_once(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked))
        await adapter.send(answer(chat, asked))

    assert discord.posts == 2
    assert len(discord.sent) == 1


@pytest.mark.parametrize(
    "trouble",
    [Scripted(cut=True), Scripted(cut=True, served=True), Scripted(status=500, served=True)],
    ids=["before it was taken", "after it was taken", "after it was taken, with an error"],
)
async def test_trouble_while_sending_leaves_one_answer(discord: DiscordDouble, trouble: Scripted) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    discord.script("POST", "/messages$", trouble)
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked))

    assert discord.posts == 2
    assert [sent["content"] for sent in discord.sent] == ["Hello."]


async def test_an_answer_to_a_deleted_message_still_arrives(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    async with started(discord) as adapter:
        await adapter.send(answer(chat, discord.snowflake()))

    assert [sent["content"] for sent in discord.sent] == ["Hello."]


@pytest.mark.parametrize("status", [403, 404])
async def test_a_closed_channel_refuses_the_answer_for_good(discord: DiscordDouble, status: int) -> None:
    chat = discord.add_dm()
    discord.script("POST", "/messages$", Scripted(status=status))
    async with started(discord) as adapter:
        with pytest.raises(DeliveryRefused):
            await adapter.send(answer(chat, discord.snowflake()))

    assert discord.posts == 1


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_another_failure_may_be_tried_again(discord: DiscordDouble, status: int) -> None:
    chat = discord.add_dm()
    discord.script("POST", "/messages$", Scripted(status=status))
    async with started(discord) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.send(answer(chat, discord.snowflake()))
        await adapter.send(answer(chat, discord.snowflake()))

    assert len(discord.sent) == 1


async def test_sending_goes_on_with_the_part_that_failed(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    long = answer(chat, discord.snowflake(), "\n".join(["x" * 1_500] * 3))
    discord.script("POST", "/messages$", Scripted(status=200, served=True), Scripted(status=503))
    async with started(discord) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.send(long)
        await adapter.send(long)

    assert discord.posts == 4
    assert len(discord.sent) == 3


async def test_after_a_stop_nothing_is_sent(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    async with started(discord) as adapter:
        await adapter.stop()
        with pytest.raises(DeliveryFailed):
            await adapter.send(answer(chat, discord.snowflake()))


async def test_an_answer_sent_before_a_crash_is_recognised(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked))
    async with started(discord) as adapter:
        assert await adapter.delivered_as(answer(chat, asked)) is not None


async def test_an_answer_never_sent_is_not_taken_for_another(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        first = await discord.post(chat, ann, "hello")
        second = await discord.post(chat, ann, "hello?")
        await adapter.send(answer(chat, second, key="answer-2"))
        await discord.post(chat, ann, "Hello.")

        assert await adapter.delivered_as(answer(chat, first)) is None


async def test_an_answer_cut_off_between_its_parts_is_completed(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    parts = [letter * 1_500 for letter in "abc"]
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked, parts[0]))
    discord.remembers_nonces = False
    async with started(discord) as adapter:
        whole = answer(chat, asked, "\n".join(parts))
        assert await adapter.delivered_as(whole) is None
        await adapter.send(whole)
        assert await adapter.delivered_as(whole) is not None

    assert [sent["content"] for sent in discord.sent] == parts


@pytest.mark.parametrize("status", [403, 404])
async def test_where_discord_never_lets_us_look_the_answer_counts_as_delivered(
    discord: DiscordDouble, status: int
) -> None:
    chat = discord.add_dm()
    discord.script("GET", "/messages$", Scripted(status=status))
    async with started(discord) as adapter:
        assert await adapter.delivered_as(answer(chat, discord.snowflake())) is not None


@pytest.mark.parametrize("trouble", [Scripted(cut=True), Scripted(status=401)])
async def test_where_discord_cannot_be_asked_just_now_the_answer_waits(
    discord: DiscordDouble, trouble: Scripted
) -> None:
    chat = discord.add_dm()
    discord.script("GET", "/messages$", trouble, trouble)  # aiohttp repeats what a cut connection lost
    async with started(discord) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.delivered_as(answer(chat, discord.snowflake()))


async def test_once_disconnected_discord_cannot_be_asked(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    async with started(discord) as adapter:
        await adapter.stop()
        with pytest.raises(DeliveryFailed):
            await adapter.delivered_as(answer(chat, discord.snowflake()))


async def test_typing_shows_without_delaying_or_failing_the_turn(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        message = answer(chat, asked)
        async with adapter.typing(message.conversation, "m1"):
            await discord.until(lambda: discord.typing == [chat.id])
            await adapter.send(message)
        for failure in (Scripted(status=403), Scripted(cut=True)):
            discord.script("POST", "/typing$", failure)
            async with adapter.typing(message.conversation, "m1"):
                await discord.until_scripts_are_used()
    async with adapter.typing(message.conversation, "m1"):
        pass


async def test_a_forbidden_channel_is_not_asked_again_with_every_message(
    discord: DiscordDouble, tmp_path: Path
) -> None:
    ann, guild = discord.add_user("Ann"), discord.add_guild("Garden")
    channel, open_channel = discord.add_channel(guild, "locked"), discord.add_channel(guild, "general")
    discord.script("POST", f"/channels/{channel.id}/messages$", *[Scripted(status=403)] * 100)
    discord.script("POST", f"/channels/{channel.id}/typing$", *[Scripted(status=403)] * 100)
    async with (
        running(tmp_path, channel=RecordingChannel("discord")) as world,
        started(discord, world.handler.accept, is_for_us=world.listener.is_for_us) as adapter,
    ):
        world.handler.attach({"discord": adapter})
        for _ in range(100):
            await discord.post(channel, ann, f"{discord.bot.mention} hello")
            if discord.posts < 3:
                refused = discord.posts
                await discord.until(lambda refused=refused: discord.posts > refused)
                await world.handler.idle()
        await discord.post(open_channel, ann, f"{discord.bot.mention} hello")
        await discord.until_sent(1)

    assert discord.posts < 10
