"""Slash commands of the loopback Discord: which are registered, who calls them, and what the bot answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from tests.doubles.discord_gateway import Gateway
from tests.doubles.discord_world import START, Channel, Member, Payload

_SUB_COMMAND = 1
_COMMANDS = re.compile(r"/applications/\d+/commands")
_CALLBACK = re.compile(r"/interactions/\d+/([^/]+)/callback")
_FOLLOW_UP = re.compile(r"/webhooks/\d+/([^/]+)")
_EPHEMERAL = 1 << 6


@dataclass(kw_only=True)
class Call:
    """A command that somebody called.

    Attributes:
        acknowledged: the type of the bot's first response; 5 says that an answer will come.
        ephemeral: whether that response was for the caller alone.
        answers: the texts that followed.
    """

    acknowledged: int | None = None
    ephemeral: bool = False
    answers: list[str] = field(default_factory=list)


class Interactions:
    """Part of the double.

    Attributes:
        registered: the commands, as Discord writes them down.
        registrations: how often the bot has replaced them.
    """

    def __init__(self, gateway: Gateway, bot: Member, snowflake: Callable[[], str]) -> None:
        self._gateway = gateway
        self._bot = bot
        self._snowflake = snowflake
        self._calls: dict[str, Call] = {}
        self.registered: list[Payload] = []
        self.registrations = 0

    async def call(self, channel: Channel, who: Member, path: str, *, permissions: int = 0) -> Call:
        """Somebody calls a command without options, for example ``mydata show``."""
        top, sub = path.split()
        command = next(command for command in self.registered if command["name"] == top)
        data = {
            "id": command["id"], "name": top, "type": 1, "options": [{"name": sub, "type": _SUB_COMMAND, "options": []}]
        }  # fmt: skip
        return await self._interact(channel, who, 2, data, permissions=permissions)

    async def click(self, channel: Channel, who: Member, custom_id: str) -> Call:
        """Somebody clicks on a button of an earlier answer."""
        return await self._interact(channel, who, 3, {"custom_id": custom_id, "component_type": 2})

    async def _interact(self, channel: Channel, who: Member, kind: int, data: Payload, *, permissions: int = 0) -> Call:
        token = f"token-{self._snowflake()}"
        call = self._calls[token] = Call()
        payload: Payload = {
            "id": self._snowflake(), "application_id": self._bot.id, "type": kind, "token": token, "version": 1,
            "data": data,
            "channel_id": channel.id, "channel": channel.payload(), "locale": "en-US", "entitlements": [],
            "authorizing_integration_owners": {}, "attachment_size_limit": 10 << 20,
        }  # fmt: skip
        if channel.guild is None:
            payload |= {"user": who.payload(), "context": 1}
        else:
            member = who.as_guild_member() | {"user": who.payload(), "permissions": str(permissions)}
            payload |= {"guild_id": channel.guild.id, "member": member, "context": 0}
        await self._gateway.dispatch("INTERACTION_CREATE", payload)
        return call

    async def serve(self, request: web.Request, path: str) -> Payload | list[Payload] | None:
        """The answer to a request about commands; None where the request is about something else."""
        if _COMMANDS.fullmatch(path):
            if request.method == "PUT":
                self._register(await request.json())
            return self.registered
        if found := _CALLBACK.fullmatch(path):
            return self._acknowledge(self._calls[found[1]], await request.json())
        if found := _FOLLOW_UP.fullmatch(path):
            return self._answer(self._calls[found[1]], await _payload(request))
        return None

    def _register(self, commands: list[Payload]) -> None:
        self.registrations += 1
        self.registered = [
            {"description": ""}  # of a command in a menu
            | command
            | {
                "id": self._snowflake(), "application_id": self._bot.id, "version": "1",
                "default_member_permissions": _as_text(command.get("default_member_permissions")),
            }
            for command in commands
        ]  # fmt: skip

    def _acknowledge(self, call: Call, response: Payload) -> Payload:
        call.acknowledged = response["type"]
        call.ephemeral = bool(response.get("data", {}).get("flags", 0) & _EPHEMERAL)
        interaction = {"id": self._snowflake(), "type": 2, "response_message_loading": True}
        return {"interaction": interaction, "resource": {"type": response["type"]}}

    def _answer(self, call: Call, message: Payload) -> Payload:
        call.answers.append(message["content"])
        return {
            "id": self._snowflake(), "channel_id": "1", "author": self._bot.payload(), "content": message["content"],
            "timestamp": START.isoformat(), "edited_timestamp": None, "tts": False, "type": 0, "flags": 64,
            "mention_everyone": False, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "pinned": False,
        }  # fmt: skip


async def _payload(request: web.Request) -> Payload:
    if request.content_type != "multipart/form-data":
        return dict(await request.json())
    return dict(json.loads(str((await request.post())["payload_json"])))


def _as_text(permissions: int | None) -> str | None:
    return None if permissions is None else str(permissions)
