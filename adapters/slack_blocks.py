"""How a command's answer looks on Slack: sections of text, and a button to confirm. Pure.

Invariant: every message fits Slack's limits, and nothing in it pings anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adapters.slack_text import parts_for_slack

CONFIRM_ACTION = "confirm"
"""The ``action_id`` of the button."""

MOST_MESSAGES = 4
"""A ``response_url`` takes five messages; one of them stays free."""

SECTION_LIMIT = 3_000
# Slack refuses messages whose blocks hold more than about 13,200 characters, whatever their number.
_SECTIONS = 4
_LABEL_LIMIT = 30

_CUT_OFF = "_(The answer is longer than I can show here. The rest is left out.)_"


def messages_for(
    markdown: str, *, confirm: str | None = None, token: str = "", below: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """The messages that show an answer, in order, as ``text`` (for notifications) and ``blocks``.

    Args:
        markdown: the answer.
        confirm: the label of a button below it, or None.
        token: what Slack sends back when the button is pressed.
        below: blocks below it all.
    """
    sections = [section(part) for part in parts_for_slack(markdown, SECTION_LIMIT)]
    shown = sections[: MOST_MESSAGES * _SECTIONS]
    messages = [_message(blocks) for blocks in _grouped(shown)]
    if len(sections) > len(shown):
        messages[-1]["blocks"].append(section(_CUT_OFF))
    if messages:
        messages[-1]["blocks"].extend(below)
    if confirm is not None:
        messages[-1]["blocks"].append(_confirmation(confirm, token))
    return messages


def _grouped(sections: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(sections), _SECTIONS):
        yield list(sections[start : start + _SECTIONS])


def _message(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"text": blocks[0]["text"]["text"], "blocks": blocks}


def section(mrkdwn: str) -> dict[str, Any]:
    """A block of text."""
    # Verbatim: Slack makes no mentions and no channel links of what merely looks like them.
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}}


def _confirmation(label: str, token: str) -> dict[str, Any]:
    label = label if len(label) <= _LABEL_LIMIT else label[: _LABEL_LIMIT - 1] + "…"
    return {
        "type": "actions",
        "elements": [
            {
                "type": "button",
                "action_id": CONFIRM_ACTION,
                "value": token,
                "style": "danger",
                "text": plain(label),
                "confirm": {
                    "title": plain("Are you sure?"),
                    "text": plain("This changes what is remembered."),
                    "confirm": plain(label),
                    "deny": plain("Cancel"),
                    "style": "danger",
                },
            }
        ],
    }


def plain(text: str) -> Mapping[str, str]:
    """A text without marks, as labels are."""
    return {"type": "plain_text", "text": text}
