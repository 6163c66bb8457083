"""Files that people share in Slack are fetched with the token, from Slack alone."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat import FileUnreadable
from tests.adapters.slack.running import Inbox, started
from tests.doubles import slack as double
from tests.doubles.slack import BOT_TOKEN, SlackDouble


async def fetched(slack: SlackDouble, shared: dict[str, Any], *, limit: int = 1_000) -> bytes:
    """Somebody shares a file in a direct message; what the adapter fetches of it."""
    inbox = Inbox()
    async with started(slack, inbox) as adapter:
        event = slack.message("U1", "D1", "look", channel_type="im", subtype="file_share", files=[shared])
        await (await slack.deliver(event)).wait()
        [message] = inbox.messages
        return await adapter.fetch_file(message, message.attachments[0], limit=limit)


async def test_a_file_is_described_by_its_message_and_fetched_with_the_token(slack: SlackDouble) -> None:
    inbox = Inbox()
    async with started(slack, inbox) as adapter:
        shared = slack.share("cat.png", b"bytes", "image/png")
        sides = {"original_w": 30, "original_h": 20}
        event = slack.message("U1", "D1", "look", channel_type="im", subtype="file_share", files=[shared | sides])
        await (await slack.deliver(event)).wait()
        [message] = inbox.messages
        [file] = message.attachments
        assert (file.name, file.media_type, file.size) == ("cat.png", "image/png", 5)
        assert (file.width, file.height) == (30, 20)
        assert message.text == "look\n[attached: cat.png, image/png, 5 bytes]"
        assert await adapter.fetch_file(message, file, limit=5) == b"bytes"
    assert slack.file_requests == [f"Bearer {BOT_TOKEN}"]


async def test_a_login_page_is_no_file(slack: SlackDouble) -> None:
    shared = slack.share("notes.txt", b"text")
    slack.shared[shared["id"]].readable = False
    with pytest.raises(FileUnreadable, match="files:read"):
        await fetched(slack, shared)


async def test_a_page_that_is_meant_as_a_file_is_one(slack: SlackDouble) -> None:
    assert await fetched(slack, slack.share("page.html", b"<p>Hi</p>", "text/html")) == b"<p>Hi</p>"


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/x", "http://files.slack.com/x", "https://files.slack.com.evil.example/x", "", "/files/x"],
)
async def test_the_token_goes_to_slack_alone(slack: SlackDouble, address: str) -> None:
    with pytest.raises(FileUnreadable, match="not kept at Slack"):
        await fetched(slack, slack.share("notes.txt", b"text", url_private=address))
    assert slack.file_requests == []


async def test_a_redirect_is_not_followed(slack: SlackDouble) -> None:
    shared, other = slack.share("notes.txt", b"text"), slack.share("other.txt", b"other")
    slack.shared[shared["id"]].moved_to = f"{slack.root_url}/files/{other['id']}"
    with pytest.raises(FileUnreadable, match="does not give it"):
        await fetched(slack, shared)
    assert len(slack.file_requests) == 1


async def test_a_file_larger_than_it_was_said_to_be_is_not_read_to_its_end(slack: SlackDouble) -> None:
    with pytest.raises(FileUnreadable, match="larger"):
        await fetched(slack, slack.share("notes.txt", b"x" * 1_001, size=10))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (double.error("file_deleted"), "deleted"),
        (double.error("missing_scope"), "files:read"),
        (double.error("fatal_error"), "does not show it"),
        (double.server_error(), "does not show it|in time"),
        (double.cut(), "in time"),
    ],
)
async def test_why_a_file_cannot_be_read_is_said_in_words(
    slack: SlackDouble, answer: double.Scripted, reason: str
) -> None:
    slack.script("files.info", answer, answer)  # a cut connection is tried once more by the client itself
    with pytest.raises(FileUnreadable, match=reason):
        await fetched(slack, slack.share("notes.txt", b"text"))
