"""Hand-written stand-ins for the seams: clock, token counter, model, embedder and channel."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np

from bot.chat import AttachedFile, Conversation, FileUnreadable, IncomingMessage, OutgoingMessage
from memory.messages import ModelRequest, ModelResponse, Part, StopReason, TextPart, ToolCall, Usage
from memory.ports import OnText, Vectors

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = START) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def advance(self, **span: float) -> None:
        """Move forward by a timedelta given in its own keywords, for example ``minutes=30``."""
        self.time += timedelta(**span)


class WordTokenCounter:
    """One token per word; not calibrated."""

    def count(self, text: str) -> int:
        return len(text.split())

    def calibrated(self, tokens: int) -> int:
        return tokens

    @property
    def calibration(self) -> tuple[float, int]:
        return 1.0, 0

    def resume(self, *, ratio: float, samples: int) -> None:
        pass

    def calibrate(self, *, estimated: int, actual: int) -> None:
        pass


class HashEmbedder:
    """Vectors from hashed words, in constant time: texts that share words are alike."""

    name = "hash-64"
    dimensions = 64

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word, times in Counter(text.lower().split()).items():
                vectors[row, _hashed(word) % self.dimensions] += times
            norm = float(np.linalg.norm(vectors[row]))
            if norm == 0.0:
                vectors[row, 0] = norm = 1.0
            vectors[row] /= norm
        return vectors


@lru_cache(10_000)
def _hashed(word: str) -> int:
    digest = hashlib.blake2b(word.strip(".,:;!?()").encode(errors="replace"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


Answer = str | ToolCall | Sequence[Part] | ModelResponse | Exception
Script = Answer | Callable[[ModelRequest], Answer | Awaitable[Answer]]


# What a model says to memory work that a test is not about.
_ASIDE = {
    "extract_facts": '{"candidates": []}',
    "reconcile_facts": '{"ops": []}',
    "write_episode": '{"summary": "They talked."}',
    "summarize_window": "A digest.",
    "summarize_session": "A summary.",
    "digest_journal": "A digest of the journal.",
}


class ScriptedModel:
    """Answers with what it was given, in order, then with ``default``; keeps every request.

    Args:
        only: the one kind of memory work the script is for; requests for other kinds are answered aside, and not kept.
    """

    name = "scripted"

    def __init__(self, *answers: Script, default: Script = "ok", only: str | None = None) -> None:
        self.answers: list[Script] = list(answers)
        self.default = default
        self.only = only
        self.requests: list[ModelRequest] = []
        self.asked = asyncio.Event()

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        if self.only is not None and (work := request.system[0].name) != self.only:
            parts = (TextPart(text=_ASIDE[work]),)
            return ModelResponse(parts=parts, stop_reason=StopReason.END_TURN, model=self.name)
        self.requests.append(request)
        self.asked.set()
        answer: object = self.answers.pop(0) if self.answers else self.default
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelResponse):
            return answer
        if isinstance(answer, str):
            answer = (TextPart(text=answer),)
        parts = (answer,) if isinstance(answer, ToolCall) else tuple(answer)  # type: ignore[arg-type]  # a Script
        calls = any(isinstance(part, ToolCall) for part in parts)
        if on_text is not None:
            for part in parts:
                if isinstance(part, TextPart):
                    await on_text(part.text)
        stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
        return ModelResponse(
            parts=parts, stop_reason=stop, model=self.name, usage=Usage(input_tokens=100, output_tokens=10)
        )

    async def close(self) -> None:
        pass


class RecordingChannel:
    """A channel adapter that keeps what it was given."""

    def __init__(self, platform: str = "console", *, shows_drafts: bool = False) -> None:
        self.platform = platform
        self.sent: list[OutgoingMessage] = []
        self.there: set[str] = set()  # delivery keys of what an earlier process sent
        self.failures: list[Exception] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.typing_in: list[str] = []
        self.delivered = asyncio.Event()
        self.shows_drafts = shows_drafts
        self.said: list[IncomingMessage] = []  # what the channel's history shows
        self.drafts: list[OutgoingMessage] = []

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        if self.failures:
            raise self.failures.pop(0)
        self.drafts.append(message)
        return (f"draft-{message.delivery_key}",)

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(message)
        self.delivered.set()
        return message.draft or (self.post_of(message),)

    @staticmethod
    def post_of(message: OutgoingMessage) -> str:
        """The id of the post that shows an answer."""
        return f"post-{message.delivery_key}"

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        known = self.there | {sent.delivery_key for sent in self.sent}
        return (message.draft or (self.post_of(message),)) if message.delivery_key in known else None

    async def recent(self, conversation: Conversation, *, limit: int) -> list[IncomingMessage]:
        if self.failures:
            raise self.failures.pop(0)
        return self.said[-limit:]

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        if file.id not in self.files:
            raise FileUnreadable("it was deleted")
        self.fetched.append(file.id)
        return self.files[file.id]

    @asynccontextmanager
    async def typing(self, conversation: Conversation, asked: str) -> AsyncIterator[None]:
        self.typing_in.append(conversation.key)
        yield

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.sent]


class Pauses:
    """A sleep that ends when a test says so.

    Attributes:
        asked: how long each was to last, in seconds.
    """

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._waiting: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        over = asyncio.Event()
        self._waiting.put_nowait(over)
        await over.wait()

    async def end_one(self) -> None:
        """Wait until somebody sleeps, and wake them."""
        (await self._waiting.get()).set()


class WritingModel(ScriptedModel):
    """A model that writes piece by piece: after each it waits until the test calls ``go_on``."""

    def __init__(self, *answers: Script, default: Script = "ok") -> None:
        super().__init__(*answers, default=default)
        self._steps: asyncio.Queue[None] = asyncio.Queue()
        self.wrote = asyncio.Event()

    def go_on(self) -> None:
        """Let it write its next piece, or end."""
        self._steps.put_nowait(None)

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        async def piece_by_piece(text: str) -> None:
            for piece in text.split("|"):
                if on_text is not None:
                    await on_text(piece)
                self.wrote.set()
                await self._steps.get()

        answer = await super().complete(request, on_text=piece_by_piece)
        parts = tuple(
            TextPart(text=part.text.replace("|", "")) if isinstance(part, TextPart) else part for part in answer.parts
        )
        return replace(answer, parts=parts)
