"""A small Discord on a loopback port: REST v10 and gateway v10, enough for a bot that chats.

It keeps what Discord keeps (servers, channels, who may see them, messages), enforces what Discord enforces
(token, intents, lengths, nonces, references), and misbehaves on request: scripted answers, cut connections, held
responses, closed and invalidated sessions, events delivered twice.

Invariant: ids are snowflakes that rise; a bot connects to it from this process or from another one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import WSCloseCode, web

from tests.doubles.discord_gateway import TOKEN, Gateway
from tests.doubles.discord_interactions import Interactions
from tests.doubles.discord_world import (
    DEFAULT_PERMISSIONS,
    DM,
    PRIVATE_THREAD,
    PUBLIC_THREAD,
    START,
    TEXT,
    VIEW_CHANNEL,
    Channel,
    Guild,
    Member,
    Payload,
    application_payload,
    page,
    role_payload,
)

_DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
_PATIENCE = 40.0


@dataclass(kw_only=True)
class Scripted:
    """What to do with the next matching request instead of serving it.

    Attributes:
        status: answer with this status, unless the connection is cut.
        cut: close the connection without an answer.
        served: serve the request all the same; only its answer is lost, or is another one.
    """

    status: int = 500
    body: Payload = field(default_factory=lambda: {"message": "scripted", "code": 0})
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    served: bool = False


class DiscordDouble:
    """See the module. Use it as ``async with DiscordDouble().running() as discord``.

    Attributes:
        bot: the bot's own user.
        gateway: its session, and what can go wrong with it.
        interactions: slash commands.
        sent: the payloads of the messages the bot created, in order, each with its ``id`` and ``channel_id``.
        edits: the payloads by which the bot edited its messages, in order, each with the ``id`` of the message.
        posts: how many requests to create a message arrived, the refused and repeated ones included.
        remembers_nonces: whether a repeated nonce is recognised; Discord forgets one after some minutes.
        typing: the channels in which the bot showed that it writes.
        shards: how many connections it recommends.
    """

    def __init__(self, now: Callable[[], datetime] = lambda: START) -> None:
        self._now = now
        self._count = 0
        self._changed = asyncio.Event()
        self._users: dict[str, Member] = {}
        self._channels: dict[str, Channel] = {}
        self._guilds: list[Guild] = []
        self._scripts: list[tuple[str, re.Pattern[str], Scripted]] = []
        self._hold: asyncio.Event | None = None
        self.bot = self.add_user("Keepsake", bot=True)
        self.gateway = Gateway(self.bot, self._guilds, self._changed)
        self.interactions = Interactions(self.gateway, self.bot, self.snowflake)
        self.sent: list[Payload] = []
        self.edits: list[Payload] = []
        self.posts = 0
        self.remembers_nonces = True
        self.typing: list[str] = []
        self.shards = 1
        self._files: dict[str, bytes] = {}

    # the world

    def snowflake(self) -> str:
        """A new id, stamped with the present time."""
        self._count += 1
        milliseconds = (self._now() - _DISCORD_EPOCH) // timedelta(milliseconds=1)
        return str((milliseconds << 22) + self._count)

    def add_user(self, name: str, *, bot: bool = False) -> Member:
        user = Member(id=self.snowflake(), name=name, bot=bot)
        self._users[user.id] = user
        return user

    def add_guild(self, name: str, *, permissions: int = DEFAULT_PERMISSIONS) -> Guild:
        """A server; ``permissions`` are those of @everyone. The bot has a role of its own, the last one."""
        guild = Guild(id=self.snowflake(), name=name, permissions=permissions)
        guild.roles = [
            role_payload(guild.id, "@everyone", permissions),
            role_payload(self.snowflake(), "Keepsake", 0, {"bot_id": self.bot.id}),
        ]
        self._guilds.append(guild)
        return guild

    def add_channel(
        self, guild: Guild, name: str, *, kind: int = TEXT, hidden: bool = False, hidden_from: str | None = None
    ) -> Channel:
        """A channel of a server: ``hidden`` from @everyone, or ``hidden_from`` one role or member by id."""
        deny = str(VIEW_CHANNEL)
        overwrites = [{"id": guild.id, "type": 0, "allow": "0", "deny": deny}] if hidden else []
        if hidden_from is not None:
            role = any(role["id"] == hidden_from for role in guild.roles)
            overwrites.append({"id": hidden_from, "type": 0 if role else 1, "allow": "0", "deny": deny})
        channel = Channel(id=self.snowflake(), kind=kind, name=name, guild=guild, overwrites=overwrites)
        return self._keep(channel)

    def add_thread(self, parent: Channel, name: str = "thread", *, private: bool = False) -> Channel:
        kind = PRIVATE_THREAD if private else PUBLIC_THREAD
        return self._keep(Channel(id=self.snowflake(), kind=kind, name=name, guild=parent.guild, parent=parent))

    def add_dm(self) -> Channel:
        """A direct chat of the bot with one user."""
        return self._keep(Channel(id=self.snowflake(), kind=DM))

    def forget(self, channel: Channel) -> None:
        """The channel is gone."""
        del self._channels[channel.id]

    def _keep(self, channel: Channel) -> Channel:
        self._channels[channel.id] = channel
        if channel.guild is not None:
            channel.guild.channels.append(channel)
        return channel

    # what users do

    async def post(
        self,
        channel: Channel,
        author: Member,
        text: str,
        *,
        reply_to: str | None = None,
        times: int = 1,
        **extra: Any,
    ) -> str:
        """A user says something; the bot is told ``times`` times. Returns the id of the message.

        ``extra`` is laid over the payload, for example ``webhook_id`` or ``attachments``.
        """
        reference = {"message_id": reply_to, "channel_id": channel.id} if reply_to else None
        payload = self._new_message(channel, author, text, reference)
        payload |= extra
        for _ in range(times):
            await self.gateway.dispatch("MESSAGE_CREATE", payload)
        return str(payload["id"])

    async def edit(self, channel: Channel, message_id: str, text: str, *, edited: bool = True) -> None:
        """A message changes by its author's hand, or, not ``edited``, by Discord's own, as for a link's preview."""
        message = self._find(channel, message_id)
        assert message is not None
        mentions = [self._users[found] for found in re.findall(r"<@!?(\d+)>", text) if found in self._users]
        message |= {"content": text, "mentions": [mentioned.payload() for mentioned in mentions]}
        if edited:
            message["edited_timestamp"] = self._now().isoformat()
        await self.gateway.dispatch("MESSAGE_UPDATE", message)

    async def delete(self, channel: Channel, message_id: str) -> None:
        """A message is deleted, by whomever."""
        channel.messages.remove(next(message for message in channel.messages if message["id"] == message_id))
        guild = {"guild_id": channel.guild.id} if channel.guild is not None else {}
        await self.gateway.dispatch("MESSAGE_DELETE", {"id": message_id, "channel_id": channel.id, **guild})

    async def react(
        self, channel: Channel, message_id: str, user: Member, emoji: str, *, taken_back: bool = False
    ) -> None:
        """A user reacts to a message, or takes that back."""
        where = {"channel_id": channel.id, "message_id": message_id}
        if channel.guild is not None:
            where["guild_id"] = channel.guild.id
        told = {**where, "user_id": user.id, "emoji": {"id": None, "name": emoji}, "type": 0, "burst": False}
        await self.gateway.dispatch("MESSAGE_REACTION_REMOVE" if taken_back else "MESSAGE_REACTION_ADD", told)

    def attachment(self, name: str, content: bytes, **extra: Any) -> Payload:
        """A file, to be posted as one of ``attachments``."""
        file_id = self.snowflake()
        self._files[file_id] = content
        url = f"http://{self._host}/files/{file_id}"
        return {"id": file_id, "filename": name, "size": len(content), "url": url, "proxy_url": url, **extra}

    def _new_message(self, channel: Channel, author: Member, text: str, reference: Payload | None) -> Payload:
        mentions = [self._users[found] for found in re.findall(r"<@!?(\d+)>", text) if found in self._users]
        payload: Payload = {
            "id": self.snowflake(), "channel_id": channel.id, "author": author.payload(), "content": text,
            "timestamp": self._now().isoformat(), "edited_timestamp": None, "tts": False, "type": 0,
            "mention_everyone": False, "mentions": [mentioned.payload() for mentioned in mentions],
            "mention_roles": re.findall(r"<@&(\d+)>", text), "attachments": [], "embeds": [], "pinned": False,
        }  # fmt: skip
        if channel.guild is not None:
            payload |= {"guild_id": channel.guild.id, "member": author.as_guild_member(channel.guild)}
        if reference is not None:
            original = self._find(channel, str(reference["message_id"]))
            payload |= {"type": 19, "message_reference": reference, "referenced_message": original}
            if original is not None and original["author"] not in payload["mentions"]:
                payload["mentions"].append(original["author"])  # a reply mentions unless its author says otherwise
        channel.messages.append(payload)
        return payload

    @staticmethod
    def _find(channel: Channel, message_id: str) -> Payload | None:
        return next((message for message in channel.messages if message["id"] == message_id), None)

    # misbehaviour

    def script(self, method: str, path: str, *answers: Scripted) -> None:
        """Treat the next requests whose path matches the pattern as told, one answer each."""
        self._scripts += [(method, re.compile(path), answer) for answer in answers]

    def hold_messages(self) -> None:
        """From now on keep created messages, but withhold the response until ``release_messages``."""
        self._hold = asyncio.Event()

    def release_messages(self) -> None:
        if self._hold is not None:
            self._hold.set()
            self._hold = None

    # waiting

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is true of this object. Raises TimeoutError if it never is."""
        async with asyncio.timeout(_PATIENCE):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    async def until_scripts_are_used(self) -> None:
        await self.until(lambda: not self._scripts)

    async def until_sent(self, count: int) -> list[Payload]:
        """The messages of the bot, once there are so many."""
        await self.until(lambda: len(self.sent) >= count)
        return self.sent

    async def until_connected(self) -> None:
        await self.until(lambda: self.gateway.connected)

    # serving

    @asynccontextmanager
    async def running(self) -> AsyncIterator[DiscordDouble]:
        """Serve on a free port of 127.0.0.1."""
        app = web.Application()
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_route("*", "/api/v10/{path:.*}", self._rest)
        app.router.add_get("/files/{file}", self._file)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._host = f"127.0.0.1:{runner.addresses[0][1]}"
        self.gateway.url = f"ws://{self._host}/gateway"
        try:
            yield self
        finally:
            self.release_messages()
            await self.gateway.drop(WSCloseCode.GOING_AWAY)
            await runner.cleanup()

    @property
    def api_url(self) -> str:
        return f"http://{self._host}/api/v10"

    @property
    def gateway_url(self) -> str:
        return self.gateway.url

    async def _file(self, request: web.Request) -> web.Response:
        return web.Response(body=self._files[request.match_info["file"]])

    async def _rest(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"]
        scripted = self._take_script(request.method, path)
        creates_message = request.method == "POST" and path.endswith("/messages")
        self.posts += creates_message
        if scripted is not None and not scripted.served:
            response: web.StreamResponse = _json(scripted.body, scripted.status, scripted.headers)
        elif not _by_token_in(path) and request.headers.get("Authorization") != f"Bot {TOKEN}":
            response = _json({"message": "401: Unauthorized", "code": 0}, 401)
        else:
            response = await self._serve(request, path)
            if scripted is not None and scripted.status >= 400:
                response = _json(scripted.body, scripted.status, scripted.headers)
        self._changed.set()
        if creates_message and self._hold is not None:
            await self._hold.wait()
        if scripted is not None and scripted.cut and request.transport is not None:
            request.transport.abort()
        return response

    def _take_script(self, method: str, path: str) -> Scripted | None:
        for entry in self._scripts:
            if entry[0] == method and entry[1].search(path):
                self._scripts.remove(entry)
                return entry[2]
        return None

    async def _serve(self, request: web.Request, path: str) -> web.StreamResponse:
        if path == "/users/@me":
            return _json(self.bot.payload())
        if path == "/gateway/bot":
            limit = {"total": 1_000, "remaining": 1_000, "reset_after": 0, "max_concurrency": 1}
            return _json({"url": self.gateway.url, "shards": self.shards, "session_start_limit": limit})
        if path == "/oauth2/applications/@me":
            return _json(application_payload(self.bot, flags=(1 << 18) * self.gateway.message_content_allowed))
        if path == "/users/@me/guilds":
            return _json(
                [{"id": one.id, "name": one.name, "permissions": str(one.permissions)} for one in self._guilds]
            )
        served = await self.interactions.serve(request, path)
        if served is not None:
            return _json(served)
        return await self._serve_channel(request, path)

    async def _serve_channel(self, request: web.Request, path: str) -> web.StreamResponse:
        if (alone := re.fullmatch(r"/channels/(\d+)", path)) and alone[1] in self._channels:
            return _json(self._channels[alone[1]].payload())
        found = re.fullmatch(r"/channels/(\d+)/(messages|typing)(?:/(\d+))?", path)
        channel = self._channels.get(found[1]) if found else None
        if found is None or channel is None:
            return _json({"message": "Unknown Channel", "code": 10003}, 404)
        if found[2] == "typing":
            self.typing.append(channel.id)
            return web.Response(status=204)
        if found[3] is not None:
            return await self._change_message(channel, found[3], request)
        if request.method == "POST":
            return await self._create_message(channel, await request.json())
        return _json(page(channel.messages, request.query))

    async def _create_message(self, channel: Channel, payload: Payload) -> web.Response:
        text = payload["content"].strip()
        if not text:
            return _json({"message": "Cannot send an empty message", "code": 50006}, 400)
        if len(text) > 2_000:
            return _invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
        repeated = self._sent_with_nonce(channel, payload)
        if repeated is not None:
            return _json(repeated)
        reference = payload.get("message_reference")
        if reference is not None and self._find(channel, str(reference["message_id"])) is None:
            if reference.get("fail_if_not_exists", True):
                return _invalid("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
            reference = None
        message = self._new_message(channel, self.bot, text, reference)
        self.sent.append(payload | {"id": message["id"], "channel_id": channel.id, "stored": message})
        answer = message | {"nonce": payload.get("nonce")}
        await self.gateway.dispatch("MESSAGE_CREATE", answer)
        return _json(answer)

    async def _change_message(self, channel: Channel, message_id: str, request: web.Request) -> web.Response:
        """The bot reads a message, or edits or deletes one of its own."""
        message = self._find(channel, message_id)
        if message is None:
            return _json({"message": "Unknown Message", "code": 10008}, 404)
        if request.method == "GET":
            return _json(message)
        if message["author"]["id"] != self.bot.id:
            return _json({"message": "Missing Permissions", "code": 50013}, 403)
        if request.method == "DELETE":
            channel.messages.remove(message)
            return web.Response(status=204)
        payload = await request.json()
        if not 0 < len(payload["content"].strip()) <= 2_000:
            return _invalid("content", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 2000 in length.")
        message["content"] = payload["content"].strip()
        self.edits.append(payload | {"id": message_id})
        return _json(message)

    def shown(self, channel: Channel) -> list[str]:
        """What the bot's messages in a channel say now, in order."""
        return [message["content"] for message in channel.messages if message["author"]["id"] == self.bot.id]

    def _sent_with_nonce(self, channel: Channel, payload: Payload) -> Payload | None:
        if not (self.remembers_nonces and payload.get("enforce_nonce")):
            return None
        for sent in self.sent:
            if sent["channel_id"] == channel.id and sent["nonce"] == payload["nonce"]:
                return dict(sent["stored"])
        return None


def _by_token_in(path: str) -> bool:
    return path.startswith(("/interactions/", "/webhooks/"))


def _json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    # discord.py reads a body as JSON only if the content type names no character set.
    body_bytes = json.dumps(body).encode()
    return web.Response(body=body_bytes, status=status, headers={**(headers or {}), "Content-Type": "application/json"})


def _invalid(name: str, code: str, message: str) -> web.Response:
    errors = {name: {"_errors": [{"code": code, "message": message}]}}
    return _json({"message": "Invalid Form Body", "code": 50035, "errors": errors}, 400)
