"""The gateway of the loopback Discord: one bot's session, its events, and what its intents let it see."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

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


@dataclass(kw_only=True)
class _Session:
    """One shard's session: the events it was sent, and its socket while there is one."""

    id: str
    shard: tuple[int, int]
    intents: int
    socket: web.WebSocketResponse | None
    events: list[Payload] = field(default_factory=list)

    def hears(self, guild_id: str | None) -> bool:
        number, count = self.shard
        return (int(guild_id or 0) >> 22) % count == number


class Gateway:
    """Speaks gateway v10 with the bot.

    Attributes:
        url: its own address.
        identified: the intents of each IDENTIFY.
        resumed: how many sessions were resumed.
        message_content_allowed: the message content intent's switch in the developer portal.
        heartbeat_interval: how often the next bot is to send a heartbeat, in milliseconds.
        answers_heartbeats: whether it shows that it lives.
        close_identify_with: refuse the next bot with this close code.
        refuses: how many of the next connections it does not take at all.
    """

    def __init__(self, bot: Member, guilds: list[Guild], changed: asyncio.Event) -> None:
        self._bot = bot
        self._guilds = guilds
        self._changed = changed
        self._sessions: dict[int, _Session] = {}  # by shard
        self._begun = 0
        self.url = ""
        self.identified: list[int] = []
        self.resumed = 0
        self.message_content_allowed = True
        self.heartbeat_interval = 45_000
        self.answers_heartbeats = True
        self.close_identify_with: int | None = None
        self.refuses = 0

    @property
    def connected(self) -> bool:
        return any(session.socket is not None for session in self._sessions.values())

    async def drop(self, code: int = 4000, *, shard: int | None = None) -> None:
        """Close the gateway's socket, or that of one shard; the session can be resumed, and events keep for it."""
        for session in self._of(shard):
            socket, session.socket = session.socket, None
            if socket is not None:
                await socket.close(code=code)

    async def lose_session(self, *, shard: int | None = None) -> None:
        """Close the gateway's socket, or one shard's; what happens until the bot is back is never told to it."""
        for session in self._of(shard):
            session.id += "-lost"
        await self.drop(shard=shard)

    def _of(self, shard: int | None) -> list[_Session]:
        return [session for number, session in self._sessions.items() if shard in (None, number)]

    async def repeat_ready(self) -> None:
        """Announce everything anew, as after a session that was lost."""
        for session in self._sessions.values():
            await self._announce(session)

    async def _announce(self, session: _Session) -> None:
        await self._send(session, "READY", self._ready(session))
        for guild in self._guilds:
            if session.hears(guild.id) and not guild.has_outage:
                await self._send(session, "GUILD_CREATE", guild_payload(guild, self._bot))

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.refuses:
            self.refuses -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": self.heartbeat_interval}, "s": None, "t": None})
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                await self._receive(socket, json.loads(frame.data))
        for session in self._sessions.values():
            if session.socket is socket:
                session.socket = None
        self._changed.set()
        return socket

    async def _receive(self, socket: web.WebSocketResponse, frame: Payload) -> None:
        if frame["op"] == 1 and self.answers_heartbeats:
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
        number, count = identity.get("shard", (0, 1))
        self._begun += 1
        session = _Session(id=str(self._begun), shard=(number, count), intents=identity["intents"], socket=socket)
        self._sessions[number] = session
        await self._announce(session)

    async def _resume(self, socket: web.WebSocketResponse, resume: Payload) -> None:
        known = [session for session in self._sessions.values() if session.id == resume["session_id"]]
        if not known:
            await socket.send_json({"op": 9, "d": False, "s": None, "t": None})
            return
        for event in known[0].events[resume["seq"] :]:
            await socket.send_json(event)
        known[0].socket = socket
        self.resumed += 1
        await self._send(known[0], "RESUMED", {})

    async def dispatch(self, event: str, payload: Payload) -> None:
        """Send an event to the bot, or keep it for when it resumes; only what its intents allow."""
        guild_id = payload.get("guild_id") or (payload.get("id") if event.startswith("GUILD_") else None)
        for session in self._sessions.values():
            if session.hears(guild_id):
                await self._tell(session, event, payload)
        self._changed.set()

    async def _tell(self, session: _Session, event: str, payload: Payload) -> None:
        if event in _WANTED:
            in_guild, in_dm = _WANTED[event]
            if not session.intents & (in_guild if "guild_id" in payload else in_dm):
                return
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            payload = self._redacted(payload, session.intents)
        await self._send(session, event, payload)

    async def _send(self, session: _Session, event: str, payload: Payload) -> None:
        frame = {"op": 0, "t": event, "s": len(session.events) + 1, "d": payload}
        session.events.append(frame)
        if session.socket is not None and not session.socket.closed:
            await session.socket.send_json(frame)
        self._changed.set()

    def _redacted(self, message: Payload, intents: int) -> Payload:
        """Without the message content intent, text is shown only in direct chats and where the bot is mentioned."""
        mentioned = any(user["id"] == self._bot.id for user in message["mentions"])
        own = message["author"]["id"] == self._bot.id
        if intents & _MESSAGE_CONTENT or "guild_id" not in message or mentioned or own:
            return message
        return message | {"content": "", "attachments": [], "embeds": []}

    def _ready(self, session: _Session) -> Payload:
        return {
            "v": 10, "user": self._bot.payload(), "session_id": session.id, "shard": list(session.shard),
            "resume_gateway_url": self.url,
            "guilds": [{"id": guild.id, "unavailable": True} for guild in self._guilds if session.hears(guild.id)],
            "application": {"id": self._bot.id, "flags": 0},
        }  # fmt: skip
