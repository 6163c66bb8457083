"""Distils what was said: by a model where there is one, and by rule.

Invariant: there is always a result. Where the model fails, is too slow or cannot be read, the rule stands in, and why
is told.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from memory.errors import ModelError
from memory.policy.distillation import FACT_BYTES, Distilled, distilled, distilled_from
from memory.policy.text import clean
from memory.ports import ChatModel
from memory.prompt.distilling import distillation_request

_log = structlog.get_logger(__name__)

_DEADLINE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """What came of it.

    Attributes:
        found: the distilled text.
        mode: ``llm`` or ``rule``.
        note: why the rule stood in for the model; empty where it did not.
    """

    found: Distilled
    mode: str
    note: str = ""


class Distiller:
    """Distils texts.

    Args:
        model: asked first; None for the rule alone.
        deadline: seconds that the model may take.
    """

    def __init__(self, model: ChatModel | None = None, *, deadline: float = _DEADLINE_SECONDS) -> None:
        self._model = model
        self._deadline = deadline

    async def distil(self, text: str, *, max_bytes: int = FACT_BYTES) -> Distillation:
        """Distil a text.

        Args:
            text: any text.
            max_bytes: of the fact.
        """
        text = clean(text)
        by_rule = await asyncio.to_thread(distilled, text, max_bytes=max_bytes)
        if self._model is None or not text:
            return Distillation(found=by_rule, mode="rule")
        try:
            async with asyncio.timeout(self._deadline):
                answer = (await self._model.complete(distillation_request(text))).message.text
        except TimeoutError:
            return self._fallen_back(by_rule, f"The model gave no answer within {self._deadline:g} seconds.")
        except ModelError as error:
            return self._fallen_back(by_rule, str(error))
        found = distilled_from(answer, text, max_bytes=max_bytes)
        if found is None:
            return self._fallen_back(by_rule, "The answer of the model holds no fact.")
        return Distillation(found=found, mode="llm")

    def _fallen_back(self, by_rule: Distilled, why: str) -> Distillation:
        _log.warning("distilled_by_rule", model=self._model.name if self._model else "")
        return Distillation(found=by_rule, mode="rule", note=f"{why} It was distilled by rule.")
