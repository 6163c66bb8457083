"""The gateway of the loopback Discord: one bot's session, its events, and what its intents let it see."""

from __future__ import annotations

import asyncio
import json

from aiohttp import WSMsgType, web

from tests.doubles.discord_world import Guild, Member, Payload, guild_payload

TOKEN = "discord-token"

_GUILD_MESSAGES, _DM_MESSAGES, _MESSAGE_CONTENT = 1 << 9, 1 << 12, 1 << 15
_GUILD_REACTIONS, _DM_REACTIONS = 1 << 10, 1 << 13
_WANTED = {
    "MESSAGE_CREATE": (_GUILD_MESSAGES, _DM_MESSAGES),
    "MESSAGE_UPDATE": (_GUILD_MESSAGES, _DM_MESSAGES),
    "MESSAGE_REACTION_ADD": (_GUILD_REACTIONS, _DM_REACTIONS),
    "MESSAGE_REACTION_REMOVE": (_GUILD_REACTIONS, _DM_REACTIONS),
}


class Gateway:
    """Speaks gateway v10 with the bot.

    Attributes:
        url: its own address.
        identified: the intents of each IDENTIFY.
        resumed: how many sessions were resumed.
        message_content_allowed: the message content intent's switch in the developer portal.
        close_identify_with: refuse the next bot with this close code.
    """

    def __init__(self, bot: Member, guilds: list[Guild], changed: asyncio.Event) -> None:
        self._bot = bot
        self._guilds = guilds
        self._changed = changed
        self._sockets: list[web.WebSocketResponse] = []
        self._session = 0
        self._intents = 0
        self._events: list[Payload] = []
        self.url = ""
        self.identified: list[int] = []
        self.resumed = 0
        self.message_content_allowed = True
        self.close_identify_with: int | None = None

    @property
    def connected(self) -> bool:
        return bool(self._sockets)

    async def drop(self, code: int = 4000) -> None:
        """Close the gateway's socket; the session can be resumed, and events keep for it."""
        sockets, self._sockets = self._sockets, []
        for socket in sockets:
            await socket.close(code=code)

    async def repeat_ready(self) -> None:
        """Announce everything anew, as after a session that was lost."""
        await self.dispatch("READY", self._ready())
        for guild in self._guilds:
            await self.dispatch("GUILD_CREATE", guild_payload(guild, self._bot))

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 45_000}, "s": None, "t": None})
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                await self._receive(socket, json.loads(frame.data))
        if socket in self._sockets:
            self._sockets.remove(socket)
        self._changed.set()
        return socket

    async def _receive(self, socket: web.WebSocketResponse, frame: Payload) -> None:
        if frame["op"] == 1:
            await socket.send_json({"op": 11, "d": None, "s": None, "t": None})
        elif frame["op"] == 2:
            await self._identify(socket, frame["d"])
        elif frame["op"] == 6:
            await self._resume(socket, frame["d"])

    async def _identify(self, socket: web.WebSocketResponse, identity: Payload) -> None:
        self.identified.append(identity["intents"])
        code = self.close_identify_with
        if identity["token"] != TOKEN:
            code = 4004
        elif identity["intents"] & _MESSAGE_CONTENT and not self.message_content_allowed:
            code = 4014
        if code is not None:
            await socket.close(code=code)
            return
        self._session, self._events, self._intents = self._session + 1, [], identity["intents"]
        self._sockets.append(socket)
        await self.repeat_ready()

    async def _resume(self, socket: web.WebSocketResponse, resume: Payload) -> None:
        if resume["session_id"] != str(self._session):
            await socket.send_json({"op": 9, "d": False, "s": None, "t": None})
            return
        for event in self._events[resume["seq"] :]:
            await socket.send_json(event)
        self._sockets.append(socket)
        self.resumed += 1
        await self.dispatch("RESUMED", {})

    async def dispatch(self, event: str, payload: Payload) -> None:
        """Send an event to the bot, or keep it for when it resumes; only what its intents allow."""
        if event in _WANTED:
            in_guild, in_dm = _WANTED[event]
            if not self._intents & (in_guild if "guild_id" in payload else in_dm):
                return
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            payload = self._redacted(payload)
        frame = {"op": 0, "t": event, "s": len(self._events) + 1, "d": payload}
        self._events.append(frame)
        if self._sockets and not self._sockets[-1].closed:
            await self._sockets[-1].send_json(frame)
        self._changed.set()

    def _redacted(self, message: Payload) -> Payload:
        """Without the message content intent, text is shown only in direct chats and where the bot is mentioned."""
        mentioned = any(user["id"] == self._bot.id for user in message["mentions"])
        own = message["author"]["id"] == self._bot.id
        if self._intents & _MESSAGE_CONTENT or "guild_id" not in message or mentioned or own:
            return message
        return message | {"content": "", "attachments": [], "embeds": []}

    def _ready(self) -> Payload:
        return {
            "v": 10, "user": self._bot.payload(), "session_id": str(self._session),
            "resume_gateway_url": self.url,
            "guilds": [{"id": guild.id, "unavailable": True} for guild in self._guilds],
            "application": {"id": self._bot.id, "flags": 0},
        }  # fmt: skip
