"""Answers that grow in Slack, as a stream in threads and by edits elsewhere, and end as the one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from adapters.slack_adapter import SlackAdapter
from bot.chat import Conversation, DeliveryFailed, DeliveryRefused, OutgoingMessage
from tests.adapters.slack.running import Inbox, started
from tests.doubles import slack as double
from tests.doubles.slack import SlackDouble

THREAD = Conversation(platform="slack", key="slack:T1:C1:1772442000.000000", audience="team:T1")
DM = Conversation(platform="slack", key="slack:T1:D1", audience="dm")


def answer(text: str, *, where: Conversation = THREAD, draft: tuple[str, ...] | None = None) -> OutgoingMessage:
    return OutgoingMessage(
        conversation=where,
        text=text,
        in_reply_to="1772442000.000000",
        delivery_key="a1",
        recipient="slack:T1:U1",
        draft=draft,
    )


@pytest.fixture(autouse=True)
def _asked(slack: SlackDouble) -> None:
    slack.messages["C1"].append({"type": "message", "user": "U1", "channel": "C1", "ts": "1772442000.000000"})


def shown(slack: SlackDouble) -> list[str]:
    return [post["text"] for post in slack.posts()]


async def test_in_a_thread_an_answer_is_streamed_to_the_person_and_stopped_with_its_trace(
    slack: SlackDouble, inbox: Inbox
) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("**One**"))
        await adapter.draft(answer("**One** two", draft=ids))
        assert shown(slack) == ["**One** two"]
        whole = answer("**One** two three.", draft=ids)
        await adapter.send(whole)
        assert shown(slack) == ["**One** two three."]
        assert slack.streaming == set()
        assert await adapter.delivered_as(whole) is not None
    [start] = slack.called("chat.startStream")
    assert (start["recipient_team_id"], start["recipient_user_id"]) == ("T1", "U1")
    assert start["thread_ts"] == "1772442000.000000"
    [added] = slack.called("chat.appendStream")
    assert added["markdown_text"] == " two"
    assert slack.called("chat.postMessage") == slack.called("chat.update") == []


async def test_a_long_streamed_answer_counts_as_delivered_though_it_would_be_posted_in_parts(
    slack: SlackDouble, inbox: Inbox
) -> None:
    words = "word " * 1_500
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer(words[:3_000]))
        await adapter.send(answer(words.strip(), draft=ids))
    async with started(slack, inbox) as adapter:
        assert await adapter.delivered_as(answer(words.strip(), draft=ids)) is not None
    assert shown(slack) == [words.strip()]


async def test_nothing_pings_from_a_stream_even_where_a_piece_ends_within_the_mention(
    slack: SlackDouble, inbox: Inbox
) -> None:
    async with started(slack, inbox) as adapter:
        for text in ("Hey <", "Hey <!chan", "Hey <!channel> and <@U2>"):
            ids = await adapter.draft(answer(text))
        await adapter.send(answer("Hey <!channel> and <@U2>", draft=ids))
    [post] = slack.posts()
    assert "<!" not in post["text"]
    assert "<@" not in post["text"]
    assert post["text"].replace("\u200b", "") == "Hey <!channel> and <@U2>"


async def test_words_after_a_tool_are_streamed_below_and_the_end_shows_the_answer_alone(
    slack: SlackDouble, inbox: Inbox
) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("Let me look."))
        await adapter.draft(answer("Green", draft=ids))
        await adapter.draft(answer("Green tea", draft=ids))
        assert shown(slack) == ["Let me look.\n\nGreen tea"]
        await adapter.send(answer("Green **tea**.", draft=ids))
    assert shown(slack) == ["Green *tea*."]
    assert len(slack.called("chat.stopStream")) == 1


@pytest.mark.parametrize("trouble", [double.cut, double.server_error, lambda after: double.error("fatal_error")])
@pytest.mark.parametrize("after", [False, True])
async def test_a_stream_that_breaks_is_stopped_once_and_the_answer_is_there_once(
    slack: SlackDouble, inbox: Inbox, trouble: Callable[..., double.Scripted], after: bool
) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("One"))
        slack.script("chat.appendStream", trouble(after=after))
        await adapter.draft(answer("One two", draft=ids))
        assert shown(slack) == ["One two …"]
        await adapter.send(answer("One two three.", draft=ids))
    assert shown(slack) == ["One two three."]
    assert len(slack.called("chat.stopStream")) == 1


@pytest.mark.parametrize("after", [False, True])
async def test_a_stream_whose_end_is_lost_still_shows_the_answer_once(
    slack: SlackDouble, inbox: Inbox, after: bool
) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("One"))
        slack.script("chat.stopStream", double.cut(after=after))
        await adapter.send(answer("One two.", draft=ids))
    assert shown(slack) == ["One two."]


async def test_a_stream_that_expired_is_edited(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("One"))
        slack.streaming.clear()
        await adapter.send(answer("One two.", draft=ids))
    assert shown(slack) == ["One two."]


async def test_outside_of_threads_and_where_there_are_no_streams_an_answer_grows_by_edits(
    slack: SlackDouble, inbox: Inbox
) -> None:
    slack.script("chat.startStream", double.error("unknown_method"))
    async with started(slack, inbox) as adapter:
        for where in (DM, THREAD, replace(THREAD, key="slack:T1:C1:1772442000.000001")):
            ids = await adapter.draft(answer("One", where=where))
            await adapter.draft(answer("One **two**", where=where, draft=ids))
            assert shown(slack)[-1] == "One *two* …"
            await adapter.send(answer("One **two**.", where=where, draft=ids))
    assert shown(slack) == ["One *two*."] * 3
    assert len(slack.called("chat.startStream")) == 1
    assert all(call["link_names"] is False for call in slack.called("chat.update"))


async def test_a_drafted_answer_that_outgrows_a_message_goes_on_in_further_posts(
    slack: SlackDouble, inbox: Inbox
) -> None:
    words = " ".join(f"word{number}" for number in range(1_500))
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer(words[:5_000], where=DM))
        whole = answer(words, where=DM, draft=ids)
        await adapter.send(whole)
        assert await adapter.delivered_as(whole) is not None
    assert " ".join(shown(slack)) == words
    assert len(slack.posts()) > 2


async def test_a_rate_limit_is_told_to_whoever_paces_the_drafts(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        for method in ("chat.startStream", "chat.appendStream"):
            slack.script(method, double.rate_limited(7))
            with pytest.raises(DeliveryFailed) as failed:
                await adapter.draft(answer(f"before {method}"))
            assert failed.value.retry_after == 7
            await adapter.draft(answer(f"before {method}"))
    assert len(slack.posts()) == 1


@pytest.mark.parametrize("where", [THREAD, DM], ids=["thread", "direct chat"])
async def test_where_it_is_not_known_whether_a_draft_was_taken_the_end_finds_it(
    slack: SlackDouble, inbox: Inbox, where: Conversation
) -> None:
    async with started(slack, inbox) as adapter:
        slack.script("chat.startStream" if where is THREAD else "chat.postMessage", double.cut(after=True))
        with pytest.raises(DeliveryRefused):
            await adapter.draft(answer("One", where=where))
        await adapter.send(answer("One two.", where=where, draft=()))
    assert shown(slack) == ["One two."]


@pytest.mark.parametrize("where", [THREAD, DM], ids=["thread", "direct chat"])
@pytest.mark.parametrize("is_known", [True, False], ids=["its id is known", "its id was not noted"])
async def test_after_a_crash_a_draft_becomes_the_answer(
    slack: SlackDouble, inbox: Inbox, where: Conversation, is_known: bool
) -> None:
    async def restarted(adapter: SlackAdapter, again: OutgoingMessage) -> None:
        assert await adapter.delivered_as(again) is None
        await adapter.send(again)
        assert await adapter.delivered_as(again) is not None

    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("The first words", where=where))
    async with started(slack, inbox) as adapter:
        await restarted(adapter, answer("Other words.", where=where, draft=ids if is_known else ()))
    assert shown(slack) == ["Other words."]
    assert slack.streaming == set()


async def test_a_draft_can_be_ended_where_the_conversation_cannot_be_read(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("The first words"))
    slack.script("conversations.replies", *[double.error("missing_scope")] * 2)
    async with started(slack, inbox) as adapter:
        whole = answer("All words.", draft=ids)
        assert await adapter.delivered_as(whole) is None
        await adapter.send(whole)
    assert shown(slack) == ["All words."]


@pytest.mark.parametrize("where", [THREAD, DM], ids=["thread", "direct chat"])
async def test_a_draft_that_somebody_deleted_is_given_up(slack: SlackDouble, inbox: Inbox, where: Conversation) -> None:
    async with started(slack, inbox) as adapter:
        ids = await adapter.draft(answer("One", where=where))
        slack.messages["C1"].clear()
        slack.messages["D1"].clear()
        with pytest.raises(DeliveryRefused):
            await adapter.send(answer("One two.", where=where, draft=ids))
    assert shown(slack) == []
