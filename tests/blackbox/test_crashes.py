"""What people see when the process is killed or told to stop at the worst moment, and started again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from tests.blackbox.process import Keepsake, Services, forked_run, log_is_clean, services
from tests.doubles.claude import Answer, Break, text, tool
from tests.doubles.slack import BOT_USER

CAT = "My cat is called Biscuit."
CAT_NOTED = Answer(blocks=(tool("core_memory_append", text=CAT),))


def add_slack_person(outside: Services, number: int) -> None:
    outside.slack.add_user(f"U{number}", f"Person {number}")
    outside.slack.add_channel(f"D{number}", is_im=True)


async def say_on_slack(outside: Services, number: int, words: str) -> Mapping[str, str]:
    """A person writes to the bot, which acknowledges it."""
    event = outside.slack.message(f"U{number}", f"D{number}", words, channel_type="im")
    await (await outside.slack.deliver(event)).wait()
    return event


@contextmanager
def nothing_can_be_written(database: Path) -> Iterator[None]:
    """Another program writes to the database, for as long as the context is open."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def ready(keepsake: Keepsake) -> None:
    await keepsake.until_logged("ready")


async def test_killed_while_the_model_thinks_it_answers_once_after_the_restart(tmp_path: Path) -> None:
    async with services() as outside:
        discord, slack, claude, mind = outside.discord, outside.slack, outside.claude, outside.mind
        ann, chat = discord.add_user("Ann"), discord.add_dm()
        add_slack_person(outside, 1)
        mind.replies[CAT] = CAT_NOTED
        mind.held |= {"Hold on, Discord.", "Hold on, Slack."}

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            await discord.post(chat, ann, CAT)
            await say_on_slack(outside, 1, CAT)
            await discord.until(lambda: bool(outside.discord_answers(chat)))
            await slack.wait_for_posts(1)
            await discord.post(chat, ann, "Hold on, Discord.")
            await claude.holding.wait()
            claude.holding.clear()
            await say_on_slack(outside, 1, "Hold on, Slack.")
            await claude.holding.wait()
            await discord.post(chat, ann, "Are you there?")
            await say_on_slack(outside, 1, "Are you there?")
            await keepsake.kill()

        mind.held.clear()
        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            await discord.until(lambda: "You said: Are you there?" in outside.discord_answers(chat))
            await slack.wait_for(lambda: "You said: Are you there?" in outside.slack_answers("D1"))
            assert log_is_clean(keepsake), keepsake.stderr

        answers = ["Noted.", "You said: Hold on, {}.", "You said: Are you there?"]
        assert outside.discord_answers(chat) == [answer.format("Discord") for answer in answers]
        assert outside.slack_answers("D1") == [answer.format("Slack") for answer in answers]
        for platform in ("Discord", "Slack"):
            killed, answered = outside.prompts(f"Hold on, {platform}.")
            assert str(killed["system"]).count(CAT) == str(answered["system"]).count(CAT) == 1
            assert str(answered["messages"]).count(f"Hold on, {platform}.") == 1


async def test_killed_while_an_answer_grows_it_completes_what_people_see(tmp_path: Path) -> None:
    async with services() as outside:
        discord, slack, claude, mind = outside.discord, outside.slack, outside.claude, outside.mind
        ann, chat = discord.add_user("Ann"), discord.add_dm()
        add_slack_person(outside, 1)
        slack.add_channel("C1")
        mind.replies["Tell me"] = Answer(blocks=(text("Once upon a time " * 60),), breaks=Break.HOLD, after=1)

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            await discord.post(chat, ann, "Tell me")
            await say_on_slack(outside, 1, "Tell me")
            root = slack.message("U1", "C1", f"<@{BOT_USER}> Tell me", channel_type="channel")
            await (await slack.deliver(root)).wait()
            await discord.until(lambda: bool(discord.shown(chat)))
            await slack.wait_for(lambda: bool(slack.posts("D1")) and bool(slack.posts("C1")))
            await keepsake.kill()
        assert discord.shown(chat)[0].startswith("Once upon a time")
        assert slack.streaming

        discord.remembers_nonces = False
        mind.replies["Tell me"] = "The end."
        claude.release.set()
        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            await discord.until(lambda: outside.discord_answers(chat) == ["The end."])
            await slack.wait_for(lambda: all(outside.slack_answers(where) == ["The end."] for where in ("D1", "C1")))
            assert log_is_clean(keepsake), keepsake.stderr
        assert not slack.streaming


async def test_killed_between_a_reply_and_its_bookkeeping_it_doubles_none_and_loses_none(tmp_path: Path) -> None:
    async with services() as outside:
        discord, slack = outside.discord, outside.slack
        chats = [(discord.add_dm(), discord.add_user(name)) for name in ("Ann", "Bob")]
        for number in (1, 2):
            add_slack_person(outside, number)

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            discord.hold_messages()
            held = slack.hold("chat.postMessage")
            for chat, person in chats:
                await discord.post(chat, person, "Just before the crash")
            for number in (1, 2):
                await say_on_slack(outside, number, "Just before the crash")
            await discord.until_sent(2)
            await slack.wait_for(lambda: len(slack.called("chat.postMessage")) == 2)
            await keepsake.kill()
        discord.release_messages()
        discord.remembers_nonces = False  # it forgets them after some minutes
        held.release()
        await slack.wait_for_posts(2)

        # Of each platform one reply has arrived; the other was lost with the connection.
        lost, lost_on_slack = chats[1][0], slack.messages["D2"]
        discord.sent.remove(next(sent for sent in discord.sent if sent["channel_id"] == lost.id))
        del lost.messages[-1], lost_on_slack[-1]

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            for chat, person in chats:
                await discord.post(chat, person, "And after it")
            for number in (1, 2):
                await say_on_slack(outside, number, "And after it")
            await discord.until(lambda: all(len(outside.discord_answers(chat)) == 2 for chat, _ in chats))
            await slack.wait_for_posts(4)
            assert log_is_clean(keepsake), keepsake.stderr

        expected = ["You said: Just before the crash", "You said: And after it"]
        assert [outside.discord_answers(chat) for chat, _ in chats] == [expected, expected]
        assert [outside.slack_answers(f"D{number}") for number in (1, 2)] == [expected, expected]
        assert len(outside.prompts("Just before the crash")) == 4  # nobody's reply was thought out anew
        for chat, _ in chats:
            assert str(chat.messages).count("/mydata show") == 1
        for number in (1, 2):
            assert str(slack.messages[f"D{number}"]).count("/mydata show") == 1


async def test_an_event_that_slack_sends_again_after_a_crash_is_answered_once(tmp_path: Path) -> None:
    async with services() as outside:
        slack, claude, mind = outside.slack, outside.claude, outside.mind
        settings = outside.claude_settings | outside.slack_settings
        for number in (1, 2):
            add_slack_person(outside, number)
        mind.held.add("Stored")

        async with forked_run(tmp_path, settings) as keepsake:
            await ready(keepsake)
            stored = await say_on_slack(outside, 1, "Stored")
            await claude.holding.wait()
            lookup = slack.hold("users.info")
            unstored = slack.message("U2", "D2", "Not yet stored", channel_type="im")
            delivery = await slack.deliver(unstored)
            await lookup.arrived.wait()
            await keepsake.kill()
        lookup.release()
        assert not delivery.acked.is_set()

        mind.held.clear()
        async with forked_run(tmp_path, settings) as keepsake:
            await ready(keepsake)
            for event in (stored, unstored):  # the acknowledgement of the first was lost on its way
                await (await slack.deliver(event, retry_attempt=1)).wait()
            for number in (1, 2):
                await say_on_slack(outside, number, "Afterwards")
            await slack.wait_for_posts(4)
            assert log_is_clean(keepsake), keepsake.stderr

        assert outside.slack_answers("D1") == ["You said: Stored", "You said: Afterwards"]
        assert outside.slack_answers("D2") == ["You said: Not yet stored", "You said: Afterwards"]


async def test_told_to_stop_it_finishes_what_runs_and_leaves_the_rest_for_the_next_start(tmp_path: Path) -> None:
    async with services() as outside:
        discord, slack, claude, mind = outside.discord, outside.slack, outside.claude, outside.mind
        for number in (1, 2):
            add_slack_person(outside, number)
        bob, chat = discord.add_user("Bob"), discord.add_dm()
        mind.held.add("First")

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            await say_on_slack(outside, 1, "First")
            await claude.holding.wait()
            await say_on_slack(outside, 1, "Second")
            with nothing_can_be_written(tmp_path / "data" / "keepsake.db"):
                call = await discord.interactions.call(chat, bob, "mydata pause")
                pause = await slack.deliver_payload("slash_commands", slack.slash("U2", "D2", "/mydata pause"))
                await discord.until(lambda: call.acknowledged is not None)
                await pause.wait()
                keepsake.terminate()
                await keepsake.until_logged("stopping")
                assert [*call.answers, *slack.responses] == []
            claude.release.set()
            assert await keepsake.ended() == 0
            assert log_is_clean(keepsake), keepsake.stderr
        assert outside.slack_answers("D1") == ["You said: First"]
        assert "I remember nothing new" in call.answers[0]
        assert "I remember nothing new" in str(slack.responses[0])

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await ready(keepsake)
            await slack.wait_for_posts(2)
            assert log_is_clean(keepsake), keepsake.stderr
        assert outside.slack_answers("D1") == ["You said: First", "You said: Second"]
        [second] = outside.prompts("Second")
        assert "You said: First" in str(second["messages"])
