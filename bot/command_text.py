"""Commands written as text, ``/mydata show`` or ``/memory rollback discord:1 3``: read into a call, and listed as help.

Invariant: what is read here is only taken apart; names and values are checked by ``Commands.run``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.commands import Argument, Command, Group
from memory.errors import InvalidInput

CONFIRMED = "confirmed"
"""The name that a text command is confirmed with: ``confirmed:yes``."""

_YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCommand:
    """A command as it was written.

    Attributes:
        arguments: by name, not checked.
        confirmed: ``confirmed:yes`` stands in it.
    """

    group: Group
    name: str
    arguments: Mapping[str, str]
    confirmed: bool = False


def parse(text: str, table: Sequence[Command]) -> TypedCommand:
    """Take a written command apart.

    Arguments stand in the table's order, or anywhere as ``name:value``. The last one that has a place takes the rest
    of the line.

    Args:
        text: group, sub-command and arguments, with or without a slash or an exclamation mark before them.
        table: the commands there are.

    Raises:
        InvalidInput: there is no such command; the sentence lists those there are.
    """
    words = text.strip().lstrip("/!").split()
    group = _group(words[0] if words else "")
    if len(words) < 2 or words[1].lower() == "help":
        raise InvalidInput(help_text(table, group))
    name = words[1].lower()
    command = next((known for known in table if known.group is group and known.name == name), None)
    if command is None:
        raise InvalidInput(f"There is no command /{group} {name}.\n\n{help_text(table, group)}")
    named, rest = _named(words[2:], command.arguments)
    confirmed = named.pop(CONFIRMED, "").lower() == _YES
    placed = [argument.name for argument in command.arguments if not argument.only_named]
    open_names = [known for known in placed if known not in named]
    return TypedCommand(group=group, name=name, arguments={**named, **_placed(rest, open_names)}, confirmed=confirmed)


def help_text(table: Sequence[Command], group: Group) -> str:
    """What a group offers, one line for each command, as Markdown."""
    lines = [f"- `/{command.usage}`: {command.help}" for command in table if command.group is group]
    return "\n".join(lines)


def _group(word: str) -> Group:
    try:
        return Group(word.lower())
    except ValueError as error:
        known = " and ".join(f"/{group}" for group in Group)
        raise InvalidInput(
            f"There is no command /{word}. There are {known}. "
            "To say something that begins with a slash, put a space before it."
        ) from error


def _named(words: Sequence[str], arguments: Sequence[Argument]) -> tuple[dict[str, str], list[str]]:
    """The arguments given as ``name:value``, and the other words."""
    names = {argument.name for argument in arguments} | {CONFIRMED}
    named: dict[str, str] = {}
    rest = []
    for word in words:
        name, colon, value = word.partition(":")
        if colon and name.lower() in names:
            named[name.lower()] = value
        else:
            rest.append(word)
    return named, rest


def _placed(words: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    if not words:
        return {}
    if not names:
        raise InvalidInput(f"There is more than this command needs: {' '.join(words)[:80]!r}.")
    placed = dict(zip(names, words, strict=False))
    if len(words) > len(names):
        placed[names[-1]] = " ".join(words[len(names) - 1 :])
    return placed
