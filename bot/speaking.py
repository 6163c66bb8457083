"""When the bot speaks: one rule for every platform, over what an adapter heard.

Pure. Invariant: it never answers itself or a webhook, and a list that denies wins over one that allows. What it may
not answer because of a list or an admin's word it does not overhear either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from bot.chat import IncomingMessage
from memory.records import ChannelMode, ChannelState

_ID = re.compile(r"\d+|[A-Z][A-Z0-9]*\d[A-Z0-9]*|discord:\d+|slack:[A-Z0-9]+:[A-Z0-9]+")


class Speaker(StrEnum):
    """Who said something."""

    PERSON = "person"
    BOT = "bot"
    WEBHOOK = "webhook"
    OURSELVES = "ourselves"


class Addressed(StrEnum):
    """Whom something was said to: the bot is named or replied to, somebody else alone is, or nobody is."""

    US = "us"
    OTHERS = "others"
    NOBODY = "nobody"


class Verdict(StrEnum):
    """What is done with something that was said."""

    ANSWER = "answer"
    OVERHEAR = "overhear"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Something that was said where the bot can hear it.

    Attributes:
        message: what was said, where and by whom.
        speaker: what kind of author it has.
        addressed: whom it was said to.
        in_thread: it stands in a thread, and does not begin one.
        server: the platform's id of the server or workspace; None in a direct chat of Discord.
        channels: the platform's ids of the channel, and of the one that a thread hangs on.
        roles: the ids of the author's roles; empty where the platform has none or does not tell.
    """

    message: IncomingMessage
    speaker: Speaker = Speaker.PERSON
    addressed: Addressed = Addressed.NOBODY
    in_thread: bool = False
    server: str | None = None
    channels: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A list that allows and one that denies, by id."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()

    @classmethod
    def of(cls, allow: str | None, deny: str | None) -> Listed:
        """From ids separated by commas."""
        return cls(allow=frozenset(_ids(allow)), deny=frozenset(_ids(deny)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where and to whom the bot speaks at all.

    Users are named by their id, or as persons (``slack:T1:U1``) where an id alone could be two people's.
    """

    servers: Listed = field(default_factory=Listed)
    channels: Listed = field(default_factory=Listed)
    users: Listed = field(default_factory=Listed)
    roles: Listed = field(default_factory=Listed)

    def admits(self, heard: Heard) -> bool:
        """Whether the lists let the bot hear this.

        A list of channels that allows does not reach into direct chats, nor does one of servers where a direct chat
        has none. Roles are unknown in direct chats, so that there only ``users`` can allow somebody.
        """
        direct = heard.message.conversation.is_direct
        person = heard.message.person
        servers = frozenset() if heard.server is None else frozenset({heard.server})
        users = frozenset({person, person.rpartition(":")[2]})
        named = (
            (self.servers, servers),
            (self.channels, heard.channels),
            (self.users, users),
            (self.roles, heard.roles),
        )
        return (
            not any(listed.deny & ids for listed, ids in named)
            and (_allows(self.servers, servers) or (direct and not servers))
            and (_allows(self.channels, heard.channels) or direct)
            and self._allows_author(users, heard.roles)
        )

    def _allows_author(self, users: frozenset[str], roles: frozenset[str]) -> bool:
        if not (self.users.allow or self.roles.allow):
            return True
        return bool(self.users.allow & users or self.roles.allow & roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakingRules:
    """What an operator chose for the whole installation.

    Attributes:
        access: where and to whom.
        mode: when, in channels for which no admin chose otherwise.
        answer_bots: whether other bots that name this one are answered.
    """

    access: Access = field(default_factory=Access)
    mode: ChannelMode = ChannelMode.THREADS
    answer_bots: bool = False


def verdict(heard: Heard, state: ChannelState, rules: SpeakingRules) -> Verdict:
    """What to do with something that was said.

    Args:
        heard: what was said.
        state: what holds in its channel or thread.
        rules: what holds for the whole installation.
    """
    if not _is_heard(heard, rules) or state.silenced:
        return Verdict.IGNORE
    return Verdict.ANSWER if _is_for_us(heard, state, rules) else Verdict.OVERHEAR


def _is_heard(heard: Heard, rules: SpeakingRules) -> bool:
    speakers = {Speaker.PERSON, Speaker.BOT} if rules.answer_bots else {Speaker.PERSON}
    return heard.speaker in speakers and rules.access.admits(heard)


def _is_for_us(heard: Heard, state: ChannelState, rules: SpeakingRules) -> bool:
    if heard.message.conversation.is_direct or heard.addressed is Addressed.US:
        return True
    if heard.addressed is Addressed.OTHERS or heard.speaker is not Speaker.PERSON:
        return False
    match state.mode or rules.mode:
        case ChannelMode.OPEN:
            return True
        case ChannelMode.THREADS:
            return heard.in_thread and state.engaged_at is not None
        case ChannelMode.MENTION:
            return False


def check_ids(listed: str | None) -> str | None:
    """A list of ids as it may stand in a setting.

    Raises:
        ValueError: something in it is no id; the text says how to find one.
    """
    if wrong := [entry for entry in _ids(listed) if not _ID.fullmatch(entry)]:
        raise ValueError(
            f"{wrong[0]!r} is no id. Discord: switch on Developer Mode, right-click, Copy ID. "
            "Slack: the id stands at the end of the channel's or member's details"
        )
    return listed


def _ids(listed: str | None) -> list[str]:
    return [entry.strip() for entry in (listed or "").split(",") if entry.strip()]


def _allows(listed: Listed, ids: frozenset[str]) -> bool:
    return not listed.allow or bool(listed.allow & ids)
