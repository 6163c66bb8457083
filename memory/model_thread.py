"""One thread that a model lives in, so that it never runs on the event loop.

Invariant: the model is loaded there, at the first piece of work; pieces of work run one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from memory.errors import EmbedderError

_Model = TypeVar("_Model")
_Result = TypeVar("_Result")


class ModelThread(Generic[_Model]):
    """A model of an embedder.

    Args:
        load: loads it; ImportError and OSError say that a part of it is missing.
        failures: the errors with which it may fail, asked for once it is needed: the library that has them is heavy.
    """

    def __init__(self, load: Callable[[], _Model], failures: Callable[[], tuple[type[Exception], ...]]) -> None:
        self._load = load
        self._failures = failures
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._model: _Model | None = None
        self._closed = False

    async def run(self, work: Callable[[_Model], _Result]) -> _Result:
        """What ``work`` makes of the model.

        Raises:
            EmbedderError: it cannot be loaded or run, or is closed.
        """
        if self._closed:
            raise EmbedderError("The embedder is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run_in_thread, work)

    async def close(self) -> None:
        """Finish what was begun, stop the thread and let go of the model. Safe to call twice."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown)
        self._model = None

    def _run_in_thread(self, work: Callable[[_Model], _Result]) -> _Result:
        try:
            if self._model is None:
                self._model = self._load()
            return work(self._model)
        except (ImportError, OSError) as error:
            raise EmbedderError(f"A part of the embedder is missing: {error}. Install the program anew.") from error
        except self._failures() as error:
            raise EmbedderError(f"The embedder's model cannot be run: {error}") from error
