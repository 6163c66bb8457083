"""Markdown as Slack shows it, and Slack's text in plain words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack_text import TEXT_LIMIT, from_slack, mentioned_users, parts_for_slack, to_mrkdwn

ZERO_WIDTH = "\u200b"


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** and *thin* and ~~gone~~", "*bold* and _thin_ and ~gone~"),
        ("__bold__ and _thin_", "*bold* and _thin_"),
        ("***both***", "*_both_*"),
        ("**bold with *thin* in it**", "*bold with _thin_ in it*"),
        ("# A **heading**", "*A heading*"),
        ("## Closed ##", "*Closed*"),
        ("- one\n* two\n  + three", "• one\n• two\n  • three"),
        ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
        ("1. first\n2. second", "1. first\n2. second"),
        ("> quoted\n>> twice", "> quoted\n> twice"),
        ("---", "———"),
        ("[the site](https://a.example/x?y=1&z=2)", "<https://a.example/x?y=1&amp;z=2|the site>"),
        ("[wiki](https://a.example/b_(c))", "<https://a.example/b_(c)|wiki>"),
        ("![a cat](https://a.example/cat.png)", "<https://a.example/cat.png|a cat>"),
        ("<https://a.example>", "<https://a.example>"),
        ("see https://a.example/with_under_scores_", "see https://a.example/with_under_scores_"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("`a < b` and ``c``", "`a &lt; b` and `c`"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        (r"\*stars\*", "*stars*"),
        ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
        ("**重点**内容", f"*重点*{ZERO_WIDTH}内容"),
        ("这是**重点**。", f"这是{ZERO_WIDTH}*重点*。"),
        ("", ""),
    ],
)
def test_markdown_becomes_what_slack_shows(markdown: str, shown: str) -> None:
    assert to_mrkdwn(markdown) == shown


def test_code_is_kept_as_it_is_but_for_the_language() -> None:
    assert to_mrkdwn("```python\nif a < b:\n    **kwargs\n```\nafter **it**") == (
        "```\nif a &lt; b:\n    **kwargs\n```\nafter *it*"
    )


def test_a_code_block_left_open_is_closed() -> None:
    assert to_mrkdwn("```\ncode") == "```\ncode\n```"


def test_a_fence_of_tildes_cannot_be_closed_by_its_content() -> None:
    shown = to_mrkdwn("~~~\n```\ninside\n~~~\nafter")
    assert shown == f"```\n``{ZERO_WIDTH}`\ninside\n```\nafter"


def test_a_table_becomes_aligned_code() -> None:
    assert to_mrkdwn("| Name | Age |\n|---|---:|\n| Ann | 31 |\n| Bo | 4 |\n\nend") == (
        "```\nName  Age\n----  ---\nAnn   31\nBo    4\n```\n\nend"
    )


@pytest.mark.parametrize(
    "text",
    [
        "<!channel> <!here> <!everyone>",
        "<@U123> <@U123|ann>",
        "<!subteam^S1|@team>",
        "`<!channel>` **<!here>**",
        "[x](<!channel>)",
        "<https://a.example|<!here>>",
        "[<!channel>](https://a.example)",
        "| a | b |\n|---|---|\n| <!here> | <@U1> |",
        "```\n<!channel>\n```",
        r"\<!channel\>",
    ],
)
def test_nothing_from_the_model_can_ping(text: str) -> None:
    assert not re.search(r"<[!@#]", to_mrkdwn(text))


@given(st.text(alphabet="<>!@#|&`*_~[]()\\-\n ahttps:/.x", max_size=200))
def test_every_angle_bracket_holds_an_address(text: str) -> None:
    for inside in re.findall(r"<([^>]*)", to_mrkdwn(text)):
        assert inside.startswith(("http://", "https://", "mailto:"))


@given(st.text(alphabet="<>&`*_|-\n a語x", min_size=1, max_size=400).map(lambda text: text * 40))
def test_every_part_fits_and_says_something(text: str) -> None:
    for part in parts_for_slack(text):
        assert part.strip()
        assert len(part) <= TEXT_LIMIT


def test_a_text_that_grows_is_cut_smaller_and_loses_nothing() -> None:
    words = [f"&{number}" for number in range(2_000)]
    parts = parts_for_slack(" ".join(words))
    assert len(parts) > 1
    assert all(len(part) <= TEXT_LIMIT for part in parts)
    assert " ".join(parts).replace("&amp;", "&").split() == words


def test_a_long_answer_keeps_every_code_block_closed() -> None:
    code = "\n".join(f"line_{number} = {number}" for number in range(1_000))
    parts = parts_for_slack(f"Here:\n\n```python\n{code}\n```\n\nDone.")
    assert len(parts) > 2
    assert all(part.count("```") % 2 == 0 for part in parts)


@pytest.mark.parametrize(
    ("slack", "plain"),
    [
        ("<@U0BOT> hello", "hello"),
        ("hey <@U0BOT> what is up", "hey what is up"),
        ("<@U0BOT>: hello", "hello"),
        ("<@U0BOT|keepsake>, hello", "hello"),
        ("one\n<@U0BOT>\ntwo", "one\n \ntwo"),
        ("ask <@U2> and <@U3|bo>", "ask @Bea and @bo"),
        ("ask <@U9>", "ask @U9"),
        ("in <#C1|general> or <#C2>", "in #general or #C2"),
        ("<!here> and <!subteam^S1|@team> and <!subteam^S2>", "@here and @team and @subteam"),
        ("at <!date^1700000000^{date}|14 Nov 2023>", "at 14 Nov 2023"),
        ("<https://a.example/x?a=1&amp;b=2>", "https://a.example/x?a=1&b=2"),
        ("<http://a.example|a.example>", "http://a.example"),
        ("<https://a.example|the site>", "the site (https://a.example)"),
        ("<mailto:ann@a.example|ann@a.example>", "ann@a.example"),
        ("a &lt;b&gt; &amp;lt; c", "a <b> &lt; c"),
        ("1 &lt; 2 and <@U0BOT>", "1 < 2 and"),
    ],
)
def test_what_slack_sends_becomes_plain_words(slack: str, plain: str) -> None:
    assert from_slack(slack, bot_user="U0BOT", names={"U2": "Bea"}) == plain


def test_mentioned_users_are_named_once_in_order() -> None:
    assert mentioned_users("<@U2> <@U1|a> <@U2> <#C1> &lt;@U3&gt;") == ("U2", "U1")
