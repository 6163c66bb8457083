"""Limits on what is used in a day: which hold, whether one is reached, and when the next day begins.

Invariant: pure. A community can choose lower limits than the operator's, never higher ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from memory.records import Used


class Limit(StrEnum):
    """What is limited: the turns or tokens of a day, of one person or of a whole server or workspace."""

    PERSON_TURNS = "person_turns"
    PERSON_TOKENS = "person_tokens"
    COMMUNITY_TURNS = "community_turns"
    COMMUNITY_TOKENS = "community_tokens"


def strictest(configured: Mapping[Limit, int], chosen: Mapping[str, int]) -> dict[Limit, int]:
    """The limits that hold in a community.

    Args:
        configured: the operator's.
        chosen: the community's own, by name.
    """
    named = {Limit(name): value for name, value in chosen.items() if name in set(Limit)}
    both = {**named, **configured}
    return {limit: min(value, named.get(limit, value)) for limit, value in both.items()}


def reached(limits: Mapping[Limit, int], *, person: Used, community: Used) -> Limit | None:
    """The first limit with no room left for another turn; None where there is room.

    Args:
        limits: those that hold.
        person: what the person has used today.
        community: what everybody in the server or workspace has.
    """
    used = {
        Limit.PERSON_TURNS: person.turns,
        Limit.PERSON_TOKENS: person.tokens,
        Limit.COMMUNITY_TURNS: community.turns,
        Limit.COMMUNITY_TOKENS: community.tokens,
    }
    return next((limit for limit in Limit if limit in limits and used[limit] >= limits[limit]), None)


def day_of(moment: datetime, zone: ZoneInfo) -> str:
    """The day of a moment where the bot is at home, as ``2026-03-02``."""
    return moment.astimezone(zone).date().isoformat()


def next_day(moment: datetime, zone: ZoneInfo) -> datetime:
    """When the day after a moment's begins where the bot is at home."""
    local = moment.astimezone(zone)
    return datetime.combine(local.date() + timedelta(days=1), datetime.min.time(), tzinfo=zone)
