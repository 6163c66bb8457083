"""The command table on Slack: as slash commands, and as messages that begin with ``!`` where those do not work.

Invariant: every command is acknowledged before anything else is done, and answered for its caller alone. Who
administers the workspace is asked of Slack for every call. No command is ever stored as something that was said.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

from adapters.slack_answers import ReplyPath, SlackAnswers
from adapters.slack_blocks import CONFIRM_ACTION, messages_for
from adapters.slack_calls import caller
from adapters.slack_directory import SlackDirectory
from adapters.slack_events import ChannelKind, SlackPost, conversation_in, kind_by_id, link_to
from adapters.slack_text import from_slack, with_persons
from adapters.slack_underway import Underway
from adapters.slack_views import below
from bot.actions import Actions
from bot.command_text import TypedCommand, parse
from bot.commands import CommandReply, Commands, Group, Invocation
from memory.errors import InvalidInput
from memory.ports import Clock

_MARK = "!"
_WORDS = frozenset(f"{_MARK}{group}" for group in Group)
_CONFIRM_WITHIN = timedelta(minutes=15)
_MOST_SEEN = 1_000

_TOO_LATE = "This button has been used already or is too old. Call the command again."
_NOT_YOURS = "Only who called the command can confirm it."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A command as somebody called it.

    Attributes:
        team: the workspace in which it was called.
        user_team: the caller's own workspace.
        text: group, sub-command and arguments.
        path: the way back to the caller.
    """

    team: str
    user_team: str
    text: str
    path: ReplyPath

    @property
    def person(self) -> str:
        return f"slack:{self.user_team}:{self.path.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A call that waits to be confirmed."""

    call: _Call
    until: datetime


class SlackCommands:
    """Runs what is called in one workspace.

    Args:
        commands: the table, and what runs it.
        actions: what is offered below answers.
        team: the workspace.
        workspace: its address, as ``https://acme.slack.com/``; empty where Slack did not say.
        bot_user: the bot's user id.
        bot_name: its name.
        directory: looks up names, channels and admins.
        answers: sends answers.
        underway: the calls that are being answered.
        clock: tells how long a button works.
    """

    def __init__(
        self,
        commands: Commands,
        actions: Actions,
        *,
        team: str,
        workspace: str,
        bot_user: str,
        bot_name: str,
        directory: SlackDirectory,
        answers: SlackAnswers,
        underway: Underway,
        clock: Clock,
    ) -> None:
        self._commands = commands
        self._actions = actions
        self._team = team
        self._link_to = partial(link_to, workspace=workspace, team=team)
        self._bot_user = bot_user
        self._bot_name = bot_name
        self._directory = directory
        self._answers = answers
        self._underway = underway
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._seen: dict[tuple[str, str], None] = {}

    def receive(self, body: Mapping[str, Any]) -> HTTPStatus | None:
        """Begin what a slash command or the press of a button asks for, and return at once.

        Returns:
            The status for Slack, or None where the request is neither.
        """
        if "command" in body:
            call = self._slash_call(body)
            return self._underway.begin(self._run(call), partial(self._say, call.path))
        if body.get("type") == "block_actions":
            return self._underway.begin(self._confirm(body), partial(self._say, _path_of_press(body)))
        return None

    def receive_post(self, post: SlackPost) -> HTTPStatus | None:
        """Begin the command that a message is; None where it is none.

        Slack brings a message again when our answer was lost, and in group chats as two events; it is run once.
        """
        if not self.is_command(post):
            return None
        text = self._plain(post.text, post.team)
        if (post.channel, post.ts) in self._seen:
            return HTTPStatus.OK
        path = ReplyPath(channel=post.channel, kind=post.kind, thread_ts=post.thread_ts, user=post.user)
        call = _Call(team=post.team, user_team=post.user_team, text=text, path=path)
        status = self._underway.begin(self._run(call), partial(self._say, path))
        if status is HTTPStatus.OK:
            self._seen[post.channel, post.ts] = None
            if len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        return status

    def is_command(self, post: SlackPost) -> bool:
        """Whether a message is a command."""
        words = self._plain(post.text, post.team).split(maxsplit=1)
        return bool(words) and words[0].lower() in _WORDS

    def _slash_call(self, body: Mapping[str, Any]) -> _Call:
        team = body["team_id"]
        return _Call(
            team=team,
            user_team=team,
            text=self._plain(f"{body['command']} {body.get('text') or ''}", team),
            path=ReplyPath(
                channel=body["channel_id"],
                kind=kind_by_id(body["channel_id"]),
                thread_ts=None,
                user=body["user_id"],
                response_url=body.get("response_url"),
            ),
        )

    def _plain(self, text: str, team: str) -> str:
        return from_slack(with_persons(text, bot_user=self._bot_user, team=team), bot_user=self._bot_user, names={})

    async def _say(self, path: ReplyPath, text: str) -> None:
        await self._answers.send(path, messages_for(text))

    async def _run(self, call: _Call, *, confirmed: bool = False) -> None:
        kind = call.path.kind
        if kind is ChannelKind.UNKNOWN:
            kind = await self._directory.kind(call.path.channel)
            call = replace(call, path=replace(call.path, kind=kind))
        try:
            typed = parse(call.text, self._commands.table)
            self._check_place(typed, call.path)
        except InvalidInput as error:
            await self._answer(call, CommandReply(text=str(error), succeeded=False), in_place=confirmed)
            return
        invocation = Invocation(
            caller=await caller(
                self._directory,
                user=call.path.user,
                user_team=call.user_team,
                called_in=call.team,
                team=self._team,
            ),
            conversation=conversation_in(call.path.channel, call.path.thread_ts, team=call.team, kind=kind),
            arguments=typed.arguments,
            confirmed=confirmed or typed.confirmed,
            link_to=self._link_to,
        )
        reply = await self._commands.run(typed.group, typed.name, invocation)
        await self._answer(call, reply, in_place=confirmed)

    async def _confirm(self, body: Mapping[str, Any]) -> None:
        """Run a call again whose button was pressed; who presses it is asked anew whether they are an admin."""
        pressed = [act.get("value") for act in body.get("actions") or () if act.get("action_id") == CONFIRM_ACTION]
        token = str(pressed[0]) if pressed else ""
        pending = self._pending.get(token)
        if pending is None or pending.until <= self._clock.now():
            await self._say(_path_of_press(body), _TOO_LATE)
            return
        if body["user"]["id"] != pending.call.path.user:
            await self._say(_path_of_press(body), _NOT_YOURS)
            return
        del self._pending[token]
        path = replace(pending.call.path, response_url=body.get("response_url"))
        await self._run(replace(pending.call, path=path), confirmed=True)

    def _check_place(self, typed: TypedCommand, path: ReplyPath) -> None:
        """In a channel each thread is a conversation; outside of threads there is none to act on."""
        row = next(known for known in self._commands.table if (known.group, known.name) == (typed.group, typed.name))
        if row.in_conversation and path.thread_ts is None and path.kind is not ChannelKind.DM:
            raise InvalidInput(
                "Here each thread is a conversation of its own. Write this in the thread that you mean: "
                f"`@{self._bot_name} {_MARK}{row.group} {row.name}`"
            )

    async def _answer(self, call: _Call, reply: CommandReply, *, in_place: bool) -> None:
        text = reply.text
        if reply.attachment is not None:
            text += "\n\n" + await self._answers.upload(call.path.user, reply.attachment)
        token = self._keep(call) if reply.confirm is not None else ""
        offered = below(reply, self._actions, call.person)
        messages = messages_for(text, confirm=reply.confirm, token=token, below=offered)
        await self._answers.send(call.path, messages, in_place=in_place)

    def _keep(self, call: _Call) -> str:
        """Keep a call until it is confirmed, under a token that says nothing."""
        now = self._clock.now()
        self._pending = {token: pending for token, pending in self._pending.items() if pending.until > now}
        token = secrets.token_urlsafe(16)
        self._pending[token] = _Pending(call=call, until=now + _CONFIRM_WITHIN)
        return token


def _path_of_press(body: Mapping[str, Any]) -> ReplyPath:
    channel = (body.get("channel") or {}).get("id") or ""
    return ReplyPath(
        channel=channel,
        kind=kind_by_id(channel),
        thread_ts=None,
        user=body["user"]["id"],
        response_url=body.get("response_url"),
    )
