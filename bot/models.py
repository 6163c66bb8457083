"""The models that are configured, each measured, and each let rest when it fails.

Invariant: the model that answers by rule stands in only where no key is set, never for one that fails.
"""

from __future__ import annotations

from bot.circuit_breaker import CircuitBreaker
from bot.config import Settings
from bot.fallback_model import FallbackModel
from bot.measures import MeasuredModel, Measures
from bot.offline import OfflineModel
from memory.ports import ChatModel, Clock


class Models:
    """Makes models.

    Args:
        settings: say which.
        clock: tells when one has rested enough.
        measures: counts what they are asked.

    Attributes:
        breakers: what lets them rest.
    """

    def __init__(self, settings: Settings, clock: Clock, measures: Measures) -> None:
        self.breakers: list[CircuitBreaker] = []
        self._settings = settings
        self._clock = clock
        self._measures = measures

    def chat(self) -> ChatModel:
        """The one that answers."""
        model = self.of(self._settings.chat_model)
        if self._settings.fallback_model is None:
            return model
        return FallbackModel(model, self.of(self._settings.fallback_model))

    def of(self, name: str) -> ChatModel:
        """The one of that name; without a key, the one that answers by rule."""
        settings, key = self._settings, self._settings.anthropic_api_key
        if key is None:
            return MeasuredModel(OfflineModel(agent_name=settings.agent_name), self._measures)
        from bot.llm import ClaudeModel

        claude = ClaudeModel(
            model=name,
            api_key=key.get_secret_value(),
            base_url=settings.anthropic_base_url,
            deadline=settings.model_deadline_seconds,
        )
        self.breakers.append(CircuitBreaker(MeasuredModel(claude, self._measures), clock=self._clock))
        return self.breakers[-1]
