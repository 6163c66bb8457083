"""Lets a model rest that keeps failing, so that nobody waits for what will fail and the service is not pressed.

Closed, every request goes through. After some failures in a row, or a rate limit that says for how long, it is open:
requests are refused at once. When the pause is over, one request tries; it closes the circuit, or opens it for twice
as long.

Invariant: while it is open the model is not asked; while one request tries, no other does.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import structlog

from bot.model_rules import rule_of
from memory.errors import ModelError, ModelRateLimited, ModelResting
from memory.messages import ModelRequest, ModelResponse
from memory.ports import ChatModel, Clock, OnText

FAILURES = 3
"""In a row, after which the circuit opens."""
FIRST_PAUSE = timedelta(seconds=15)
LONGEST_PAUSE = timedelta(minutes=5)

_log = structlog.get_logger(__name__)


class CircuitBreaker:
    """A ``ChatModel`` around another.

    Args:
        model: the model.
        clock: says when a pause is over.

    Attributes:
        outcomes: how many requests ended in which way: ``answered``, or the name of an error.
    """

    def __init__(self, model: ChatModel, *, clock: Clock) -> None:
        self.outcomes: Counter[str] = Counter()
        self._model = model
        self._clock = clock
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._open_until: datetime | None = None
        self._is_trying = False

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def is_open(self) -> bool:
        """Whether the model rests."""
        return self._open_until is not None

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer. Raises ModelResting without asking while the circuit is open, else as the model does."""
        trying = self._admit()
        try:
            response = await self._model.complete(request, on_text=on_text)
        except ModelError as error:
            self.outcomes[type(error).__name__] += 1
            self._note_failure(error, trying=trying)
            if trying and self.is_open:
                raise self._resting() from error
            raise
        finally:
            if trying:
                self._is_trying = False
        self.outcomes["answered"] += 1
        self._close()
        return response

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def _admit(self) -> bool:
        """Let a request through; whether it is the one that tries if the model answers again."""
        if self._open_until is None:
            return False
        if self._is_trying or self._clock.now() < self._open_until:
            self.outcomes[ModelResting.__name__] += 1
            raise self._resting()
        self._is_trying = True
        return True

    def _resting(self) -> ModelResting:
        left = (self._open_until or self._clock.now()) - self._clock.now()
        return ModelResting(
            f"{self.name} failed lately and is not asked for now.",
            retry_after=max(0.0, left.total_seconds()),
        )

    def _note_failure(self, error: ModelError, *, trying: bool) -> None:
        if not rule_of(error).counts:  # it answered, only not as we like
            self._close()
            return
        self._failures += 1
        if isinstance(error, ModelRateLimited) and error.retry_after is not None:
            self._open(min(timedelta(seconds=error.retry_after), LONGEST_PAUSE), error)
        elif trying:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            self._open(self._pause, error)
        elif self._failures >= FAILURES and self._open_until is None:
            self._open(self._pause, error)

    def _open(self, pause: timedelta, error: ModelError) -> None:
        self._open_until = self._clock.now() + pause
        _log.warning("model_rests", model=self.name, seconds=pause.total_seconds(), error=type(error).__name__)

    def _close(self) -> None:
        if self._open_until is not None:
            _log.info("model_answers_again", model=self.name)
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._open_until = None
