"""Rows as they come from the mirror: checked like those of an export.

Invariant: what passes can be stored as it is; what does not is left out by itself, and said to be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from memory.policy.export.file import KeptInScope, as_exported
from memory.policy.export.values import Actor, Amount, Audience, Id, Moment, Name, Person, Strict, Text, Word
from memory.records import ChannelMode


class ClosureRow(Strict):
    """A row of ``closures``."""

    place: Audience
    closed_at: Moment


class LinkRow(Strict):
    """A row of ``links``."""

    other: Person
    linked_at: Moment


class ChannelRow(Strict):
    """A row of ``channels``."""

    conversation: Name
    community: Actor
    silenced_at: Moment | None
    mode: ChannelMode | None
    engaged_at: Moment | None


class LimitRow(Strict):
    """A row of ``limits``."""

    community: Actor
    name: Word
    value: Amount
    changed_at: Moment
    actor: Actor


class ParameterChangeRow(Strict):
    """A row of ``parameter_changes``."""

    id: Id
    name: Word
    value: Text | None
    changed_at: Moment
    actor: Actor


class MirroredInScope(KeptInScope):
    """What one scope's memory holds in the mirror: also what an export of a person does not give back."""

    closures: tuple[ClosureRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    channels: tuple[ChannelRow, ...] = ()
    limits: tuple[LimitRow, ...] = ()
    parameter_changes: tuple[ParameterChangeRow, ...] = ()


_ANY_ID = 2**63 - 1  # the clock of another device may be ahead of ours


def checked(store: str, data: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
    """Rows of a store as its ``export`` gave them, in the same order; None for one that is not sound."""
    try:
        return list(_checked(store, data))
    except ValidationError:
        return [_one(store, row) for row in data]


def _one(store: str, row: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        return _checked(store, [row])[0]
    except ValidationError:
        return None


def _checked(store: str, data: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    kept = MirroredInScope.model_validate_json(json.dumps({store: list(data)}), context=_ANY_ID)
    return as_exported(getattr(kept, store))
