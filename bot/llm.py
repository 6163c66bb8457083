"""Claude behind ``ChatModel``: one deadline over a whole call, and every failure in our own words.

Invariant: ``complete`` returns a whole answer or raises a ``ModelError``. An answer that broke off is never taken
for a whole one, and nothing is asked twice once a word of the answer has come.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx2
import structlog
from anthropic import AnthropicError, APIStatusError, AsyncAnthropic, BadRequestError, Timeout

from bot.llm_wire import StreamedAnswer, request_body, without_pictures
from bot.model_rules import Remedy, rule_of
from memory.errors import (
    ContextOverflow,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    StreamInterrupted,
)
from memory.messages import ModelRequest, ModelResponse
from memory.ports import OnText

_CONNECT_SECONDS = 5.0
_LONGEST_DETAIL = 300

# What an error is when its body does not say, as behind a proxy.
_KINDS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

_REJECTIONS = {
    "authentication_error": "Claude refused the API key. Check ANTHROPIC_API_KEY.",
    "billing_error": "Claude refused the request over billing. Check the plan and the credit of the account.",
    "permission_error": "The API key may not use the model {model}. Check the key's permissions.",
    "not_found_error": "Claude knows no model {model}. Check CHAT_MODEL and MEMORY_MODEL.",
}

# The service has no code for this, only these sentences.
_TOO_LONG = ("prompt is too long", "exceed context limit")

_log = structlog.get_logger(__name__)


class ClaudeModel:
    """A ``ChatModel`` that asks Claude.

    Args:
        model: the model's id.
        api_key: the key.
        base_url: another address than the service's own.
        deadline: seconds that one ``complete`` may take, a second attempt included.
        retry_pause: seconds before that second attempt.
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str | None = None,
        deadline: float = 60.0,
        retry_pause: float = 1.0,
    ) -> None:
        self._model = model
        self._deadline = deadline
        self._retry_pause = retry_pause
        self._schemas_refused = False
        # The library sleeps for as long as the service tells it to, so the trying again is ours.
        timeout = Timeout(deadline, connect=min(deadline, _CONNECT_SECONDS))
        self._client = AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0, timeout=timeout)
        # It also warns of a model near its retirement, which must not fail a call where warnings are errors.
        warnings.filterwarnings("ignore", message="The model '.*' is deprecated", category=DeprecationWarning)

    @property
    def name(self) -> str:
        """The model's id."""
        return self._model

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer, streamed. Overload and trouble on the way are met by a second attempt while no text has come.

        Raises:
            ModelError: its subclass says who must act. What ``on_text`` raises passes through as it is.
        """
        body = request_body(request, model=self._model)
        if self._schemas_refused:
            body.pop("output_config", None)
        deadline = asyncio.timeout(self._deadline)
        try:
            async with deadline:
                return await self._answer(body, on_text)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            sentence = f"Claude gave no whole answer within {self._deadline:g} seconds. Try again in a moment."
            raise ModelTimeout(sentence) from error

    async def close(self) -> None:
        """Release connections. Safe to call twice."""
        await self._client.close()

    async def _answer(self, body: Mapping[str, Any], on_text: OnText | None) -> ModelResponse:
        try:
            return await self._attempt(body, on_text)
        except ModelRejected as error:
            simpler = self._without_what_is_refused(body) if isinstance(error.__cause__, BadRequestError) else None
            if simpler is None:
                raise
            return await self._attempt(simpler, on_text)
        except ModelError as error:
            if rule_of(error).remedy is not Remedy.REPEAT:
                raise
            _log.warning("model_call_retried", model=self._model, error=type(error).__name__)
        await asyncio.sleep(self._retry_pause)
        return await self._attempt(body, on_text)

    def _without_what_is_refused(self, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The request without what a service may not take; None where nothing of the kind is in it."""
        if "output_config" in body:
            # A proxy or another model may know no schemas. Whoever asked reads free text as well.
            _log.warning("answer_schema_refused", model=self._model)
            self._schemas_refused = True
            return {key: body[key] for key in body if key != "output_config"}
        if (blind := without_pictures(body)) is not None:
            _log.warning("pictures_refused", model=self._model)  # a damaged one costs no answer
        return blind

    async def _attempt(self, body: Mapping[str, Any], on_text: OnText | None) -> ModelResponse:
        answer = StreamedAnswer()
        async with aclosing(self._texts(body, answer)) as texts:
            async for text in texts:
                if on_text is not None:
                    await on_text(text)
        if not answer.finished:
            raise broken_off(ModelUnavailable("Claude ended its answer too early."), answer.text)
        return answer.response()

    async def _texts(self, body: Mapping[str, Any], answer: StreamedAnswer) -> AsyncGenerator[str, None]:
        """The texts as they arrive, while ``answer`` fills up. Foreign errors become ours here and nowhere else."""
        try:
            async with await self._client.messages.create(**body, stream=True) as events:
                async for event in events:
                    if text := answer.take(event):
                        yield text
        except (AnthropicError, httpx2.HTTPError, ValueError, LookupError) as error:
            raise broken_off(model_error(error, model=self._model), answer.text) from error


def broken_off(error: ModelError, partial: str) -> ModelError:
    """What ``error`` is once the text ``partial`` has come: an interruption; before that, itself."""
    return StreamInterrupted(f"The answer broke off. {error}", partial=partial) if partial else error


def model_error(error: Exception, *, model: str) -> ModelError:
    """A failed call in our own words.

    Args:
        error: from the library, from the transport below it, or from an answer that cannot be read. A stream that
            had begun well fails with a status of 200, so the kind of an error tells more than its status.
        model: the id of the model asked.
    """
    match error:
        case APIStatusError():
            return _status_error(error, model)
        case AnthropicError() if isinstance(error.__cause__, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return ModelRejected("A request cannot even be sent. Check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL.")
        case AnthropicError() | httpx2.HTTPError():
            return ModelUnavailable("The connection to Claude failed. Check the network, or try again in a moment.")
        case _:
            return ModelUnavailable("Claude's answer cannot be read. Check ANTHROPIC_BASE_URL, or try again.")


def _status_error(error: APIStatusError, model: str) -> ModelError:
    kind = error.type or _KINDS.get(error.status_code, "")
    # Only the service's own sentence is passed on; a proxy's page might repeat what we sent.
    detail = (error.api_message or f"HTTP {error.status_code}")[:_LONGEST_DETAIL]
    if kind == "rate_limit_error":
        return _rate_limited(error.response.headers)
    if kind == "overloaded_error":
        return ModelOverloaded("Claude is overloaded. Try again in a moment.")
    if kind in _REJECTIONS:
        return ModelRejected(_REJECTIONS[kind].format(model=model))
    if kind == "request_too_large" or any(sign in detail for sign in _TOO_LONG):
        return ContextOverflow("The request was longer than Claude accepts. Lower CONTEXT_WINDOW_TOKENS.")
    if kind == "invalid_request_error" or 400 <= error.status_code < 500:
        return ModelRejected(f"Claude refused the request as malformed: {detail}")
    return ModelUnavailable(f"Claude failed on its side ({detail}). Try again in a moment.")


def _rate_limited(headers: Mapping[str, str]) -> ModelRateLimited:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        return ModelRateLimited("Claude limits how often it may be asked. Try again in a minute.")
    sentence = f"Claude limits how often it may be asked. Try again in {math.ceil(seconds)} seconds."
    return ModelRateLimited(sentence, retry_after=seconds)
