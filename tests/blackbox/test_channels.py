"""``keepsake run`` among people: what it hears, follows and reads, also after it was killed."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.blackbox.process import forked_run, services, words_asked
from tests.doubles.slack import BOT_USER

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


async def test_a_thread_is_followed_after_a_kill_and_talk_among_others_is_known_and_on_no_disk(tmp_path: Path) -> None:
    async with services() as outside:
        slack, ann = outside.slack, "U1"
        slack.add_user(ann, "Ann")
        slack.add_user("U2", "Bea")
        slack.add_channel("C1")

        async def say(user: str, words: str, **fields: str) -> str:
            event = slack.message(user, "C1", words, channel_type="channel", **fields)
            await (await slack.deliver(event)).wait()
            return str(event["ts"])

        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await keepsake.until_logged("ready")
            await say("U2", "Lunch at ZEBRA tower?")
            thread = await say(ann, f"<@{BOT_USER}> what do you think?")
            await slack.wait_for_posts(1)
            await keepsake.kill()
        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await keepsake.until_logged("ready")
            await say(ann, "<@U2> and you?", thread_ts=thread)
            await say(ann, "and then?", thread_ts=thread)
            await slack.wait_for(lambda: "You said: and then?" in outside.slack_answers("C1"))

        assert "Bea] Lunch at ZEBRA tower?" in outside.prompt("what do you think?")
        assert outside.prompts("@Bea and you?") == []
        kept = "".join(file.read_bytes().decode(errors="replace") for file in (tmp_path / "data").iterdir())
        assert "what do you think?" in kept
        assert "ZEBRA" not in kept


async def test_a_file_and_a_picture_are_read_on_both_platforms(tmp_path: Path) -> None:
    async with services() as outside:
        discord, slack = outside.discord, outside.slack
        slack.add_user("U1", "Ann")
        slack.add_channel("D1", is_im=True)
        ann, chat = discord.add_user("Ann"), discord.add_dm()
        async with forked_run(tmp_path, outside.all_settings) as keepsake:
            await keepsake.until_logged("ready")
            files = [discord.attachment("notes.txt", b"Buy milk.", content_type="text/plain; charset=utf-8")]
            await discord.post(chat, ann, "on Discord", attachments=files)
            await discord.until(lambda: len(outside.discord_answers(chat)) == 1)
            shared = [slack.share("cat.png", PNG, "image/png"), slack.share("plan.pdf", b"%PDF", "application/pdf")]
            await slack.deliver(slack.message("U1", "D1", "on Slack", channel_type="im", files=shared))
            await slack.wait_for_posts(1)

        asked = {words_asked(body).partition("\n")[0]: json.dumps(body) for body in outside.claude.requests}
        assert "Buy milk." in asked["on Discord"]
        assert base64.b64encode(PNG).decode() in asked["on Slack"]
        [post] = slack.posts("D1")
        assert "(plan.pdf: I can read text files and pictures only.)" in post["text"]
