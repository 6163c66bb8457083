"""What an export holds of a person's choices, and of what was done in their name."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import available_timezones

from pydantic import AfterValidator

from memory.policy.export.values import Actor, Id, Moment, Strict, Text, Word


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("it is no time zone")
    return name


class PreferencesRow(Strict):
    """The row of ``preferences``."""

    time_zone: Annotated[str, AfterValidator(_known_zone)]


class AuditRow(Strict):
    """A row of ``audit``."""

    id: Id
    at: Moment
    actor: Actor
    action: Word
    detail: Text


class ConsentRow(Strict):
    """The row of ``consent``."""

    greeted_at: Moment | None
    paused_at: Moment | None
