"""People see within a second that an answer is being written, and nothing waits for that."""

from __future__ import annotations

import pytest

from adapters.slack_adapter import SlackAdapter
from adapters.slack_signs import DELAY
from bot.chat import Conversation, OutgoingMessage
from tests.adapters.slack.running import Inbox, started
from tests.doubles import slack as double
from tests.doubles.slack import SlackDouble
from tests.fakes import Pauses

THREAD = Conversation(platform="slack", key="slack:T1:C1:1772442000.000000", audience="team:T1")
DM = Conversation(platform="slack", key="slack:T1:D1", audience="dm")


def answer_in(where: Conversation) -> OutgoingMessage:
    return OutgoingMessage(conversation=where, text="Hello.", in_reply_to="1.0", delivery_key="a1")


async def write(adapter: SlackAdapter, slack: SlackDouble, pauses: Pauses, where: Conversation, method: str) -> None:
    """Write an answer for as long as it takes until a method was called."""
    calls = len(slack.called(method))
    async with adapter.typing(where, "1.0"):
        await pauses.end_one()
        await slack.wait_for(lambda: len(slack.called(method)) > calls)
        await adapter.delivered_as(answer_in(where))  # by now the sign has had its answer


async def test_in_a_thread_it_says_that_it_is_writing(slack: SlackDouble, inbox: Inbox) -> None:
    pauses = Pauses()
    async with started(slack, inbox, sleep=pauses) as adapter:
        await write(adapter, slack, pauses, THREAD, "assistant.threads.setStatus")
    [status] = slack.called("assistant.threads.setStatus")
    assert (status["channel_id"], status["thread_ts"]) == ("C1", "1772442000.000000")
    assert pauses.asked == [DELAY]
    assert DELAY < 1


async def test_elsewhere_it_reacts_to_the_message_until_the_answer_is_there(slack: SlackDouble, inbox: Inbox) -> None:
    pauses = Pauses()
    async with started(slack, inbox, sleep=pauses) as adapter:
        async with adapter.typing(DM, "1.0"):
            await pauses.end_one()
            await slack.wait_for(lambda: slack.reactions == [("D1", "1.0", "eyes")])
        await slack.wait_for(lambda: slack.reactions == [])


async def test_an_answer_that_comes_at_once_needs_no_sign(slack: SlackDouble, inbox: Inbox) -> None:
    pauses = Pauses()
    async with started(slack, inbox, sleep=pauses) as adapter, adapter.typing(DM, "1.0"):
        pass
    assert slack.called("reactions.add") == []


@pytest.mark.parametrize(
    ("where", "method"), [(THREAD, "assistant.threads.setStatus"), (DM, "reactions.add")], ids=["thread", "direct chat"]
)
async def test_a_sign_that_is_not_allowed_is_not_asked_for_again(
    slack: SlackDouble, inbox: Inbox, where: Conversation, method: str
) -> None:
    pauses = Pauses()
    slack.script(method, double.error("missing_scope"))
    async with started(slack, inbox, sleep=pauses) as adapter:
        await write(adapter, slack, pauses, where, method)
        async with adapter.typing(where, "2.0"):
            await pauses.end_one()
            await adapter.delivered_as(answer_in(where))  # by now a sign would be there
    assert len(slack.called(method)) == 1


async def test_trouble_with_a_sign_is_nobodys_trouble(slack: SlackDouble, inbox: Inbox) -> None:
    pauses = Pauses()
    slack.script("reactions.add", double.cut(), double.rate_limited(600), double.error("already_reacted"))
    async with started(slack, inbox, sleep=pauses) as adapter:
        for _ in range(3):
            await write(adapter, slack, pauses, DM, "reactions.add")
