"""Commands as every platform shares them: names, help, arguments, who may, and the seam for rendering them.

The rows themselves stand in ``bot/command_table.py``.

Invariant: a handler never runs before its permission is checked here, whatever a platform checked before; replies
are for the caller alone; every look or change by an admin stands in the person's audit log.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import structlog

from bot import replies
from bot.chat import Conversation
from bot.config import Settings
from memory.errors import InvalidInput, MemorySystemError
from memory.ports import Clock
from memory.records import ChannelMode
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)


class Group(StrEnum):
    """The two top-level commands. Permissions hang on them where a platform has permissions of its own."""

    MYDATA = "mydata"
    MEMORY = "memory"


class Kind(StrEnum):
    """What an argument is, so that a platform can offer the right way to fill it in."""

    TEXT = "text"
    NUMBER = "number"
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who called a command.

    Attributes:
        person: ``discord:<id>``, ``slack:<team>:<id>`` or ``console:<name>``.
        name: the name others see.
        admin_of: the communities (``guild:<id>``, ``team:<id>``) that the caller administers, as the platform said a
            moment ago; empty when it could not be asked.
        is_operator: runs the process, at its command line or terminal.
    """

    person: str
    name: str
    admin_of: frozenset[str] = frozenset()
    is_operator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePlace:
    """Where a message of the caller stands on its platform.

    Attributes:
        conversation: the conversation's key.
        audience: who could hear it.
        community: the server or team that it was said in, as far as that is known.
        platform_id: the platform's own id of the message.
    """

    conversation: str
    audience: str
    community: str | None
    platform_id: str


LinkTo = Callable[[MessagePlace], str | None]
"""The address under which the caller can open a message; None where the platform has none."""


def no_link(place: MessagePlace) -> None:
    """For platforms whose messages have no address."""
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call of a command.

    Attributes:
        conversation: where it was called.
        arguments: by name; persons in our own form (``discord:<id>``).
        confirmed: whether the caller has confirmed what the first reply asked to confirm.
        message: the platform's id of the message that it was called on; None where it was called on none.
        link_to: links to messages on the platform that it was called on.
    """

    caller: Caller
    conversation: Conversation
    arguments: Mapping[str, str] = field(default_factory=dict)
    confirmed: bool = False
    message: str | None = None
    link_to: LinkTo = no_link


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that goes with a reply."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An action that is offered below an answer.

    Attributes:
        action: its name in the table of actions.
        subject: what it is offered on.
        label: other words than the action's own; empty for those.
    """

    action: str
    subject: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReply:
    """What a command answers, for the caller's eyes alone.

    Attributes:
        text: Markdown.
        attachment: a file, or None.
        confirm: label of the button that runs the same call again with ``confirmed``; None where nothing is to be
            confirmed.
        succeeded: False where the text says why nothing was done.
        choices: things to choose one of, in a menu below; may be more than a platform shows.
        offers: buttons below. A platform without buttons shows neither.
    """

    text: str
    attachment: Attachment | None = None
    confirm: str | None = None
    succeeded: bool = True
    choices: tuple[Offer, ...] = ()
    offers: tuple[Offer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A value to choose for an argument, with the words to show for it."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What command handlers work with.

    Attributes:
        settings: those configured; what was changed at run time stands in the system.
        owners: persons who may act everywhere.
        channel_mode: when the bot answers in a channel for which no admin chose otherwise.
        admin_reads_dms: whether a Slack workspace's admins see texts of direct messages.
    """

    system: MemorySystem
    settings: Settings
    clock: Clock
    owners: frozenset[str] = frozenset()
    admin_reads_dms: bool = True
    channel_mode: ChannelMode = ChannelMode.THREADS


Handler = Callable[[Services, Invocation], Awaitable[CommandReply]]
Suggest = Callable[[Services, Invocation], Awaitable[Sequence[Suggestion]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a command.

    Attributes:
        name: a word of lower-case letters.
        help: one short sentence.
        suggest: offers values, from the arguments filled in so far; None where anything may be typed.
        only_named: as text it is given as ``name:value`` alone, never by its place.
    """

    name: str
    help: str
    kind: Kind = Kind.TEXT
    required: bool = True
    suggest: Suggest | None = None
    only_named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A row of the table.

    Attributes:
        name: its sub-command.
        help: one short sentence.
        run: does it.
        in_conversation: acts on the very conversation that it is called in, so it needs one.
    """

    group: Group
    name: str
    help: str
    run: Handler
    arguments: tuple[Argument, ...] = ()
    in_conversation: bool = False

    @property
    def usage(self) -> str:
        """How it is written, as ``memory rollback <person> <version> [block]``."""
        shown = (f"<{argument.name}>" if argument.required else f"[{argument.name}]" for argument in self.arguments)
        return " ".join([self.group, self.name, *shown])


class Commands:
    """Runs commands of the table.

    Args:
        table: the commands, in the order in which help lists them.
        services: what their handlers work with.
    """

    def __init__(self, table: Sequence[Command], services: Services) -> None:
        self.table = tuple(table)
        self._services = services
        self._by_name = {(command.group, command.name): command for command in table}

    async def run(self, group: Group, name: str, invocation: Invocation) -> CommandReply:
        """Run a command; whatever goes wrong becomes a plain sentence.

        Args:
            group: the top-level command.
            name: the sub-command.
            invocation: who calls it, where and with what.
        """
        command = self._by_name.get((group, name))
        if command is None:
            known = ", ".join(command.name for command in self.table if command.group is group)
            text = f"There is no command {group} {name}. Commands: {known}."
            return CommandReply(text=text, succeeded=False)
        return await self.run_row(command, invocation)

    async def run_row(self, command: Command, invocation: Invocation) -> CommandReply:
        """Run a command that need not stand in the table; see ``run``."""
        try:
            return await command.run(self._services, self._checked(command, invocation))
        except MemorySystemError as error:
            return CommandReply(text=replies.trouble(error), succeeded=False)
        except Exception:  # noqa: BLE001  # the outermost handler of commands: the caller is told, the operator finds the id
            error_id = secrets.token_hex(4)
            _log.exception("command_broke", command=f"{command.group} {command.name}", error_id=error_id)
            return CommandReply(text=replies.bug(error_id), succeeded=False)

    async def suggest(self, group: Group, name: str, argument: str, invocation: Invocation) -> Sequence[Suggestion]:
        """Values to choose for an argument; none where the caller may not see them."""
        command = self._by_name.get((group, name))
        asked = next((known for known in command.arguments if known.name == argument), None) if command else None
        return await self.suggestions(command, asked, invocation) if command and asked else ()

    async def suggestions(self, command: Command, argument: Argument, invocation: Invocation) -> Sequence[Suggestion]:
        """Values for an argument of a command that need not stand in the table; see ``suggest``."""
        try:
            invocation = self._checked(command, invocation, complete=False)
            return await argument.suggest(self._services, invocation) if argument.suggest else ()
        except MemorySystemError:
            return ()

    def _checked(self, command: Command, invocation: Invocation, *, complete: bool = True) -> Invocation:
        if command.group is Group.MEMORY and not may_administer(invocation, self._services.owners):
            raise InvalidInput("Only an admin of this community may do that.")
        given = {key: value.strip() for key, value in invocation.arguments.items() if value.strip()}
        unknown = set(given) - {argument.name for argument in command.arguments}
        missing = [argument for argument in command.arguments if argument.required and argument.name not in given]
        if unknown or (missing and complete):
            wanted = [f"- {argument.name}: {argument.help}" for argument in missing]
            raise InvalidInput("\n".join([f"Write: `/{command.usage}`", *wanted]))
        return replace(invocation, arguments=given)


def may_administer(invocation: Invocation, owners: frozenset[str]) -> bool:
    """Whether the caller may use admin commands in this conversation."""
    return acts_everywhere(invocation.caller, owners) or community_of(invocation) in invocation.caller.admin_of


def acts_everywhere(caller: Caller, owners: frozenset[str]) -> bool:
    """Whether the caller is the operator or one of the owners."""
    return caller.is_operator or caller.person in owners


def community_of(invocation: Invocation) -> str:
    """The server or workspace that a command was called in; in a Slack direct chat the caller's own workspace."""
    where, person = invocation.conversation, invocation.caller.person
    if where.audience == "dm" and person.startswith("slack:"):
        return f"team:{person.split(':')[1]}"
    return where.community or where.audience
