"""What stands in for the outside world: a model that answers at once, and a channel that leads nowhere."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from time import perf_counter

import numpy as np
from synthetic_history import text

from bot.chat import AttachedFile, Conversation, FileUnreadable, IncomingMessage, OutgoingMessage
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart, Usage
from memory.ports import OnText, Vectors

_WORD = re.compile(r"\w+")
_TEXTS = 512


class InstantModel:
    """Answers with a text like those of the history, and finds nothing where it is asked for a list."""

    name = "instant"

    def __init__(self) -> None:
        draw = random.Random(3)
        self._texts = cycle([text(draw) for _ in range(_TEXTS)])  # made beforehand: what that takes is not measured

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """An answer, with token counts as a service would give them."""
        return ModelResponse(
            parts=(TextPart(text=self._answer(request)),),
            stop_reason=StopReason.END_TURN,
            model=self.name,
            usage=Usage(input_tokens=4_000, output_tokens=60),
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _answer(self, request: ModelRequest) -> str:
        if request.answer_schema is None:
            return next(self._texts)
        return json.dumps(dict.fromkeys(request.answer_schema["properties"], ()))


class ConstantEmbedder:
    """A vector by the hash of the text, in no time: what is measured is everything but the embedder."""

    name = "constant"
    dimensions = 384

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimensions), of length 1."""
        rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimensions) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.dimensions)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class WordEmbedder:
    """A direction for each word, in no time: texts are alike by the words that they share."""

    name = "words"
    dimensions = 384

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimensions), of length 1."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, one in enumerate(texts):
            for word in _WORD.findall(one.lower()) or [""]:
                vectors[row, zlib.crc32(word.encode()) % self.dimensions] += 1.0
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Nowhere:
    """Notes when an answer was handed to it, on ``perf_counter``'s scale."""

    platform = "console"
    shows_drafts = False

    def __init__(self) -> None:
        self.sent_at = 0.0

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Nothing is shown."""
        return ()

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Note the moment."""
        self.sent_at = perf_counter()
        return ()

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """Nothing is sent twice here."""
        return None

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        """Nobody attaches anything."""
        raise FileUnreadable("there are no files")

    @asynccontextmanager
    async def typing(self, conversation: Conversation, asked: str) -> AsyncIterator[None]:
        """Nobody sees it."""
        yield
