"""The action table on Slack: as message shortcuts, below answers, in forms, and on the page of one's own memory.

Invariant: a click is acknowledged before anything is done for it, and answered for whoever clicked alone. Nothing is
kept between a button and its click.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_answers import ReplyPath, SlackAnswers
from adapters.slack_blocks import messages_for
from adapters.slack_calls import caller
from adapters.slack_directory import SlackDirectory
from adapters.slack_errors import error_code
from adapters.slack_events import ChannelKind, conversation_in, kind_by_id, link_to
from adapters.slack_underway import Underway
from adapters.slack_views import FORM, Origin, below, form_view, home_view, page_shown, pressed, read_form
from bot.actions import Actions, Form, Place, Press
from bot.chat import Conversation
from bot.commands import CommandReply, Invocation
from memory.errors import InvalidInput

HOME_EVENTS = ("app_home_opened",)
"""The events of the page of one's own memory, as the app's manifest lists them."""

# Slack opens a form for three seconds after a click; what is to stand in it must not take them up.
_FORM_SECONDS = 1.5
_TOO_SLOW = "That took me too long, so Slack did not open the form. Please click once more."
_FACTS = "facts"
_SHOW = "memory"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Click:
    """Who clicked, and where.

    Attributes:
        user_team: the workspace of whoever clicked.
    """

    user: str
    user_team: str
    origin: Origin

    @property
    def person(self) -> str:
        return f"slack:{self.user_team}:{self.user}"

    @property
    def path(self) -> ReplyPath:
        channel = self.origin.channel
        return ReplyPath(
            channel=channel,
            kind=kind_by_id(channel),
            thread_ts=self.origin.thread_ts,
            user=self.user,
            response_url=self.origin.response_url,
        )


class SlackActions:
    """Takes clicks in, in one workspace.

    Args:
        actions: the table, and what runs it.
        team: the workspace.
        workspace: its address; empty where Slack did not say.
        client: opens forms and shows pages.
        directory: looks up names, channels and admins.
        answers: sends answers.
        underway: the calls that are being answered.
    """

    def __init__(
        self,
        actions: Actions,
        *,
        team: str,
        workspace: str,
        client: AsyncWebClient,
        directory: SlackDirectory,
        answers: SlackAnswers,
        underway: Underway,
    ) -> None:
        self._actions = actions
        self._team = team
        self._link_to = partial(link_to, workspace=workspace, team=team)
        self._client = client
        self._directory = directory
        self._answers = answers
        self._underway = underway
        self._shortcuts = {action.name for action in actions.at(Place.MESSAGE)}

    def receive(self, body: Mapping[str, Any]) -> HTTPStatus | None:
        """Begin what a click, a shortcut, a form that was sent or the opening of a page asks for; return at once.

        Returns:
            The status for Slack, or None where the request is none of these.
        """
        kind = body.get("type")
        if kind == "message_action" and body.get("callback_id") in self._shortcuts:
            click = _click_of(body)
            press = Press(action=body["callback_id"], subject=body["message"]["ts"], person=click.person)
            return self._begin(click, self._answer(click, press, message=press.subject))
        if kind == "block_actions" and (carried := pressed(body)) is not None:
            click = _click_of(body)
            return self._begin(click, self._pressed(click, carried, str(body.get("trigger_id"))))
        if kind == "view_submission" and body["view"].get("callback_id") == FORM:
            carried, origin, fields = read_form(body["view"])
            click = _click_of(body, origin)
            return self._begin(click, self._sent(click, carried, fields))
        if kind == "event_callback" and _opens_home(body):
            click = _Click(user=body["event"]["user"], user_team=body["team_id"], origin=Origin())
            return self._begin(click, self._show_home(click))
        return None

    def _begin(self, click: _Click, answering: Any) -> HTTPStatus:
        return self._underway.begin(answering, partial(self._say, click))

    async def _pressed(self, click: _Click, carried: str, trigger: str) -> None:
        try:
            press = self._actions.read(carried, click.person)
        except InvalidInput as error:
            await self._say(click, str(error))
            return
        if self._actions.asks_for(press):
            await self._ask(click, press, trigger)
        else:
            await self._answer(click, press)

    async def _sent(self, click: _Click, carried: str, fields: Mapping[str, str]) -> None:
        try:
            press = self._actions.read(carried, click.person)
        except InvalidInput as error:
            await self._say(click, str(error))
            return
        await self._answer(click, press, fields)

    async def _ask(self, click: _Click, press: Press, trigger: str) -> None:
        try:
            await self._client.views_open(
                trigger_id=trigger, view=form_view(await self._form(click, press), press, click.origin)
            )
        except SlackApiError as error:
            _log.warning("slack_form_not_opened", error=error_code(error))
            await self._say(click, _TOO_SLOW)

    async def _form(self, click: _Click, press: Press) -> Form:
        try:
            async with asyncio.timeout(_FORM_SECONDS):
                return await self._actions.form(press, await self._invocation(click))
        except TimeoutError:
            return self._actions.empty_form(press)

    async def _answer(
        self, click: _Click, press: Press, fields: Mapping[str, str] | None = None, *, message: str | None = None
    ) -> None:
        if not click.origin.channel and press.action == _FACTS:
            page = int(press.subject) if press.subject.isdecimal() else 1
            await self._show_home(click, page=page)
            return
        reply = await self._actions.run(press, await self._invocation(click, message), fields)
        if not click.origin.channel:
            await self._show_home(click, page=click.origin.page, notice=await self._whole(click, reply), again=press)
            return
        reply = await self._whole(click, reply)
        shown = messages_for(reply.text, below=below(reply, self._actions, click.person, press))
        await self._answers.send(click.path, shown, in_place=press.confirmed)

    async def _whole(self, click: _Click, reply: CommandReply) -> CommandReply:
        """The answer with its file on its way."""
        if reply.attachment is None:
            return reply
        where = await self._answers.upload(click.user, reply.attachment)
        return CommandReply(text=f"{reply.text}\n\n{where}")

    async def _say(self, click: _Click, text: str) -> None:
        if click.origin.channel:
            await self._answers.send(click.path, messages_for(text))
        else:
            await self._show_home(click, page=click.origin.page, notice=CommandReply(text=text))

    async def _show_home(
        self, click: _Click, *, page: int = 1, notice: CommandReply | None = None, again: Press | None = None
    ) -> None:
        """Show somebody the page of their own memory, as it is now."""
        call = await self._invocation(click)
        view = home_view(
            memory=await self._actions.run(Press(action=_SHOW, person=click.person), call),
            facts=await self._actions.run(Press(action=_FACTS, subject=str(page), person=click.person), call),
            actions=self._actions,
            person=click.person,
            page=page,
            notice=notice,
            again=again,
        )
        await self._client.views_publish(user_id=click.user, view=view)

    async def _invocation(self, click: _Click, message: str | None = None) -> Invocation:
        return Invocation(
            caller=await caller(
                self._directory, user=click.user, user_team=click.user_team, called_in=self._team, team=self._team
            ),
            conversation=await self._conversation(click.origin.channel),
            message=message,
            link_to=self._link_to,
        )

    async def _conversation(self, channel: str) -> Conversation:
        """The channel, whose threads count as part of it; a page of one's own memory is heard by its person alone."""
        if not channel:
            return Conversation(platform="slack", key=f"slack:{self._team}:home", audience="dm")
        kind = kind_by_id(channel)
        if kind is ChannelKind.UNKNOWN:
            kind = await self._directory.kind(channel)
        return conversation_in(channel, None, team=self._team, kind=kind)


def _click_of(body: Mapping[str, Any], origin: Origin | None = None) -> _Click:
    user = body["user"]
    return _Click(
        user=user["id"],
        user_team=user.get("team_id") or body["team"]["id"],
        origin=_origin_of(body) if origin is None else origin,
    )


def _origin_of(body: Mapping[str, Any]) -> Origin:
    if (body.get("view") or {}).get("type") == "home":
        return Origin(page=page_shown(body["view"]))
    container, message = body.get("container") or {}, body.get("message") or {}
    return Origin(
        channel=(body.get("channel") or {}).get("id") or "",
        thread_ts=container.get("thread_ts") or message.get("thread_ts"),
        response_url=body.get("response_url"),
    )


def _opens_home(body: Mapping[str, Any]) -> bool:
    event = body.get("event") or {}
    return event.get("type") in HOME_EVENTS and event.get("tab") == "home" and "user" in event
