"""How actions look on Slack: what stands below an answer, a form, and the page of one's own memory. Pure.

Invariant: all that a click needs is in the value of what is clicked, or in what a form carries, so nothing is kept
here, and a click works after a restart as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from adapters.slack_blocks import plain, section
from adapters.slack_text import parts_for_slack
from bot.actions import Actions, Form, Press, is_press
from bot.commands import CommandReply

FORM = "keepsake-form"
"""The ``callback_id`` of forms."""

_SECTION_LIMIT = 3_000
_LABEL = 75
_TITLE = 24
_MOST_CHOICES = 100
_MOST_SECTIONS = {"notice": 4, "memory": 16, "facts": 8}
_HEADING = "What I remember about you"
_FACTS = "Facts"
_SHORTENED = "_(There is more than fits here: `/mydata show` shows it.)_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where something was clicked, as a form carries it.

    Attributes:
        channel: the channel's id; empty on the page of one's own memory.
        thread_ts: the thread, or None outside of threads.
        response_url: Slack's own way back, or None.
        page: of the facts on the page of one's own memory.
    """

    channel: str = ""
    thread_ts: str | None = None
    response_url: str | None = None
    page: int = 1


def below(reply: CommandReply, actions: Actions, person: str, again: Press | None = None) -> list[dict[str, Any]]:
    """What stands below an answer: a menu and buttons.

    Args:
        reply: the answer.
        actions: knows the labels.
        person: for whom it is shown; the buttons work for nobody else.
        again: what a button to confirm stands for, where the answer asks to.
    """
    elements: list[dict[str, Any]] = []
    if reply.choices:
        options = [
            {
                "text": plain(_cut(actions.label(offer), _LABEL)),
                "value": str(Press(action=offer.action, subject=offer.subject, person=person)),
            }
            for offer in reply.choices[:_MOST_CHOICES]
        ]
        menu = {"type": "static_select", "action_id": "choose", "options": options}
        elements.append({**menu, "placeholder": plain("Choose one to change it")})
    for number, offer in enumerate(reply.offers):
        press = Press(action=offer.action, subject=offer.subject, person=person)
        elements.append(_button(f"{offer.action}-{number}", _cut(actions.label(offer), _LABEL), press))
    if again is not None and reply.confirm is not None:
        press = Press(action=again.action, subject=again.subject, person=person, confirmed=True)
        elements.append({**_button("confirmed", _cut(reply.confirm, _LABEL), press), "style": "danger"})
    return [{"type": "actions", "elements": elements}] if elements else []


def form_view(form: Form, press: Press, origin: Origin) -> dict[str, Any]:
    """A form that carries what it is for and where it was asked for."""
    return {
        "type": "modal",
        "callback_id": FORM,
        "title": plain(_cut(form.title, _TITLE)),
        "submit": plain("Send"),
        "close": plain("Cancel"),
        "private_metadata": json.dumps({"press": str(press), "origin": asdict(origin)}),
        "blocks": [
            {
                "type": "input",
                "block_id": field.name,
                "label": plain(field.label),
                "element": {
                    "type": "plain_text_input",
                    "action_id": field.name,
                    "multiline": True,
                    "max_length": _SECTION_LIMIT,
                    **({"initial_value": field.value} if 0 < len(field.value) <= _SECTION_LIMIT else {}),
                },
            }
            for field in form.fields
        ],
    }


def read_form(view: Mapping[str, Any]) -> tuple[str, Origin, dict[str, str]]:
    """What a form that was sent carries: the press, where that was, and the fields by their names."""
    carried = json.loads(view["private_metadata"])
    values = {
        name: str(field.get("value") or "")
        for fields in view["state"]["values"].values()
        for name, field in fields.items()
    }
    return carried["press"], Origin(**carried["origin"]), values


def home_view(
    *,
    memory: CommandReply,
    facts: CommandReply,
    actions: Actions,
    person: str,
    page: int,
    notice: CommandReply | None = None,
    again: Press | None = None,
) -> dict[str, Any]:
    """The page of somebody's own memory.

    Args:
        memory: what is remembered in all.
        facts: a page of the facts.
        actions: knows the labels.
        person: whose page it is.
        page: which page of the facts it shows.
        notice: what a click was answered with; it stands on top.
        again: what a button to confirm that stands for.
    """
    blocks: list[dict[str, Any]] = []
    if notice is not None:
        blocks += [*_sections(notice, "notice"), *below(notice, actions, person, again), {"type": "divider"}]
    blocks += [_header(_HEADING), *_sections(memory, "memory"), *below(memory, actions, person)]
    blocks += [_header(_FACTS), *_sections(facts, "facts"), *below(facts, actions, person)]
    return {"type": "home", "private_metadata": json.dumps({"page": page}), "blocks": blocks}


def page_shown(view: Mapping[str, Any]) -> int:
    """Which page of the facts a page of one's own memory shows."""
    carried = json.loads(view.get("private_metadata") or "{}")
    return int(carried.get("page", 1))


def pressed(body: Mapping[str, Any]) -> str | None:
    """What the first click of ours carries in a payload of clicks; None where there is none."""
    return next(_carried(body), None)


def _carried(body: Mapping[str, Any]) -> Iterator[str]:
    for action in body.get("actions") or ():
        value = (action.get("selected_option") or action).get("value")
        if isinstance(value, str) and is_press(value):
            yield value


def _sections(reply: CommandReply, part: str) -> Sequence[dict[str, Any]]:
    parts = parts_for_slack(reply.text, _SECTION_LIMIT)
    shown = [section(text) for text in parts[: _MOST_SECTIONS[part]]]
    return shown if len(parts) <= len(shown) else [*shown, section(_SHORTENED)]


def _header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": plain(text)}


def _button(action_id: str, label: str, press: Press) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": plain(label), "value": str(press)}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
