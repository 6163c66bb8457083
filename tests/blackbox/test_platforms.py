"""``keepsake run`` on Discord and Slack at once, seen from outside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.blackbox.process import Keepsake, Services, forked_run, keepsake_run, log_is_clean, services
from tests.doubles.discord_world import Channel, Member
from tests.doubles.slack import BOT_USER

WORDS = [f"number {count}" for count in range(5)]
LONG = " ".join(f"word{count}" for count in range(2_000))[:10_000]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, kw_only=True)
class Running(Services):
    """The one process of this module, and its services.

    Attributes:
        general: a channel that its whole server reads.
        staff: a hidden one of the same server.
    """

    keepsake: Keepsake
    general: Channel
    staff: Channel

    async def ask_on_discord(self, channel: Channel, person: Member, words: str) -> list[str]:
        """Say something to the bot, and return what it answers there."""
        before = len(self.discord_answers(channel))
        mention = f"{self.discord.bot.mention} " if channel.guild else ""
        await self.discord.post(channel, person, mention + words)
        await self.discord.until(lambda: len(self.discord_answers(channel)) > before)
        return self.discord_answers(channel)[before:]

    async def ask_on_slack(self, channel: str, user: str, words: str, *, kind: str) -> None:
        """Say something to the bot, and wait for the first part of its answer."""
        before = len(self.slack.posts(channel))
        mention = "" if kind == "im" else f"<@{BOT_USER}> "
        await self.slack.deliver(self.slack.message(user, channel, mention + words, channel_type=kind))
        await self.slack.wait_for(lambda: len(self.slack.posts(channel)) > before)


@pytest.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    async with (
        services() as outside,
        keepsake_run(tmp_path_factory.mktemp("platforms"), outside.all_settings) as keepsake,
    ):
        # Servers and channels are told to a bot when it connects.
        garden = outside.discord.add_guild("Garden")
        general = outside.discord.add_channel(garden, "general")
        staff = outside.discord.add_channel(garden, "staff", hidden=True)
        await keepsake.until_logged("ready")
        yield Running(
            keepsake=keepsake,
            general=general,
            staff=staff,
            discord=outside.discord,
            slack=outside.slack,
            claude=outside.claude,
            mind=outside.mind,
        )
        keepsake.terminate()
        assert await keepsake.ended() == 0
        assert log_is_clean(keepsake), keepsake.stderr


async def test_each_person_is_answered_once_and_in_order(running: Running) -> None:
    discord, slack = running.discord, running.slack
    chats = [(discord.add_dm(), discord.add_user(name)) for name in ("Ann", "Bob")]
    for user in ("U1", "U2"):
        slack.add_user(user, user)
        slack.add_channel(f"D{user}", is_im=True)

    for words in WORDS:
        for chat, person in chats:
            await discord.post(chat, person, words, times=2)
        for user in ("U1", "U2"):
            event = slack.message(user, f"D{user}", words, channel_type="im")
            await slack.deliver(event, event_id=f"Ev-{user}-{words}")
            await slack.deliver(event, event_id=f"Ev-{user}-{words}", retry_attempt=1)
    for chat, person in chats:  # in a turn of its own, after all others of the person
        await running.discord.post(chat, person, "the last")
    for user in ("U1", "U2"):
        await slack.deliver(slack.message(user, f"D{user}", "the last", channel_type="im"))

    expected = [f"You said: {words}" for words in (*WORDS, "the last")]
    await discord.until(lambda: all(running.discord_answers(chat)[-1:] == expected[-1:] for chat, _ in chats))
    await slack.wait_for(lambda: all(running.slack_answers(f"DU{n}")[-1:] == expected[-1:] for n in (1, 2)))
    for chat, _ in chats:
        assert running.discord_answers(chat) == expected
    for user in ("U1", "U2"):
        assert running.slack_answers(f"D{user}") == expected


async def test_a_mention_that_slack_tells_twice_is_answered_once_in_its_thread(running: Running) -> None:
    slack = running.slack
    slack.add_user("U3", "Cleo")
    slack.add_channel("C3")
    post = slack.message("U3", "C3", f"<@{BOT_USER}> told twice", channel_type="channel")
    mention = {name: value for name, value in post.items() if name != "channel_type"} | {"type": "app_mention"}

    await (await slack.deliver(mention)).wait()
    await (await slack.deliver(post)).wait()
    again = slack.message("U3", "C3", f"<@{BOT_USER}> once more", channel_type="channel", thread_ts=post["ts"])
    await slack.deliver(again)
    await slack.wait_for(lambda: running.slack_answers("C3")[-1:] == ["You said: once more"])

    assert running.slack_answers("C3") == ["You said: told twice", "You said: once more"]
    assert {answer["thread_ts"] for answer in slack.posts("C3")} == {post["ts"]}


async def test_on_discord_nobody_hears_what_was_told_in_a_smaller_circle(running: Running) -> None:
    ann, bob, chat = running.discord.add_user("Ann"), running.discord.add_user("Bob"), running.discord.add_dm()
    general, staff = running.general, running.staff
    await running.ask_on_discord(chat, ann, "My birthday surprise is a trip to Lisbon.")
    await running.ask_on_discord(general, ann, "My cat is called Biscuit.")
    await running.ask_on_discord(staff, ann, "My salary is 5100 crowns.")

    for channel, who, words, known in (
        (general, ann, "What is my birthday surprise trip?", {}),
        (general, ann, "How high is my salary in crowns?", {}),
        (general, bob, "What is my cat called, if anything?", {}),
        (staff, ann, "Where does my birthday surprise trip go?", {"Lisbon": False}),
        (staff, ann, "What was my cat called?", {"Biscuit": True}),
        (chat, ann, "What is my cat called again?", {"Biscuit": True}),
        (chat, ann, "How high was my salary in crowns?", {"5100": True}),
    ):
        await running.ask_on_discord(channel, who, words)
        _check_prompt(running, words, known or {"Lisbon": False, "5100": False, "Biscuit": who is ann})


async def test_on_slack_nobody_hears_what_was_told_in_a_smaller_circle(running: Running) -> None:
    slack = running.slack
    slack.add_user("U4", "Dora")
    slack.add_channel("D4", is_im=True)
    slack.add_channel("C4")
    slack.add_channel("G4", is_private=True)
    await running.ask_on_slack("D4", "U4", "My dentist found a hole on Tuesday.", kind="im")
    await running.ask_on_slack("C4", "U4", "My bicycle is a green Peugeot.", kind="channel")

    await running.ask_on_slack("C4", "U4", "What did my dentist find?", kind="channel")
    await running.ask_on_slack("G4", "U4", "What did my dentist find there?", kind="group")
    await running.ask_on_slack("G4", "U4", "Which bicycle is mine?", kind="group")
    await running.ask_on_slack("D4", "U4", "Which bicycle was mine?", kind="im")

    _check_prompt(running, "What did my dentist find?", {"Tuesday": False})
    _check_prompt(running, "What did my dentist find there?", {"Tuesday": False})
    _check_prompt(running, "Which bicycle is mine?", {"Peugeot": True, "Tuesday": False})
    _check_prompt(running, "Which bicycle was mine?", {"Peugeot": True, "Tuesday": True})


def _check_prompt(running: Running, words: str, holds: dict[str, bool]) -> None:
    prompt = running.prompt(words)
    assert {word: word in prompt for word in holds} == holds, words


async def test_an_answer_of_ten_thousand_characters_arrives_whole(running: Running) -> None:
    running.mind.replies["Tell me everything."] = LONG
    discord, slack = running.discord, running.slack
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    slack.add_user("U5", "Emil")
    slack.add_channel("D5", is_im=True)
    await running.ask_on_discord(chat, ann, "hello")
    await running.ask_on_slack("D5", "U5", "hello", kind="im")

    await asyncio.gather(
        running.ask_on_discord(chat, ann, "Tell me everything."),
        running.ask_on_slack("D5", "U5", "Tell me everything.", kind="im"),
    )
    last = LONG.split()[-1]
    await discord.until(lambda: running.discord_answers(chat)[-1].endswith(last))
    await slack.wait_for(lambda: running.slack_answers("D5")[-1].endswith(last))

    assert " ".join(running.discord_answers(chat)[1:]) == LONG
    assert " ".join(running.slack_answers("D5")[1:]) == LONG


async def test_the_health_page_shows_every_platform(running: Running) -> None:
    port = (await running.keepsake.until_logged("listening"))["port"]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/healthz") as response,
    ):
        report = json.loads(await response.text())

    assert response.status == 200
    assert report["ok"] is True
    assert {name: state["connected"] for name, state in report["platforms"].items()} == {
        "discord": True,
        "slack": True,
    }


async def test_slack_over_http_is_answered_once_and_only_if_it_is_signed(tmp_path: Path) -> None:
    async with services() as outside:
        slack = outside.slack
        slack.add_user("U1", "Ann")
        slack.add_channel("D1", is_im=True)
        settings = outside.claude_settings | outside.slack_http_settings
        async with forked_run(tmp_path, settings) as keepsake:
            await keepsake.until_logged("ready")
            url = f"http://127.0.0.1:{keepsake.logged('listening')[0]['port']}/slack/events"
            forged = slack.envelope(slack.message("U1", "D1", "Forged", channel_type="im"))
            event = slack.envelope(slack.message("U1", "D1", "Signed", channel_type="im"))

            challenge = await slack.deliver_http(url, {"type": "url_verification", "challenge": "abc"})
            unsigned = await slack.deliver_http(url, forged, **{"X-Slack-Signature": "v0=0000"})
            told = [await slack.deliver_http(url, event) for _ in range(2)]
            await slack.deliver_http(url, slack.envelope(slack.message("U1", "D1", "Last", channel_type="im")))
            await slack.wait_for_posts(2)
            keepsake.terminate()
            assert await keepsake.ended() == 0

        assert challenge[0] == 200
        assert "abc" in challenge[1]
        assert unsigned[0] == 401
        assert [status for status, _ in told] == [200, 200]
        assert outside.slack_answers("D1") == ["You said: Signed", "You said: Last"]
        assert log_is_clean(keepsake), keepsake.stderr
