"""How actions look on Discord: a menu and buttons below an answer, and a form; and what comes back of a form. Pure.

Invariant: all that a click needs is in the id of what is clicked, so nothing is kept here, and a click works after a
restart as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import discord

from bot.actions import Actions, Form, Press
from bot.commands import CommandReply

_MENU = "keepsake-menu"
_MOST_CHOICES = 25
_BUTTON_LABEL = 80
_CHOICE_LABEL = 100
_FORM_LABEL = 45
_FORM_TEXT = 4_000


def below(reply: CommandReply, actions: Actions, person: str, again: Press | None = None) -> discord.ui.View | None:
    """What stands below an answer; None where nothing does.

    Args:
        reply: the answer.
        actions: knows the labels.
        person: for whom it is shown; the buttons work for nobody else.
        again: what a button to confirm stands for, where the answer asks to.
    """
    view = discord.ui.View(timeout=None)
    if reply.choices:
        options = [
            discord.SelectOption(
                label=_cut(actions.label(offer), _CHOICE_LABEL),
                value=str(Press(action=offer.action, subject=offer.subject, person=person)),
            )
            for offer in reply.choices[:_MOST_CHOICES]
        ]
        view.add_item(discord.ui.Select(custom_id=_MENU, placeholder="Choose one to change it", options=options))
    for offer in reply.offers:
        press = Press(action=offer.action, subject=offer.subject, person=person)
        label = _cut(actions.label(offer), _BUTTON_LABEL)
        view.add_item(discord.ui.Button(label=label, custom_id=str(press), style=discord.ButtonStyle.secondary))
    if again is not None and reply.confirm is not None:
        confirmed = Press(action=again.action, subject=again.subject, person=person, confirmed=True)
        label = _cut(reply.confirm, _BUTTON_LABEL)
        view.add_item(discord.ui.Button(label=label, custom_id=str(confirmed), style=discord.ButtonStyle.danger))
    view.stop()  # discord.py must not wait for clicks on it: they are read from their ids
    return view if view.children else None


def form_of(form: Form, press: Press) -> discord.ui.Modal:
    """A form that carries what it is for."""
    modal = discord.ui.Modal(title=_cut(form.title, _FORM_LABEL), custom_id=str(press))
    for field in form.fields:
        text_input: discord.ui.TextInput[discord.ui.Modal] = discord.ui.TextInput(
            custom_id=field.name,
            default=field.value if len(field.value) <= _FORM_TEXT else None,
            style=discord.TextStyle.paragraph,
            max_length=_FORM_TEXT,
        )
        modal.add_item(discord.ui.Label(text=_cut(field.label, _FORM_LABEL), component=text_input))
    modal.stop()
    return modal


def pressed(data: Mapping[str, Any]) -> str:
    """What a click carries: the id of a button or form, or what was chosen in a menu."""
    chosen: Sequence[str] = data.get("values") or ()
    return str(chosen[0]) if data["custom_id"] == _MENU and chosen else str(data["custom_id"])


def filled_in(data: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a form that was sent, by their names."""
    return {str(field["custom_id"]): str(field["value"]) for field in _fields(data.get("components") or ())}


def _fields(components: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for component in components:
        if "value" in component:
            yield component
        inner = [component["component"]] if "component" in component else component.get("components") or ()
        yield from _fields(inner)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
