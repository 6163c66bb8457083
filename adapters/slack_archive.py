"""A workspace as Slack exports it, a zip of JSON files: what people said in it, as the adapter would have heard it.

Nothing is ever unpacked to disk, and every file is read under a limit, whatever the archive says of its size.

Invariant: an archive is read to its end once, and found sound, before the first message of it is kept.
"""

from __future__ import annotations

import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from adapters.slack_events import ChannelKind, conversation_in, file_of, moment_of
from adapters.slack_text import from_slack
from bot.attachments import named
from memory.errors import InvalidInput
from memory.records import EARLIEST, LATEST, Archive, PastMessage, check_audience, check_person

_MOST_FILES = 500_000
_LARGEST_FILE = 64 << 20  # bytes, of one day of one channel
_LARGEST_IN_ALL = 8 << 30
_LARGEST_RATIO = 200  # JSON of a chat is packed to a tenth or so
_SMALL = 1 << 20  # bytes; a small file may be packed as tightly as it likes
_SPOKEN_SUBTYPES = frozenset({None, "file_share", "thread_broadcast", "me_message"})
_LISTS = {
    "channels.json": ChannelKind.PUBLIC,
    "groups.json": ChannelKind.PRIVATE,
    "mpims.json": ChannelKind.GROUP_DM,
    "dms.json": ChannelKind.DM,
}

_SLACK_ITSELF = "USLACKBOT"

_Row = TypeVar("_Row")


class _Profile(BaseModel):
    display_name: str | None = None
    real_name: str | None = None


class _User(BaseModel):
    id: str
    name: str | None = None
    team_id: str | None = None
    is_bot: bool = False
    profile: _Profile = _Profile()

    @property
    def shown_name(self) -> str:
        return self.profile.display_name or self.profile.real_name or self.name or self.id


class _Listed(BaseModel):
    """A channel, as a list of them tells it."""

    id: str
    name: str | None = None
    members: tuple[str, ...] = ()
    is_shared: bool = False
    is_ext_shared: bool = False


class _Edited(BaseModel):
    ts: str


class _File(BaseModel):
    id: str | None = None
    name: str | None = None
    title: str | None = None
    size: int | None = None


class _Post(BaseModel):
    """A message, or something else that stands between messages."""

    type: str = ""
    subtype: str | None = None
    user: str | None = None
    user_team: str | None = None
    bot_id: str | None = None
    ts: str = ""
    thread_ts: str | None = None
    text: str | None = None
    files: tuple[_File, ...] | None = None
    edited: _Edited | None = None


_USERS, _CHANNELS, _POSTS = TypeAdapter(list[_User]), TypeAdapter(list[_Listed]), TypeAdapter(list[_Post])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Channel:
    """A channel of the export, with its files, oldest first."""

    id: str
    kind: ChannelKind
    days: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workspace:
    """What is needed to read messages.

    Attributes:
        names: by user id.
        bots: the ids of users that are no people.
    """

    team: str
    names: Mapping[str, str]
    bots: frozenset[str]
    channels: Sequence[_Channel]


def slack_archive(path: Path, *, team: str | None) -> Archive:
    """Check the export of a workspace, as a whole.

    Args:
        path: the zip file.
        team: the workspace's id, where the export does not tell it.

    Raises:
        InvalidInput: it is no such file, damaged, or not to be trusted.
    """
    try:
        with zipfile.ZipFile(path) as file:
            _check(file)
            workspace = _workspace(file, team)
            people = total = 0
            for channel in workspace.channels:
                for post in _posts(file, channel):
                    total += 1
                    people += _past(post, channel, workspace) is not None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise InvalidInput(f"{path.name} is no zip file, or damaged. Download the export once more.") from error

    def read() -> Iterator[PastMessage]:
        with zipfile.ZipFile(path) as file:
            for channel in workspace.channels:
                for post in _posts(file, channel):
                    past = _past(post, channel, workspace)
                    if past is not None:
                        yield past

    return Archive(title=f"workspace {workspace.team}", messages=people, left_out=total - people, read=read)


def _check(file: zipfile.ZipFile) -> None:
    """Refuse an archive that no export of Slack looks like."""
    entries = file.infolist()
    if len(entries) > _MOST_FILES or sum(entry.file_size for entry in entries) > _LARGEST_IN_ALL:
        raise InvalidInput("This archive is larger than any that can be imported. Export fewer channels or days.")
    for entry in entries:
        place = PurePosixPath(entry.filename)
        if place.is_absolute() or ".." in place.parts or "\\" in entry.filename:
            raise InvalidInput("This archive names files outside of itself, which no export of Slack does.")
        if entry.flag_bits & 1:
            raise InvalidInput("This archive is locked with a password. Import the one that Slack gave you.")
        packed_tightly = entry.file_size > _SMALL and entry.file_size > _LARGEST_RATIO * max(1, entry.compress_size)
        if entry.filename.endswith(".json") and (entry.file_size > _LARGEST_FILE or packed_tightly):
            raise InvalidInput(f"{entry.filename} in this archive is too large to be a day of a channel.")


def _workspace(file: zipfile.ZipFile, team: str | None) -> _Workspace:
    names = set(file.namelist())
    if "channels.json" not in names or "users.json" not in names:
        raise InvalidInput("This archive has no channels.json and users.json: it is no export of a Slack workspace.")
    users = {user.id: user for user in _rows(file, "users.json", _USERS)}
    teams = [user.team_id for user in users.values() if user.team_id]
    known = team or (max(sorted(set(teams)), key=teams.count) if teams else None)
    if known is None:
        raise InvalidInput("This export does not tell the workspace's id. Give it, as in --team T01ABCDEF.")
    bots = frozenset(user.id for user in users.values() if user.is_bot) | {_SLACK_ITSELF}
    days: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        folder, slash, day = name.partition("/")
        if slash and "/" not in day and day.endswith(".json"):
            days[folder].append(name)
    channels = [
        _Channel(id=channel.id, kind=_kind(kind, channel, bots), days=days[channel.name or channel.id])
        for listed, kind in _LISTS.items()
        if listed in names
        for channel in _rows(file, listed, _CHANNELS)
    ]
    shown = {user.id: user.shown_name for user in users.values()}
    return _Workspace(team=known, names=shown, bots=bots, channels=channels)


def _kind(kind: ChannelKind, channel: _Listed, bots: frozenset[str]) -> ChannelKind:
    """Who hears a channel. A chat of two people is no chat with the bot."""
    if kind is ChannelKind.PUBLIC and (channel.is_ext_shared or channel.is_shared):
        return ChannelKind.SHARED
    if kind is ChannelKind.DM and len(set(channel.members) - bots) != 1:
        return ChannelKind.GROUP_DM
    return kind


def _posts(file: zipfile.ZipFile, channel: _Channel) -> Iterator[_Post]:
    for day in channel.days:
        yield from sorted(_rows(file, day, _POSTS), key=lambda post: post.ts)


def _rows(file: zipfile.ZipFile, name: str, form: TypeAdapter[list[_Row]]) -> list[_Row]:
    """What a file lists. Raises InvalidInput where it is no such list."""
    with file.open(name) as entry:
        data = entry.read(_LARGEST_FILE + 1)
    try:
        return form.validate_json(data if len(data) <= _LARGEST_FILE else b"")
    except ValidationError as error:
        raise InvalidInput(
            f"{name} in this archive is damaged. Download the export once more. Nothing was imported."
        ) from error


def _past(post: _Post, channel: _Channel, workspace: _Workspace) -> PastMessage | None:
    """A message of a person, or None where nobody says anything with it.

    Raises:
        InvalidInput: it has no date, or is of nobody.
    """
    if (
        post.type != "message"
        or post.subtype not in _SPOKEN_SUBTYPES
        or post.user is None
        or post.bot_id
        or post.user in workspace.bots
    ):
        return None
    words = from_slack(post.text or "", bot_user=_SLACK_ITSELF, names=workspace.names)
    text = named(words, tuple(file_of(file.model_dump()) for file in post.files or () if file.id))
    if not text:
        return None
    thread = post.thread_ts if post.thread_ts != post.ts else None
    where = conversation_in(channel.id, thread, team=workspace.team, kind=channel.kind)
    return PastMessage(
        person=check_person(f"slack:{post.user_team or workspace.team}:{post.user}"),
        author=workspace.names.get(post.user, post.user),
        audience=check_audience(where.audience),
        community=where.community,
        conversation=where.key,
        channel=f"slack:{workspace.team}:{channel.id}",
        platform_id=post.ts,
        text=text,
        sent_at=_moment(post.ts),
        edited_at=_moment(post.edited.ts) if post.edited else None,
    )


def _moment(ts: str) -> datetime:
    try:
        moment = moment_of(ts)
    except (ValueError, OverflowError) as error:
        raise InvalidInput("A message in this archive has no date. Nothing was imported.") from error
    if not EARLIEST <= moment <= LATEST:
        raise InvalidInput(f"A message in this archive is of the year {moment.year}. Nothing was imported.")
    return moment
