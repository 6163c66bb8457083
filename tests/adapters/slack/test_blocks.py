"""A command's answer as Slack's blocks, within Slack's limits."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack_blocks import MOST_MESSAGES, SECTION_LIMIT, messages_for


def sections(message: dict[str, Any]) -> list[str]:
    return [block["text"]["text"] for block in message["blocks"] if block["type"] == "section"]


def test_a_short_answer_is_one_section() -> None:
    [message] = messages_for("**Done**: version 3.")
    assert message["text"] == "*Done*: version 3."
    assert sections(message) == ["*Done*: version 3."]


def test_nothing_in_an_answer_pings_anybody() -> None:
    [message] = messages_for("<!channel> <@U1> @here")
    assert sections(message) == ["&lt;!channel&gt; &lt;@U1&gt; @here"]
    assert all(block["text"]["verbatim"] for block in message["blocks"])


def test_the_button_stands_below_the_last_message_and_asks_once_more() -> None:
    first, *_, last = messages_for("A line of words.\n" * 2_000, confirm="Roll back", token="t0k3n")
    [button] = last["blocks"][-1]["elements"]
    assert (button["text"]["text"], button["value"]) == ("Roll back", "t0k3n")
    assert button["confirm"]["confirm"]["text"] == "Roll back"
    assert all(block["type"] == "section" for block in first["blocks"])


def test_a_label_too_long_for_slack_is_cut() -> None:
    [message] = messages_for("Sure?", confirm="y" * 100, token="t")
    [button] = message["blocks"][-1]["elements"]
    assert len(button["confirm"]["confirm"]["text"]) == 30


def test_an_answer_too_long_for_slack_says_that_it_is_cut() -> None:
    messages = messages_for("A line of words.\n" * 6_000)
    assert len(messages) == MOST_MESSAGES
    assert "left out" in sections(messages[-1])[-1]
    assert "left out" not in str(messages[:-1])


@settings(max_examples=50)
@given(st.text(alphabet=st.sampled_from("ab &<>*`|\n"), min_size=1, max_size=30), st.integers(1, 2_000))
def test_every_message_fits(text: str, times: int) -> None:
    messages = messages_for(text * times)
    assert len(messages) <= MOST_MESSAGES
    for message in messages:
        assert all(0 < len(section) <= SECTION_LIMIT for section in sections(message))
        assert sum(map(len, sections(message))) <= 13_200
        assert len(message["blocks"]) <= 50
