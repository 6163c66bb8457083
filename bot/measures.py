"""What this process counts and times, in plain numbers; ``bot/metrics.py`` shows them to monitoring systems.

Invariant: bounded, and about numbers alone. A person appears as the hash that the model's service is given too, and
only the most active ones are shown.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from memory.errors import ModelError
from memory.messages import ModelRequest, ModelResponse, Usage
from memory.policy.histogram import Histogram
from memory.ports import ChatModel, OnText

_PERSONS = 1_000
_MEMORY_WORK = "memory"


class Measures:
    """Counts since the start.

    Attributes:
        phases: durations of the parts of turns, by name: ``turn``, ``memory``, ``delivery``.
        model_seconds: durations of model calls, by model.
        model_calls: how many ended in which way, by model and outcome.
        tokens: by model and kind: ``input``, ``output``, ``cache_read``, ``cache_write``.
        lag: by how much the event loop came late.
        worst_lag: the worst of it lately, in seconds.
    """

    def __init__(self) -> None:
        self.phases: dict[str, Histogram] = defaultdict(Histogram)
        self.model_seconds: dict[str, Histogram] = defaultdict(Histogram)
        self.model_calls: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[tuple[str, str]] = Counter()
        self.lag = Histogram()
        self.worst_lag = 0.0
        self._by_person: OrderedDict[str, int] = OrderedDict()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a part of a turn, however it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases[name].with_duration(time.perf_counter() - began)

    def note_answer(self, request: ModelRequest, response: ModelResponse, *, model: str) -> None:
        """Count the tokens of a model's answer, where its service counted them."""
        if (used := response.usage) is None:
            return
        for kind, tokens in kinds_of(used).items():
            self.tokens[model, kind] += tokens
        person = request.person_hash or _MEMORY_WORK
        self._by_person[person] = self._by_person.pop(person, 0) + used.input_tokens + used.output_tokens
        if len(self._by_person) > _PERSONS:
            self._by_person.popitem(last=False)

    def most_active(self, limit: int) -> list[tuple[str, int]]:
        """The persons, as hashes, with most tokens among those who wrote lately; ``memory`` for work on memory."""
        return sorted(self._by_person.items(), key=lambda pair: -pair[1])[:limit]

    def note_lag(self, seconds: float, *, worst: float) -> None:
        """Note by how much the event loop came late, and the worst of it lately."""
        self.lag = self.lag.with_duration(seconds)
        self.worst_lag = worst


class MeasuredModel:
    """A ``ChatModel`` whose calls are counted and timed.

    Args:
        model: the model.
        measures: counts them.
    """

    def __init__(self, model: ChatModel, measures: Measures) -> None:
        self._model = model
        self._measures = measures

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer. Raises as the model does."""
        began, outcome = time.perf_counter(), "cancelled"
        try:
            response = await self._model.complete(request, on_text=on_text)
            outcome = response.stop_reason.value
        except ModelError as error:
            outcome = type(error).__name__
            raise
        finally:
            seconds = self._measures.model_seconds
            seconds[self.name] = seconds[self.name].with_duration(time.perf_counter() - began)
            self._measures.model_calls[self.name, outcome] += 1
        self._measures.note_answer(request, response, model=self.name)
        return response

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


def kinds_of(used: Usage) -> dict[str, int]:
    """The tokens of a call, each counted once: cached ones are no part of ``input``."""
    cached = used.cache_read_tokens + used.cache_write_tokens
    return {
        "input": max(0, used.input_tokens - cached),
        "output": used.output_tokens,
        "cache_read": used.cache_read_tokens,
        "cache_write": used.cache_write_tokens,
    }
