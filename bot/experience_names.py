"""How episodes, procedures and documents are named in commands: by their handle, procedures also by their name.

Invariant: what is not named for certain is not acted on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.experience_text import same_name

_SHOWN = 40  # characters of what was typed, in an error


class Kept(Protocol):
    """What has an id."""

    @property
    def id(self) -> int:
        """Its id in its store."""
        ...


K = TypeVar("K", bound=Kept)


def chosen(found: Sequence[K], said: str, kind: str, name_of: Callable[[K], str] | None = None) -> K:
    """The one that is meant.

    Args:
        found: to choose from.
        said: its handle, or its name where it has one.
        kind: what they are called, in one word; with an s it is the command that lists them.
        name_of: the name of one.

    Raises:
        InvalidInput: none of them is meant, or several may be.
    """
    wanted = said.strip().lower()
    meant = [one for one in found if handle_of(one.id) == wanted]
    if not meant and name_of is not None:
        meant = [one for one in found if same_name(name_of(one)) == same_name(said)]
    if not meant:
        raise InvalidInput(f"There is no {kind} {said[:_SHOWN]!r}. The command `{kind}s` lists them with their names.")
    if len(meant) > 1:
        names = ", ".join(handle_of(one.id) for one in meant)
        raise InvalidInput(f"Several have this name. Name one of them: {names}.")
    return meant[0]
