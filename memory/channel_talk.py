"""The latest talk of channels, so that an answer there knows what it is about.

It is held in this process alone and for a short while: what people say among themselves is in nobody's memory, on no
disk and in no backup, and a restart forgets it. Nothing is ever learned from it.

Invariant: bounded in channels, in lines of each, in the length of a line and in time.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

_ROOMS = 1_000
_LINES = 50
_LONGEST_LINE = 500  # characters
_LIFETIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that was said in a channel.

    Attributes:
        id: the platform's id of the message; empty for an answer of the bot's.
        person: who said it; None for the bot.
        name: the name others see.
        text: what was said.
        at: when.
        for_us: it was for the bot, and is answered.
        answers: the person whom an answer of the bot's is for.
    """

    id: str
    person: str | None
    name: str
    text: str
    at: datetime
    for_us: bool = False
    answers: str | None = None


@dataclass(slots=True, kw_only=True)
class _Room:
    parent: str | None = None
    lines: deque[Line] = field(default_factory=lambda: deque(maxlen=_LINES))


class ChannelTalk:
    """What was said lately, by the key of the channel or thread."""

    def __init__(self) -> None:
        self._rooms: OrderedDict[str, _Room] = OrderedDict()

    def note(self, line: Line, *, conversation: str, parent: str | None = None, in_parent: bool = False) -> None:
        """Keep a line for a while; one that is there already is not kept twice.

        Args:
            conversation: the key of the channel or thread it was said in.
            parent: the key of the channel that a thread hangs on.
            in_parent: the line begins a thread, so that it stands in the channel too.
        """
        line = _with_text(line, line.text)
        self._keep(line, self._room(conversation, parent))
        if in_parent and parent is not None:
            self._keep(line, self._room(parent, None))

    def since_last_answer(self, conversation: str, *, person: str, message_id: str | None, at: datetime) -> list[Line]:
        """What others, and the bot to others, said before a message and since the person's last one to the bot.

        In a thread that the message begins, what was said in its channel.

        Args:
            conversation: where the message was said.
            person: who says it.
            message_id: the platform's id of it.
            at: when it was said.
        """
        room = self._rooms.get(conversation)
        if room is None:
            return []
        if not any(line.id != message_id and line.at <= at for line in room.lines):
            room = self._rooms.get(room.parent or "", room)
        return _before(room, person=person, message_id=message_id, at=at)

    def retract(self, channel: str, ids: Collection[str]) -> None:
        """Forget messages that were deleted in a channel or in one of its threads."""
        for room in self._rooms_of(channel):
            _drop(room, lambda line: line.id in ids)

    def reword(self, channel: str, message_id: str, text: str) -> None:
        """Put what a message says by now in the place of what it said."""
        for room in self._rooms_of(channel):
            lines = [_with_text(line, text) if line.id == message_id else line for line in room.lines]
            room.lines.clear()
            room.lines.extend(lines)

    def forget(self, person: str) -> None:
        """Forget everything that a person said and was answered."""
        for room in self._rooms.values():
            _drop(room, lambda line: person in (line.person, line.answers))

    def _room(self, key: str, parent: str | None) -> _Room:
        room = self._rooms.setdefault(key, _Room(parent=parent))
        self._rooms.move_to_end(key)
        if len(self._rooms) > _ROOMS:
            self._rooms.popitem(last=False)
        return room

    def _rooms_of(self, channel: str) -> list[_Room]:
        return [room for key, room in self._rooms.items() if key == channel or key.startswith(f"{channel}:")]

    @staticmethod
    def _keep(line: Line, room: _Room) -> None:
        while room.lines and line.at - room.lines[0].at > _LIFETIME:
            room.lines.popleft()
        if not (line.id and any(known.id == line.id for known in room.lines)):
            room.lines.append(line)


def _with_text(line: Line, text: str) -> Line:
    return replace(line, text=text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} …")


def _before(room: _Room, *, person: str, message_id: str | None, at: datetime) -> list[Line]:
    lines: list[Line] = []
    for line in room.lines:
        if line.person == person:
            if line.for_us and line.id != message_id and line.at <= at:
                lines.clear()
        elif line.answers != person and line.at <= at and at - line.at <= _LIFETIME:
            lines.append(line)
    return lines


def _drop(room: _Room, gone: Callable[[Line], bool]) -> None:
    kept = [line for line in room.lines if not gone(line)]
    room.lines.clear()
    room.lines.extend(kept)
