"""A reminder outlives the process, and is said once wherever the process dies."""

from __future__ import annotations

from pathlib import Path

from memory.ports import SystemClock
from tests.blackbox.process import forked_run, log_is_clean, services
from tests.doubles.claude import Answer, tool

ASKED = "Remind me of the tea."
SLOW, QUICK = {"REMINDER_SWEEP_SECONDS": "60"}, {"REMINDER_SWEEP_SECONDS": "0.2"}


async def test_killed_before_and_while_it_is_said_a_reminder_is_said_once(tmp_path: Path) -> None:
    async with services(clock=SystemClock()) as outside:
        discord, slack = outside.discord, outside.slack
        outside.mind.replies[ASKED] = Answer(blocks=(tool("set_reminder", text="the tea", when="in 1 second"),))
        chats = [(discord.add_dm(), discord.add_user(name)) for name in ("Ann", "Bob")]
        for number in (1, 2):
            slack.add_user(f"U{number}", f"Person {number}")
            slack.add_channel(f"D{number}", is_im=True)

        async with forked_run(tmp_path, outside.all_settings | SLOW) as keepsake:
            await keepsake.until_logged("ready")
            for chat, person in chats:
                await discord.post(chat, person, ASKED)
            for number in (1, 2):
                await (await slack.deliver(slack.message(f"U{number}", f"D{number}", ASKED, channel_type="im"))).wait()
            await discord.until(lambda: all(outside.discord_answers(chat) == ["Noted."] for chat, _ in chats))
            await slack.wait_for(lambda: all(outside.slack_answers(f"D{n}") == ["Noted."] for n in (1, 2)))
            await keepsake.kill()

        posted = len(slack.called("chat.postMessage"))
        discord.hold_messages()
        held = slack.hold("chat.postMessage")
        async with forked_run(tmp_path, outside.all_settings | QUICK) as keepsake:
            await discord.until_sent(len(discord.sent) + 2)
            await slack.wait_for(lambda: len(slack.called("chat.postMessage")) >= posted + 2)
            await keepsake.kill()
        discord.release_messages()
        discord.remembers_nonces = False  # it forgets them after some minutes
        held.release()
        await slack.wait_for(lambda: all(len(slack.messages[f"D{n}"]) == 3 for n in (1, 2)))

        # Of each platform one reminder has arrived; the other was lost with the connection.
        del chats[1][0].messages[-1], slack.messages["D2"][-1]

        async with forked_run(tmp_path, outside.all_settings | QUICK) as keepsake:
            await keepsake.until_logged("reminder_said", times=4)
            assert log_is_clean(keepsake), keepsake.stderr

        said = ["Noted.", "Reminder: the tea"]
        assert [outside.discord_answers(chat) for chat, _ in chats] == [said, said]
        assert [outside.slack_answers(f"D{number}") for number in (1, 2)] == [said, said]
