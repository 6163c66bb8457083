"""Names and channels, looked up in Slack and remembered for a while.

Invariant: a lookup never fails and never takes longer than ``PATIENCE``; what cannot be found out in that time
is unknown, so that an event is always acknowledged within Slack's three seconds. Who is not known to be an admin
is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_events import ChannelKind, kind_of_channel
from memory.ports import Clock

PATIENCE = 1.0
"""Seconds one lookup may take."""

_NAMES_KEPT = timedelta(hours=1)
_KINDS_KEPT = timedelta(minutes=1)
"""Short, since a public channel may be made private at any time and Slack does not tell."""
_RIGHTS_KEPT = timedelta(minutes=1)
_ENTRIES = 10_000

_ADMIN_FLAGS = ("is_admin", "is_owner", "is_primary_owner")
_OUTSIDER_FLAGS = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")

_log = structlog.get_logger(__name__)
_Kept = TypeVar("_Kept")


class _Recent(Generic[_Kept]):
    """Values that are forgotten after a while, the oldest first when there are too many."""

    def __init__(self, clock: Clock, lifetime: timedelta) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._entries: dict[str, tuple[datetime, _Kept]] = {}

    def get(self, key: str) -> _Kept | None:
        entry = self._entries.get(key)
        return entry[1] if entry and self._clock.now() - entry[0] < self._lifetime else None

    def put(self, key: str, value: _Kept) -> None:
        self._entries.pop(key, None)
        if len(self._entries) >= _ENTRIES:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = (self._clock.now(), value)


class SlackDirectory:
    """Who is who, and who hears which channel."""

    def __init__(self, client: AsyncWebClient, clock: Clock) -> None:
        self._client = client
        self._names: _Recent[str] = _Recent(clock, _NAMES_KEPT)
        self._kinds: _Recent[ChannelKind] = _Recent(clock, _KINDS_KEPT)
        self._users: _Recent[Mapping[str, Any]] = _Recent(clock, _RIGHTS_KEPT)

    async def name(self, user: str) -> str | None:
        """The name others see, or None if it cannot be found out."""
        if known := self._names.get(user):
            return known
        found = await self._user(user)
        profile = found.get("profile") or {}
        name = profile.get("display_name") or profile.get("real_name") or found.get("real_name") or found.get("name")
        if name:
            self._names.put(user, name)
        return name or None

    async def kind(self, channel: str) -> ChannelKind:
        """Who hears the channel, or UNKNOWN if it cannot be found out."""
        if known := self._kinds.get(channel):
            return known
        answer = await self._ask("conversations.info", channel=channel)
        kind = kind_of_channel(answer.get("channel") or {})
        if kind is not ChannelKind.UNKNOWN:
            self._kinds.put(channel, kind)
        return kind

    async def administers(self, user: str, team: str) -> bool:
        """Whether the user is an admin or owner of this workspace, as Slack said within the last minute.

        Guests, people of other organisations, and who cannot be looked up are not.
        """
        found = await self._user(user)
        return (
            found.get("id") == user
            and found.get("team_id") == team
            and any(found.get(flag) is True for flag in _ADMIN_FLAGS)
            and not any(found.get(flag) for flag in _OUTSIDER_FLAGS)
        )

    async def _user(self, user: str) -> Mapping[str, Any]:
        """What Slack says of a user, as it was within the last minute; empty where it cannot be found out."""
        known = self._users.get(user)
        if known is not None:
            return known
        found: Mapping[str, Any] = (await self._ask("users.info", user=user)).get("user") or {}
        if found:
            self._users.put(user, found)
        return found

    async def _ask(self, method: str, **params: str) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._client.api_call(method, http_verb="GET", params=params)
        except (SlackApiError, aiohttp.ClientError, TimeoutError) as error:
            _log.warning("slack_lookup_failed", method=method, error=type(error).__name__, **params)
            return {}
        return answer.data if isinstance(answer.data, dict) else {}
