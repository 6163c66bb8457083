"""A Slack workspace on loopback: Web API, Socket Mode and signed HTTP events, for the real client library.

It listens on 127.0.0.1 at a free port, so the bot may run in this process or in another one. Events reach the
bot over the socket it opened (``deliver``) or as signed requests to an address (``deliver_http``).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

TEAM = "T1"
BOT_USER = "U0BOT"
BOT_ID = "B0BOT"
BOT_TOKEN = "xoxb-double"
APP_TOKEN = "xapp-double"
SIGNING_SECRET = "signing-secret-of-the-double"

_PATIENCE = 40.0
_FIRST_TS = 1_772_442_000
_RESPONSES = 5


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call the bot made."""

    method: str
    params: Mapping[str, Any]


@dataclass(kw_only=True)
class Delivery:
    """An event on its way; ``acked`` is set once the bot acknowledged it."""

    envelope_id: str
    acked: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        async with asyncio.timeout(_PATIENCE):
            await self.acked.wait()


@dataclass(kw_only=True)
class Hold:
    """A method held back: ``arrived`` is set when a call came, which is answered once ``release`` is called."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        self.released.set()


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """What a method answers once instead of its usual answer.

    With ``after`` the call takes effect first; with ``status`` 0 the connection is cut instead of an answer.
    """

    status: int = 200
    body: Mapping[str, Any] | str = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False


@dataclass(kw_only=True)
class UploadedFile:
    """A file the bot uploads; ``channel`` is where it was shared, once it was."""

    name: str
    length: int
    content: bytes = b""
    channel: str | None = None


@dataclass(kw_only=True)
class SharedFile:
    """A file that somebody shared; ``moved_to`` is where a request for it is sent on to."""

    payload: dict[str, Any]
    content: bytes
    readable: bool = True
    moved_to: str | None = None


def error(code: str, *, after: bool = False) -> Scripted:
    """Slack's own way to say no."""
    return Scripted(body={"ok": False, "error": code}, after=after)


def rate_limited(seconds: int) -> Scripted:
    """Too many calls; try again after so many seconds."""
    return Scripted(status=429, body={"ok": False, "error": "ratelimited"}, headers={"Retry-After": str(seconds)})


def cut(*, after: bool = False) -> Scripted:
    """The connection breaks before (or, with ``after``, after) the call took effect."""
    return Scripted(status=0, after=after)


def server_error(*, after: bool = False) -> Scripted:
    """A proxy's error page."""
    return Scripted(status=502, body="<html>bad gateway</html>", after=after)


def signed(body: bytes, *, secret: str = SIGNING_SECRET, at: float | None = None) -> dict[str, str]:
    """The headers by which Slack signs a request.

    Args:
        body: what is sent.
        secret: the app's signing secret.
        at: when it was signed, in seconds since 1970. The verifier reads the machine's clock, so the default
            does as well.
    """
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={digest}",
    }


def _blocks_fit(message: Mapping[str, Any]) -> bool:
    texts = [block["text"]["text"] for block in message.get("blocks", ()) if block["type"] == "section"]
    return len(texts) <= 50 and all(0 < len(text) <= 3_000 for text in texts) and sum(map(len, texts)) <= 13_200


def elements_of(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What can be clicked on in a message or view."""
    return [element for block in shown["blocks"] if block["type"] == "actions" for element in block["elements"]]


def buttons_of(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Its buttons."""
    return [element for element in elements_of(shown) if element["type"] == "button"]


def label_of(element: Mapping[str, Any]) -> str:
    """What is written on a button or option."""
    return str(element["text"]["text"])


def _is_since(message: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    """Whether a message is not before ``oldest``; one of just then is in question alone."""
    oldest = params.get("oldest", "")
    return bool(message["ts"] > oldest or (message["ts"] == oldest and params.get("inclusive") in ("1", "true", True)))


def _view_of(params: Mapping[str, Any]) -> dict[str, Any]:
    view = params["view"]
    return dict(json.loads(view)) if isinstance(view, str) else dict(view)


class SlackDouble:
    """The workspace. Use as ``async with SlackDouble() as slack``."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.users: dict[str, dict[str, Any]] = {}
        self.channels: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.scopes: str | None = None
        self.responses: list[dict[str, Any]] = []
        self.ephemeral: list[dict[str, Any]] = []
        self.streaming: set[str] = set()
        self.reactions: list[tuple[str, str, str]] = []
        self.files: dict[str, UploadedFile] = {}
        self.shared: dict[str, SharedFile] = {}
        self.file_requests: list[str] = []
        self.homes: dict[str, dict[str, Any]] = {}
        self.forms: list[dict[str, Any]] = []
        self.connections = 0
        self._scripts: dict[str, deque[Scripted]] = defaultdict(deque)
        self._holds: dict[str, Hold] = {}
        self._sockets: list[web.WebSocketResponse] = []
        self._tickets: set[str] = set()
        self._sockets_to_refuse = 0
        self._deliveries: dict[str, Delivery] = {}
        self._changed = asyncio.Condition()
        self._numbers = count(1)
        self.first_ts = _FIRST_TS
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._answer)
        app.router.add_get("/socket", self._socket)
        app.router.add_post("/response/{number}", self._take_response)
        app.router.add_post("/upload/{file}", self._take_file)
        app.router.add_get("/files/{file}", self._give_file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for hold in self._holds.values():
            hold.release()
        await self.drop()
        assert self._runner is not None
        await self._runner.cleanup()

    # --- the workspace

    @property
    def api_url(self) -> str:
        return f"{self.root_url}/api/"

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def add_user(self, user: str, name: str, **flags: Any) -> None:
        """Somebody of the workspace; flags such as ``is_admin`` or ``is_restricted`` as ``users.info`` shows them."""
        profile = {"display_name": name}
        self.users[user] = {"id": user, "team_id": TEAM, "name": name.lower(), "profile": profile, **flags}

    def add_channel(self, channel: str, **flags: bool) -> None:
        """A channel, public unless flags (``is_private``, ``is_im``, ``is_mpim``, ``is_ext_shared``) say otherwise."""
        self.channels[channel] = {"id": channel, "is_private": False, **flags}

    def share(self, name: str, content: bytes, mimetype: str = "text/plain", **fields: Any) -> dict[str, Any]:
        """Somebody's file, to be posted as one of ``files``. ``fields`` are laid over what ``files.info`` tells."""
        file = f"F{next(self._numbers)}"
        address = f"{self.root_url}/files/{file}"
        payload = {"id": file, "name": name, "mimetype": mimetype, "size": len(content), "url_private": address}
        self.shared[file] = SharedFile(payload=payload | fields, content=content)
        return {key: value for key, value in payload.items() if key != "url_private"}

    def message(self, user: str, channel: str, text: str, **fields: Any) -> dict[str, Any]:
        """A person posts; the ``message`` event of it, to be delivered. ``fields`` are added to the event."""
        event = {
            "type": "message",
            "user": user,
            "channel": channel,
            "text": text,
            "ts": self._next_ts(),
            "team": TEAM,
            **fields,
        }
        self.messages[channel].append(event)
        return event

    def edit(self, post: dict[str, Any], text: str, **fields: Any) -> dict[str, Any]:
        """Somebody edits a post; the event of it, to be delivered. ``fields`` are added to the post."""
        before, ts = dict(post), self._next_ts()
        if text != post["text"]:
            fields["edited"] = {"user": post["user"], "ts": ts}
        post |= {"text": text, **fields}
        return self._changed_message("message_changed", post, before, ts, message=dict(post))

    def delete(self, post: dict[str, Any], *, tombstone: bool = False) -> dict[str, Any]:
        """Somebody deletes a post; the event of it. With a ``tombstone`` it began a thread, which is still there."""
        posts, ts = self.messages[post["channel"]], self._next_ts()
        if not tombstone:
            posts.remove(post)
            return self._changed_message("message_deleted", post, post, ts, deleted_ts=post["ts"])
        stone = {"type": "message", "subtype": "tombstone", "text": "This message was deleted.", "ts": post["ts"]}
        posts[posts.index(post)] = stone
        return self._changed_message("message_changed", post, post, ts, message=stone)

    def react(self, user: str, post: Mapping[str, Any], name: str, *, taken_back: bool = False) -> dict[str, Any]:
        """A person reacts to a post, or takes that back; the event of it, to be delivered."""
        item = {"type": "message", "channel": post["channel"], "ts": post["ts"]}
        kind = "reaction_removed" if taken_back else "reaction_added"
        return {"type": kind, "user": user, "reaction": name, "item": item, "event_ts": self._next_ts()}

    @staticmethod
    def _changed_message(
        subtype: str, post: Mapping[str, Any], before: Mapping[str, Any], ts: str, **fields: Any
    ) -> dict[str, Any]:
        told = {"type": "message", "subtype": subtype, "hidden": True, "channel": post["channel"], "ts": ts}
        return {**told, "event_ts": ts, "previous_message": dict(before), **fields}

    def posts(self, channel: str | None = None) -> list[dict[str, Any]]:
        """What the bot posted, in order."""
        found = [post for posts in self.messages.values() for post in posts if post.get("bot_id") == BOT_ID]
        return sorted((post for post in found if channel in (None, post["channel"])), key=lambda post: post["ts"])

    def called(self, method: str) -> list[Mapping[str, Any]]:
        """The parameters of every call of a method."""
        return [call.params for call in self.calls if call.method == method]

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on this double holds; it is looked at after every call, ack and connection."""
        async with asyncio.timeout(_PATIENCE), self._changed:
            await self._changed.wait_for(condition)

    async def wait_for_posts(self, number: int) -> list[dict[str, Any]]:
        """Wait until the bot has posted so many messages."""
        await self.wait_for(lambda: len(self.posts()) >= number)
        return self.posts()

    # --- trouble

    def script(self, method: str, *answers: Scripted) -> None:
        """Answer the next calls of a method like this."""
        self._scripts[method].extend(answers)

    def hold(self, method: str) -> Hold:
        """Take no call of this method from now on until it is released."""
        self._holds[method] = Hold()
        return self._holds[method]

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask the bot to connect anew, as Slack does every few hours."""
        await self._sockets[-1].send_json({"type": "disconnect", "reason": reason})

    async def drop(self) -> None:
        """Break every connection."""
        for socket in list(self._sockets):
            await socket.close()

    def refuse_sockets(self, number: int) -> None:
        """Answer the next attempts to connect with an error; their addresses are used up by it."""
        self._sockets_to_refuse = number

    # --- events

    def envelope(self, event: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """The outer envelope of an event. ``fields`` (``event_id``, ``is_ext_shared_channel``) are added."""
        return {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": "A1",
            "event_id": f"Ev{next(self._numbers)}",
            "event_time": _FIRST_TS,
            "event": event,
            "authorizations": [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}],
            **fields,
        }

    async def deliver(self, event: Mapping[str, Any], *, retry_attempt: int = 0, **fields: Any) -> Delivery:
        """Send an event over the newest socket."""
        return await self.deliver_payload("events_api", self.envelope(event, **fields), retry_attempt=retry_attempt)

    async def deliver_payload(self, kind: str, payload: Mapping[str, Any], **extra: Any) -> Delivery:
        """Send any payload (``slash_commands``, ``interactive``, ``events_api``) over the newest socket."""
        delivery = Delivery(envelope_id=f"envelope-{next(self._numbers)}")
        self._deliveries[delivery.envelope_id] = delivery
        await self._sockets[-1].send_json(
            {
                "envelope_id": delivery.envelope_id,
                "type": kind,
                "payload": payload,
                "accepts_response_payload": kind != "events_api",
                **extra,
            }
        )
        return delivery

    async def deliver_http(self, url: str, body: Mapping[str, Any], **headers: str) -> tuple[int, str]:
        """Send a signed request; the status and text of the answer. ``headers`` override."""
        data = json.dumps(body).encode()
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=data, headers={**signed(data), **headers}) as response,
        ):
            return response.status, await response.text()

    async def deliver_form(self, url: str, fields: Mapping[str, str]) -> tuple[int, str]:
        """Send a signed form, as Slack sends slash commands and the presses of buttons over HTTP."""
        data = urlencode(fields).encode()
        headers = {**signed(data), "Content-Type": "application/x-www-form-urlencoded"}
        async with aiohttp.ClientSession() as session, session.post(url, data=data, headers=headers) as response:
            return response.status, await response.text()

    def slash(self, user: str, channel: str, text: str, **fields: str) -> dict[str, str]:
        """What Slack sends for a slash command, ``/memory view``."""
        command, _, rest = text.partition(" ")
        return {
            "token": "t",
            "team_id": TEAM,
            "channel_id": channel,
            "user_id": user,
            "user_name": user.lower(),
            "command": command,
            "text": rest,
            "api_app_id": "A1",
            "response_url": self._response_url(),
            "trigger_id": "1.2",
            **fields,
        }

    def press(self, user: str, channel: str, shown: Mapping[str, Any], label: str | None = None) -> dict[str, Any]:
        """What Slack sends when somebody presses a button of a message: the only one, or that of a label."""
        [button] = elements_of(shown) if label is None else [one for one in buttons_of(shown) if label_of(one) == label]
        return {
            "type": "block_actions",
            "team": {"id": TEAM, "domain": "double"},
            "user": {"id": user, "team_id": TEAM},
            "channel": {"id": channel},
            "container": {"type": "message", "channel_id": channel, "is_ephemeral": True},
            "actions": [{"type": "button", "action_id": button["action_id"], "value": button["value"]}],
            "response_url": self._response_url(),
            "trigger_id": "1.3",
        }

    async def connected(self, number: int = 1) -> None:
        """Wait until the bot has connected so often."""
        await self.wait_for(lambda: self.connections >= number)

    # --- inside

    def _response_url(self) -> str:
        return f"{self.root_url}/response/{next(self._numbers)}"

    async def _take_response(self, request: web.Request) -> web.Response:
        """An address of this kind takes five messages."""
        answer = {**await request.json(), "url": str(request.url)}
        if script := self._scripts["response_url"].popleft() if self._scripts["response_url"] else None:
            return self._scripted(script, request)
        if sum(taken["url"] == answer["url"] for taken in self.responses) >= _RESPONSES:
            return web.Response(status=404, text="used_url")
        if not _blocks_fit(answer):
            return web.Response(status=400, text="invalid_blocks")
        self.responses.append(answer)
        await self._notify()
        return web.Response(text="ok")

    async def _give_file(self, request: web.Request) -> web.Response:
        """A file for those who show the token; a login page for the others."""
        file = self.shared[request.match_info["file"]]
        self.file_requests.append(request.headers.get("Authorization", ""))
        if file.moved_to is not None:
            return web.Response(status=302, headers={"Location": file.moved_to})
        if request.headers.get("Authorization") != f"Bearer {BOT_TOKEN}" or not file.readable:
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        return web.Response(body=file.content, content_type=file.payload["mimetype"] or "application/octet-stream")

    async def _take_file(self, request: web.Request) -> web.Response:
        file = self.files[request.match_info["file"]]
        file.content = await request.read()
        return web.Response(status=200 if len(file.content) == file.length else 400)

    def _next_ts(self) -> str:
        return f"{self.first_ts + next(self._numbers)}.000100"

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        params = await request.json() if request.content_type == "application/json" else await request.post()
        params = {**request.query, **params}
        self.calls.append(Call(method=method, params=params))
        if hold := self._holds.get(method):
            hold.arrived.set()
            await hold.released.wait()
        script = self._scripts[method].popleft() if self._scripts[method] else None
        answer: Mapping[str, Any] | str = {}
        if script is None or script.after:
            answer = self._act(method, params, request)
        await self._notify()
        if script is None:
            headers = {"x-oauth-scopes": self.scopes} if self.scopes is not None else None
            return web.json_response(answer, headers=headers)
        return self._scripted(script, request)

    @staticmethod
    def _scripted(script: Scripted, request: web.Request) -> web.Response:
        if script.status == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if isinstance(script.body, str):
            return web.Response(
                status=script.status, text=script.body, content_type="text/html", headers=script.headers
            )
        return web.json_response(script.body, status=script.status, headers=script.headers)

    def _act(self, method: str, params: Mapping[str, Any], request: web.Request) -> dict[str, Any]:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token != (APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN):
            return {"ok": False, "error": "invalid_auth" if token else "not_authed"}
        actions: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "auth.test": self._auth_test,
            "apps.connections.open": self._open_connection,
            "chat.postMessage": self._post_message,
            "views.open": self._open_form,
            "views.publish": self._publish_home,
            "chat.postEphemeral": self._post_ephemeral,
            "chat.update": self._update,
            "assistant.threads.setStatus": lambda params: {},
            "reactions.add": self._react,
            "reactions.remove": self._take_reaction_back,
            "chat.startStream": self._start_stream,
            "chat.appendStream": self._append_stream,
            "chat.stopStream": self._stop_stream,
            "conversations.info": self._channel_info,
            "files.info": self._file_info,
            "conversations.history": self._history,
            "conversations.replies": self._replies,
            "conversations.open": self._open_dm,
            "files.completeUploadExternal": self._share_file,
            "files.getUploadURLExternal": self._announce_file,
            "users.info": self._user_info,
            "users.conversations": self._conversations,
        }
        if method not in actions:
            return {"ok": False, "error": "unknown_method"}
        return {"ok": True, **actions[method](params)}

    def _auth_test(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "url": "https://double.slack.com/",
            "team": "Double",
            "team_id": TEAM,
            "user": "keepsake",
            "user_id": BOT_USER,
            "bot_id": BOT_ID,
        }

    def _open_connection(self, _: Mapping[str, Any]) -> dict[str, Any]:
        ticket = str(next(self._numbers))
        self._tickets.add(ticket)
        return {"url": f"ws://127.0.0.1:{self._port}/socket?ticket={ticket}"}

    def _post_message(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = params["channel"]
        if self.channels.get(channel, {}).get("is_archived"):
            return {"ok": False, "error": "is_archived"}
        if channel not in self.channels:
            return {"ok": False, "error": "channel_not_found"}
        if not params.get("text"):
            return {"ok": False, "error": "no_text"}
        post = {
            "type": "message",
            "user": BOT_USER,
            "bot_id": BOT_ID,
            "channel": channel,
            "text": params["text"],
            "ts": self._next_ts(),
            **{name: params[name] for name in ("thread_ts", "metadata", "blocks") if params.get(name)},
        }
        self.messages[channel].append(post)
        return {"channel": channel, "ts": post["ts"], "message": post}

    def _open_form(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self.forms.append(_view_of(params))
        return {"view": {"id": f"V{next(self._numbers)}"}}

    def _publish_home(self, params: Mapping[str, Any]) -> dict[str, Any]:
        view = _view_of(params)
        if len(view["blocks"]) > 100:
            return {"ok": False, "error": "invalid_arguments"}
        self.homes[params["user_id"]] = view
        return {"view": {"id": f"V{next(self._numbers)}"}}

    def _react(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self.reactions.append((params["channel"], params["timestamp"], params["name"]))
        return {}

    def _take_reaction_back(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self.reactions.remove((params["channel"], params["timestamp"], params["name"]))
        return {}

    def _own(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        return next((post for post in self.posts(params["channel"]) if post["ts"] == params["ts"]), None)

    def _update(self, params: Mapping[str, Any]) -> dict[str, Any]:
        post = self._own(params)
        if post is None:
            return {"ok": False, "error": "message_not_found"}
        if len(params["text"]) > 4_000:
            return {"ok": False, "error": "msg_too_long"}
        post |= {"text": params["text"], "metadata": params.get("metadata")}
        self.streaming.discard(post["ts"])
        return {"channel": params["channel"], "ts": post["ts"], "text": post["text"]}

    def _start_stream(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = self.channels.get(params["channel"], {})
        if not params.get("thread_ts"):
            return {"ok": False, "error": "invalid_thread_ts"}
        if not channel.get("is_im") and not (params.get("recipient_user_id") and params.get("recipient_team_id")):
            return {"ok": False, "error": "missing_recipient_user_id"}
        answer = self._post_message({**params, "text": params.get("markdown_text") or "\u200b"})
        self.streaming.add(answer.get("ts", ""))
        return answer

    def _append_stream(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Text is added as it is: what Slack would show of the Markdown is not modelled."""
        post = self._own(params)
        if post is None or post["ts"] not in self.streaming:
            return {"ok": False, "error": "message_not_in_streaming_state"}
        if len(params.get("markdown_text") or "") > 12_000:
            return {"ok": False, "error": "msg_too_long"}
        post["text"] += params.get("markdown_text") or ""
        return {"channel": params["channel"], "ts": post["ts"]}

    def _stop_stream(self, params: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._append_stream(params)
        if post := self._own(params) if "error" not in answer else None:
            self.streaming.remove(post["ts"])
            post["metadata"] = params.get("metadata")
        return answer

    def _post_ephemeral(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if params["channel"] not in self.channels:
            return {"ok": False, "error": "channel_not_found"}
        if params["user"] not in self.users:
            return {"ok": False, "error": "user_not_in_channel"}
        self.ephemeral.append(dict(params))
        return {"message_ts": self._next_ts()}

    def _announce_file(self, params: Mapping[str, Any]) -> dict[str, Any]:
        file = f"F{next(self._numbers)}"
        self.files[file] = UploadedFile(name=params["filename"], length=int(params["length"]))
        return {"upload_url": f"{self.root_url}/upload/{file}", "file_id": file}

    def _share_file(self, params: Mapping[str, Any]) -> dict[str, Any]:
        shared = json.loads(params["files"]) if isinstance(params["files"], str) else params["files"]
        channel = params["channel_id"]
        for each in shared:
            self.files[each["id"]].channel = channel
            post = {"user": BOT_USER, "bot_id": BOT_ID, "channel": channel, "ts": self._next_ts(), "text": ""}
            self.messages[channel].append({**post, "files": [each]})
        return {"files": shared}

    def _channel_info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = self.channels.get(params["channel"])
        return {"channel": channel} if channel else {"ok": False, "error": "channel_not_found"}

    def _conversations(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"channels": [channel for channel in self.channels.values() if channel.get("is_member")]}

    def _file_info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        file = self.shared.get(params["file"])
        return {"file": file.payload} if file else {"ok": False, "error": "file_not_found"}

    def _user_info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        user = self.users.get(params["user"])
        return {"user": user} if user else {"ok": False, "error": "user_not_found"}

    def _open_dm(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = f"D{params['users']}"
        self.add_channel(channel, is_im=True, is_private=True)
        return {"channel": {"id": channel}}

    def _history(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Newest first; replies in threads do not stand here."""
        messages = [
            message
            for message in self.messages[params["channel"]]
            if message.get("thread_ts") in (None, message["ts"]) and _is_since(message, params)
        ]
        messages = [message | self._thread_of(params["channel"], message["ts"]) for message in messages]
        return self._page(sorted(messages, key=lambda message: message["ts"], reverse=True), params)

    def _thread_of(self, channel: str, root: str) -> dict[str, Any]:
        """What the message that began a thread tells of it."""
        replies = [message["ts"] for message in self.messages[channel] if message.get("thread_ts") == root]
        replies = [ts for ts in replies if ts != root]
        return {"thread_ts": root, "reply_count": len(replies), "latest_reply": max(replies)} if replies else {}

    def _replies(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Oldest first; the message that began the thread stands first whatever ``oldest`` says."""
        root = params["ts"]
        thread = [
            message
            for message in self.messages[params["channel"]]
            if message["ts"] == root or (message.get("thread_ts") == root and _is_since(message, params))
        ]
        return self._page(thread, params) if thread else {"ok": False, "error": "thread_not_found"}

    @staticmethod
    def _page(messages: list[dict[str, Any]], params: Mapping[str, Any]) -> dict[str, Any]:
        start, limit = int(params.get("cursor") or 0), int(params.get("limit", 100))
        page = messages[start : start + limit]
        if params.get("include_all_metadata") not in ("1", "true", 1, True):
            page = [{name: value for name, value in message.items() if name != "metadata"} for message in page]
        more = start + limit < len(messages)
        cursor = {"response_metadata": {"next_cursor": str(start + limit)}} if more else {}
        return {"messages": page, "has_more": more, **cursor}

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        """An address serves once, as Slack's do."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden
        self._tickets.remove(ticket)
        if self._sockets_to_refuse:
            self._sockets_to_refuse -= 1
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        self._sockets.append(socket)
        self.connections += 1
        await self._notify()
        try:
            async for frame in socket:
                answer = json.loads(frame.data)
                if delivery := self._deliveries.get(answer.get("envelope_id")):
                    delivery.acked.set()
                    await self._notify()
        finally:
            self._sockets.remove(socket)
        return socket
