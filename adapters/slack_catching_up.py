"""What happened in Slack while the connection was away: events of it are sent for some minutes, and then never again.

Each conversation that went on lately is asked for once: what is new in it is taken in and marked as late; what was
edited or deleted, seen by what is kept of it, is followed as if it had just happened. Slack does not tell in which of
the others something was said; the newest of them are asked too.

Invariant: one look at a time, bounded in conversations, messages and time; it gives up where Slack would have it wait
for long, and leaves to the next look what it did not come to.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_changes import SlackEdit, change_of_shown, channel_key
from adapters.slack_errors import TRANSPORT_ERRORS, error_code, perhaps_delivered, retry_after
from adapters.slack_events import UNREADABLE, address_at, ts_of
from adapters.slack_history import Raw, Shown, conversations_of, shown_since
from adapters.slack_intake import SlackIntake
from bot.changes import MessagesDeleted
from bot.last_seen import LastSeen
from bot.look_back import LookBack
from memory.errors import MemorySystemError
from memory.ports import Sleep

_PLATFORM = "slack"
_TRIES = 3
_LONGEST_WAIT = 300.0  # seconds in one look, where Slack limits how often it is asked
_LATER = 90.0  # seconds; Slack withholds events for a minute
_MOST_KNOWN = 200  # conversations in which something was heard, the latest first
_MOST_NEW = 50  # and others, the newest first
_MOST_THREADS = 50  # which go on in these, and in which nothing was heard
_Answer = TypeVar("_Answer")

_log = structlog.get_logger(__name__)


class _GivenUp(Exception):
    """Slack would have us wait for longer than anybody waits for a late answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A conversation that is to be asked for.

    Attributes:
        key: its key.
        seen: the last message that was seen in it, after which others are new; None to look for changes alone.
        kept: the posts that are kept of it, with the times at which they were last edited.
    """

    key: str
    seen: str | None
    kept: Mapping[str, datetime | None]

    @property
    def oldest(self) -> str:
        """From where on it is asked for."""
        return min((*self.kept, *([] if self.seen is None else [self.seen])))


class SlackCatchingUp:
    """Catches up in one workspace.

    Args:
        client: speaks to Slack.
        intake: takes in what is found.
        team: the workspace.
        bot_user: the bot's own user id.
        last_seen: what was seen in each conversation.
        look_back: what is kept of late.
        sleep: waits where Slack limits how often it is asked, or how much it tells.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        intake: SlackIntake,
        *,
        team: str,
        bot_user: str,
        last_seen: LastSeen,
        look_back: LookBack,
        sleep: Sleep,
    ) -> None:
        self._client = client
        self._intake = intake
        self._team = team
        self._bot_user = bot_user
        self._last_seen = last_seen
        self._look_back = look_back
        self._sleep = sleep
        self._running: asyncio.Task[None] | None = None
        self._pause: asyncio.Task[None] | None = None
        self._again = False
        self._is_stopped = False
        self._is_away = False
        self._waited = 0.0
        self._left = 0  # what could not be asked
        self._threads_left = 0
        self._asked_for: set[str] = set()  # by key
        self._settled = asyncio.Event()

    def begin(self) -> None:
        """The connection is there (again): catch up in the background."""
        if self._is_stopped:  # a connection that comes back while all is being closed
            return
        self.lost()
        self._is_away = False
        if self._running is not None and not self._running.done():
            self._again = True
            return
        self._settled.clear()
        self._running = asyncio.create_task(self._run())
        self._running.add_done_callback(self._ended)

    def lost(self) -> None:
        """The connection is away: from now on something may be missed."""
        self._is_away = True
        self._last_seen.lost(_PLATFORM)

    def begin_later(self) -> None:
        """Something was missed although the connection is there, and more may be: catch up once that is over."""
        if self._is_stopped:
            return
        self.lost()
        if self._pause is not None:
            self._pause.cancel()
        self._pause = asyncio.create_task(self._begin_after_pause())

    async def _begin_after_pause(self) -> None:
        await self._sleep(_LATER)
        self.begin()

    async def settled(self) -> None:
        """Wait until a look has come to its end since the connection was there last."""
        await self._settled.wait()

    async def stop(self) -> None:
        """Look for nothing more; what is still missing is found after the next start."""
        self._is_stopped = True
        self.lost()
        under_way = [task for task in (self._pause, self._running) if task is not None]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._again = False
            await self._catch_up()
            if not self._again:
                break

    async def _catch_up(self) -> None:
        absent_since = await self._last_seen.absent_since(_PLATFORM)
        places = deque(await self._places(absent_since))
        late = changes = 0
        self._waited, self._left, self._threads_left = 0.0, 0, _MOST_THREADS
        try:
            if absent_since is not None:
                places += await self._never_heard({place.key for place in places}, absent_since)
            self._asked_for = {place.key for place in places}
            while places:
                place = places.popleft()
                shown = await self._shown(place)
                if shown is not None:
                    changes += await self._follow(place, shown)
                    late += await self._take_in(place, shown, places)
        except _GivenUp:
            self._left += len(places) + 1
        if self._left:
            _log.warning("slack_catching_up_unfinished", left=self._left)
        elif not (self._again or self._is_away):
            self._last_seen.caught_up(_PLATFORM)
        if late or changes:
            _log.info("slack_caught_up", messages=late, changes=changes)

    async def _places(self, absent_since: datetime | None) -> list[_Place]:
        """The conversations in which something was heard, or that went on, lately."""
        seen, earliest = await self._last_seen.on(_PLATFORM), ts_of(self._last_seen.not_before)
        seen = dict(list(seen.items())[:_MOST_KNOWN])
        found = []
        for key in dict.fromkeys((*seen, *await self._look_back.conversations(_PLATFORM))):
            kept = await self._look_back.posts(key)
            since = None if absent_since is None else ts_of(absent_since)
            if key in seen:
                since = max(seen[key].message, earliest)
            if key.split(":")[1] == self._team and (kept or since is not None):
                found.append(_Place(key=key, seen=since, kept=kept))
        return found

    async def _never_heard(self, known: Collection[str], absent_since: datetime) -> list[_Place]:
        """The newest of the conversations that nothing is known of. Raises _GivenUp."""
        channels = await self._asked(partial(conversations_of, self._client), "conversations") or ()
        keys = [channel_key(self._team, channel["id"]) for channel in channels]
        new = [key for key in keys if key not in known]
        return [_Place(key=key, seen=ts_of(absent_since), kept={}) for key in new[:_MOST_NEW]]

    async def _shown(self, place: _Place) -> Shown | None:
        """What Slack shows of a conversation; None where it shows nothing. Raises _GivenUp."""
        address, oldest = address_at(place.key), place.oldest
        if address.thread_ts is None:  # threads that began earlier may go on
            oldest = min(oldest, ts_of(self._look_back.not_before))
        return await self._asked(partial(shown_since, self._client, address, oldest=oldest), place.key)

    async def _asked(self, ask: Callable[[], Awaitable[_Answer]], about: str) -> _Answer | None:
        """What Slack answers, in the end; None where it does not, or not now. Raises _GivenUp."""
        for _ in range(_TRIES):
            try:
                return await ask()
            except SlackApiError as error:
                wait = retry_after(error)
                if wait is not None:
                    await self._wait(wait)
                    continue
                _log.info("missed_channel_skipped", channel=about, error=error_code(error))
                if not perhaps_delivered(error):
                    return None
            except TRANSPORT_ERRORS as error:
                _log.info("missed_channel_skipped", channel=about, error=type(error).__name__)
        self._left += 1
        return None

    async def _wait(self, seconds: float) -> None:
        """Wait as Slack says, as long as it does not add up. Raises _GivenUp."""
        self._waited += seconds
        if self._waited > _LONGEST_WAIT:
            raise _GivenUp
        await self._sleep(seconds)

    async def _follow(self, place: _Place, shown: Shown) -> int:
        """Follow what was changed; how much that was."""
        if not (place.kept and shown.posts):
            return 0
        channel = address_at(place.key).channel
        changes = [self._change_of(post, channel) for post in shown.posts]
        gone = {ts for change in changes if isinstance(change, MessagesDeleted) for ts in change.ids}
        here = {post["ts"] for post in shown.posts} - gone
        missing = tuple(sorted(ts for ts in place.kept if shown.covers(ts) and ts not in here))
        count = 0
        if missing:
            deleted = MessagesDeleted(channel=channel_key(self._team, channel), ids=missing)
            await self._intake.follow(deleted, channel=channel)
            count += len(missing)
        for change in changes:
            if change is None or isinstance(change, MessagesDeleted) or change.ts not in place.kept:
                continue
            known = place.kept[change.ts]
            if known is None or known < change.at:
                await self._intake.follow(change, channel=channel)
                count += 1
        return count

    def _change_of(self, post: Raw, channel: str) -> SlackEdit | MessagesDeleted | None:
        try:
            return change_of_shown(post, team=self._team, channel=channel)
        except UNREADABLE as error:
            _log.error("slack_post_unreadable", channel=channel, error=type(error).__name__)
            return None

    async def _take_in(self, place: _Place, shown: Shown, places: deque[_Place]) -> int:
        """Take in what is new, and have the threads asked for that go on; how much that was."""
        if place.seen is None:
            return 0
        address, since, count = address_at(place.key), max(place.seen, shown.joined(self._bot_user)), 0
        for post in shown.posts:
            if post["ts"] > since:
                count += await self._intake.take_late(post, team=self._team, channel=address.channel)
        if address.thread_ts is None:
            places += self._threads_of(place.key, shown, since=since)
        return count

    def _threads_of(self, key: str, shown: Shown, *, since: str) -> Iterator[_Place]:
        """The threads of a channel in which something was said since, and that nothing asks for yet."""
        for post in reversed(shown.posts):
            thread = f"{key}:{post['ts']}"
            if self._threads_left and post.get("latest_reply", "") > since and thread not in self._asked_for:
                self._threads_left -= 1
                self._asked_for.add(thread)
                yield _Place(key=thread, seen=max(post["ts"], since), kept={})

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._settled.set()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, MemorySystemError):
            _log.error("slack_catching_up_failed", error=str(error))
            self.begin_later()
        elif error is not None:
            _log.error("slack_catching_up_failed", error=type(error).__name__, exc_info=error)
