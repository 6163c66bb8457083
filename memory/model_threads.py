"""The threads that a model runs in, so that it never runs on the event loop.

Invariant: the model is loaded there once, at the first piece of work; a thread does one piece of work after the other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from memory.errors import EmbedderError

_Model = TypeVar("_Model")
_Result = TypeVar("_Result")


class ModelThreads(Generic[_Model]):
    """A model of an embedder.

    Args:
        load: loads it; ImportError and OSError say that a part of it is missing.
        failures: the errors with which it may fail, asked for once it is needed: the library that has them is heavy.
        count: how many pieces of work the model takes at once.
    """

    def __init__(
        self, load: Callable[[], _Model], failures: Callable[[], tuple[type[Exception], ...]], *, count: int = 1
    ) -> None:
        self._load = load
        self._failures = failures
        self._threads = ThreadPoolExecutor(max_workers=count, thread_name_prefix="embedder")
        self._loading = threading.Lock()
        self._model: _Model | None = None
        self._closed = False

    async def run(self, work: Callable[[_Model], _Result]) -> _Result:
        """What ``work`` makes of the model.

        Raises:
            EmbedderError: it cannot be loaded or run, or is closed.
        """
        if self._closed:
            raise EmbedderError("The embedder is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run_in_thread, work)

    async def close(self) -> None:
        """Finish what was begun, stop the threads and let go of the model. Safe to call twice."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        self._model = None

    def _run_in_thread(self, work: Callable[[_Model], _Result]) -> _Result:
        try:
            return work(self._loaded())
        except (ImportError, OSError) as error:
            raise EmbedderError(f"A part of the embedder is missing: {error}. Install the program anew.") from error
        except self._failures() as error:
            raise EmbedderError(f"The embedder's model cannot be run: {error}") from error

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model
