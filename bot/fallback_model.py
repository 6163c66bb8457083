"""Asks a second model where the first one cannot answer now.

Invariant: the second is asked only where the rule of the first one's error says so, which is never the case once a
word of an answer has come.
"""

from __future__ import annotations

import structlog

from bot.model_rules import rule_of
from memory.errors import ModelError
from memory.messages import ModelRequest, ModelResponse
from memory.ports import ChatModel, OnText

_log = structlog.get_logger(__name__)


class FallbackModel:
    """A ``ChatModel`` of two.

    Args:
        first: asked always.
        second: asked where the first cannot answer.
    """

    def __init__(self, first: ChatModel, second: ChatModel) -> None:
        self._first = first
        self._second = second

    @property
    def name(self) -> str:
        """The first model's name; an answer says which of them gave it."""
        return self._first.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer, of the first model or else of the second. Raises ModelError where neither gives one."""
        try:
            return await self._first.complete(request, on_text=on_text)
        except ModelError as error:
            if not rule_of(error).fallback:
                raise
            _log.warning("fell_back", model=self._second.name, error=type(error).__name__)
            return await self._second.complete(request, on_text=on_text)

    async def close(self) -> None:
        """Close both."""
        await self._first.close()
        await self._second.close()
