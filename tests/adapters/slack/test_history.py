"""What was said in Slack is asked for when somebody wants to know: the thread, or the channel it begins in."""

from __future__ import annotations

import pytest

from bot.chat import HistoryUnreadable
from tests.adapters.slack.running import Inbox, started
from tests.doubles.slack import BOT_USER, Scripted, SlackDouble, error, rate_limited


async def test_a_thread_that_has_only_begun_stands_for_its_channel(slack: SlackDouble) -> None:
    inbox = Inbox()
    slack.add_channel("C1")
    async with started(slack, inbox) as adapter:
        before = slack.message("U1", "C1", "The ferry leaves at nine.")
        await (await slack.deliver(before)).wait()
        asked = slack.message("U1", "C1", f"<@{BOT_USER}> what was said?", event_type="app_mention")
        await (await slack.deliver(asked)).wait()
        where = inbox.messages[-1].conversation
        assert [said.text for said in await adapter.recent(where, limit=9)][:1] == ["The ferry leaves at nine."]

        slack.message("U1", "C1", "In the thread.", thread_ts=asked["ts"])
        said = await adapter.recent(where, limit=9)
        assert [message.text for message in said] == ["what was said?", "In the thread."]
        assert {message.conversation for message in said} == {where}
        assert [message.text for message in await adapter.recent(where, limit=1)] == ["In the thread."]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (error("not_in_channel"), "I must be in the channel"),
        (rate_limited(60), "only now and then"),
        (error("internal_error"), "does not show this conversation just now"),
    ],
)
async def test_what_slack_does_not_show_is_a_sentence(slack: SlackDouble, answer: Scripted, sentence: str) -> None:
    inbox = Inbox()
    async with started(slack, inbox) as adapter:
        await (await slack.deliver(slack.message("U1", "D1", "Hello", channel_type="im"))).wait()
        slack.script("conversations.history", answer)
        with pytest.raises(HistoryUnreadable, match=sentence):
            await adapter.recent(inbox.messages[0].conversation, limit=9)
