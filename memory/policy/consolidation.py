"""When a scope is to be consolidated, and how thoroughly.

Invariant: each day and month of the installation's time zone is done once, whether or not the process ran when it
began; a scope in which nothing changed is left alone in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo

from memory.records import Mode

_SLACK = 0.9  # a run that ended a little later than the one before began must not make the next one wait twice as long


def period_start(mode: Mode, now: datetime, *, zone: tzinfo, interval: timedelta) -> datetime:
    """Since when a consolidation of a mode is not to be done again."""
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if mode is Mode.QUICK:
        return now - interval * _SLACK
    return midnight if mode is Mode.DAILY else midnight.replace(day=1)


def mode_due(
    last: Mapping[Mode, datetime],
    *,
    oldest: datetime | None,
    newest: datetime | None,
    now: datetime,
    zone: tzinfo,
    interval: timedelta,
) -> Mode | None:
    """The most thorough consolidation that is due; None where none is.

    Args:
        last: when each was last done, one that includes it counted too.
        oldest, newest: when anything was first kept there, and when it last changed.
        now: the present moment.
        zone: in which days and months begin.
        interval: the time between two quick ones.
    """
    if oldest is None or newest is None:
        return None
    for mode in (Mode.MONTHLY, Mode.DAILY):
        since = period_start(mode, now, zone=zone, interval=interval)
        if oldest < since and (mode not in last or last[mode] < since):
            return mode
    quick = last.get(Mode.QUICK)
    if quick is None:
        return Mode.QUICK
    since = period_start(Mode.QUICK, now, zone=zone, interval=interval)
    return Mode.QUICK if quick < newest and quick <= since else None
