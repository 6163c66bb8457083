"""Actions: what people do with a click, as every platform shares them; the rows stand in ``bot/action_table.py``.

An action is a command that is called with a click: beside an answer, below what a command showed, or on a page of
one's own memory. What a button carries is written here, so that it works after a restart as before.

Invariant: a click does nothing that its command would not let whoever clicks do. What a button carries names things
and says for whom it was shown; it grants nothing, and works for nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.commands import Argument, Command, CommandReply, Commands, Invocation, Offer
from memory.errors import InvalidInput

_MARK = "keepsake"
_PRESS = re.compile(rf"{_MARK}/([a-z-]+)/([\w.-]*)/([ny])/([\w.:-]+)")
_YES, _NO = "y", "n"

_CHANGED = "This button is of an earlier version of me. Call the command again."
NOT_YOURS = "This was shown to somebody else, and works for them alone."


class Place(StrEnum):
    """Where an action is offered."""

    MESSAGE = "message"
    """In the menu of a message."""

    BELOW = "below"
    """Below what a command or action showed, where its answer names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A row of the table.

    Attributes:
        name: lower-case letters and hyphens; never another's, since old buttons carry it.
        label: what is written on it.
        command: what it calls; its group says who may.
        place: where it is offered.
        subject: the argument that the thing it is offered on fills; None where it has none.
        form: the arguments that are asked for first.
        asks: what has to be confirmed first; None where a click is enough.
    """

    name: str
    label: str
    command: Command
    place: Place = Place.BELOW
    subject: str | None = None
    form: tuple[Argument, ...] = ()
    asks: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """What a button carries.

    Attributes:
        action: the action's name.
        subject: what it is offered on: the handle of a fact, the id of a message, the number of a page.
        person: for whom it was shown.
        confirmed: whether it is the button that confirms.
    """

    action: str
    person: str
    subject: str = ""
    confirmed: bool = False

    def __str__(self) -> str:
        return f"{_MARK}/{self.action}/{self.subject}/{_YES if self.confirmed else _NO}/{self.person}"


def is_press(text: str) -> bool:
    """Whether a button is one of these."""
    return text.startswith(f"{_MARK}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """What is asked for in a form.

    Attributes:
        name: of the argument.
        label: what is asked.
        value: what stands in it before anything is written.
    """

    name: str
    label: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What has to be filled in before an action is done."""

    title: str
    fields: tuple[FormField, ...]


class Actions:
    """Offers and runs the actions of the table.

    Args:
        table: the actions, in the order in which menus list them.
        commands: runs their commands.
    """

    def __init__(self, table: Sequence[Action], commands: Commands) -> None:
        self._commands = commands
        self._by_name = {action.name: action for action in table}

    def at(self, place: Place) -> list[Action]:
        """What is offered somewhere."""
        return [action for action in self._by_name.values() if action.place is place]

    def label(self, offer: Offer) -> str:
        """What is written on the button of an offer."""
        return offer.label or self._by_name[offer.action].label

    def read(self, text: str, person: str) -> Press:
        """What the button carries that somebody pressed.

        Raises:
            InvalidInput: it was shown to somebody else, or there is no such action any more.
        """
        found = _PRESS.fullmatch(text)
        if found is None or found[1] not in self._by_name:
            raise InvalidInput(_CHANGED)
        if found[4] != person:
            raise InvalidInput(NOT_YOURS)
        return Press(action=found[1], subject=found[2], confirmed=found[3] == _YES, person=found[4])

    def asks_for(self, press: Press) -> bool:
        """Whether a form has to be filled in."""
        return bool(self._by_name[press.action].form)

    def empty_form(self, press: Press) -> Form:
        """The form of an action, with nothing in its fields."""
        action = self._by_name[press.action]
        fields = tuple(FormField(name=argument.name, label=argument.help) for argument in action.form)
        return Form(title=action.label, fields=fields)

    async def form(self, press: Press, call: Invocation) -> Form:
        """The form of an action, with what is there already in its fields."""
        action = self._by_name[press.action]
        call = replace(call, arguments=_arguments(action, press))
        offered = [await self._commands.suggestions(action.command, argument, call) for argument in action.form]
        empty = self.empty_form(press)
        fields = [
            replace(field, value=some[0].value) if some else field
            for field, some in zip(empty.fields, offered, strict=True)
        ]
        return replace(empty, fields=tuple(fields))

    async def run(self, press: Press, call: Invocation, filled_in: Mapping[str, str] | None = None) -> CommandReply:
        """Do what a press asks for, or ask first; whatever goes wrong becomes a plain sentence.

        Args:
            press: what was pressed.
            call: who pressed it, and where.
            filled_in: the fields of its form.
        """
        action = self._by_name[press.action]
        if action.asks is not None and not press.confirmed:
            return CommandReply(text=action.asks, confirm=action.label)
        arguments = {**_arguments(action, press), **(filled_in or {})}
        call = replace(call, arguments=arguments, confirmed=press.confirmed)
        return await self._commands.run_row(action.command, call)


def _arguments(action: Action, press: Press) -> dict[str, str]:
    return {} if action.subject is None else {action.subject: press.subject}
