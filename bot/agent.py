"""One turn: assemble, ask the model, run its tools, until it answers or reaches the cap.

Invariant: a turn makes at most ``tool_call_cap`` tool calls and a bounded number of model calls, and always ends
in a text for the person or in a ModelError.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog

from bot.measures import Measures
from bot.model_answers import cleaned, final_text
from bot.tools import Toolbox, failed
from bot.turn_state import Turn, TurnResult
from memory.errors import ContextOverflow, ModelError, StreamInterrupted
from memory.exchange import Exchange
from memory.messages import (
    ImagePart,
    Message,
    ModelResponse,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from memory.parameters import MemoryParameters
from memory.person import PersonMemory
from memory.policy.text import clean
from memory.ports import ChatModel, OnText, TokenCounter
from memory.prompt.assembler import Prompt, assemble

_log = structlog.get_logger(__name__)

# A model that pauses (long server-side work) is asked to go on this often.
_PAUSES = 3
# Characters; counting fewer takes less than the trip to a thread, where a message as long as a book is counted.
_COUNTED_AT_ONCE = 2_000
# After the service says "too long" although our estimate fitted, once more with this share of the window.
_SHORTER = 0.6


class Agent:
    """Runs turns.

    Args:
        model: the chat model.
        toolbox: the tools offered.
        counter: counts tokens and learns from what the model's service counted.
        secret: key for the opaque hash of a person that the model's service gets.
        measures: times what a turn takes.
    """

    def __init__(
        self,
        *,
        model: ChatModel,
        toolbox: Toolbox,
        counter: TokenCounter,
        secret: bytes,
        measures: Measures | None = None,
    ) -> None:
        self.model = model
        self._toolbox = toolbox
        self._counter = counter
        self._secret = secret
        self._measures = measures or Measures()

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools offered with every message."""
        return self._toolbox.specs

    async def run_turn(
        self,
        memory: PersonMemory,
        exchange: Exchange,
        *,
        now: datetime,
        images: tuple[ImagePart, ...] = (),
        begin_call: Callable[[], OnText] | None = None,
    ) -> TurnResult:
        """Answer one stored message.

        Args:
            memory: the memory of the conversation.
            exchange: the message, stored.
            now: the present moment.
            images: pictures that came with the message, which are seen in this turn alone.
            begin_call: called before each model call; gives what hears its text as it comes.

        Raises:
            ModelError: the model could not answer; nothing was stored beyond what its tools did.
        """
        with self._measures.phase("memory"):
            gathered = await memory.gather(exchange, tools=self.tools, now=now)
        spoken = gathered.turn[0]
        gathered = replace(gathered, turn=(replace(spoken, parts=(*images, *spoken.parts)),))
        turn = Turn(gathered=gathered, kept=self._toolbox.kept, parameters=memory.parameters, begin_call=begin_call)
        while True:
            response = await self._ask(turn, memory)
            if response.stop_reason is StopReason.REFUSAL:
                return turn.refused()
            if response.stop_reason is StopReason.PAUSE_TURN and turn.pauses < _PAUSES:
                turn.pauses += 1
                turn.added.append(response.message)
                continue
            calls = response.message.tool_calls
            if not calls or turn.calls >= turn.parameters.tool_call_cap:
                return turn.ended(final_text(response))
            results = await self._run(memory, exchange, calls, turn)
            turn.added += [response.message, Message(role=Role.USER, parts=tuple(results))]
            if turn.parameters.enable_end_of_turn_memory and self._is_complete(response, results):
                return turn.ended(response.message.text.strip(), already_added=True)

    async def _ask(self, turn: Turn, memory: PersonMemory) -> ModelResponse:
        """One answer of the model. What it fails in is met once, as ``bot/model_rules.py`` says."""
        try:
            return await self._complete(turn, memory, turn.parameters)
        except ContextOverflow:
            shorter = int(turn.parameters.context_window_tokens * _SHORTER)
            _log.warning("context_overflow", conversation=memory.place.conversation, retry_tokens=shorter)
            return await self._complete(turn, memory, replace(turn.parameters, context_window_tokens=shorter))
        except StreamInterrupted as error:
            _log.warning("answer_broke_off", conversation=memory.place.conversation, characters=len(error.partial))
            return await self._start_over(turn, memory, error.partial)

    async def _start_over(self, turn: Turn, memory: PersonMemory, partial: str) -> ModelResponse:
        """The answer once more; where that fails too, the longest beginning that came."""
        try:
            return await self._complete(turn, memory, turn.parameters)
        except StreamInterrupted as error:
            partial = max(partial, error.partial, key=len)
        except ModelError as error:
            _log.warning("answer_kept_in_part", error=type(error).__name__)
        parts = (TextPart(text=clean(partial)),)
        return ModelResponse(parts=parts, stop_reason=StopReason.INTERRUPTED, model=self.model.name)

    async def _complete(self, turn: Turn, memory: PersonMemory, parameters: MemoryParameters) -> ModelResponse:
        new = (*turn.gathered.turn, *turn.added)
        assembled = partial(
            assemble,
            replace(turn.gathered, turn=new),
            parameters=parameters,
            counter=self._counter,
            tools_enabled=turn.calls < parameters.tool_call_cap,
            person_hash=self._person_hash(memory.place.scope.person),
        )
        turn.prompt = prompt = assembled() if _is_short(new) else await asyncio.to_thread(assembled)
        memory.note_prompt(prompt)
        on_text = None if turn.begin_call is None else turn.begin_call()
        response = cleaned(await self.model.complete(prompt.request, on_text=on_text))
        turn.tokens += _tokens_of(response, prompt)
        if response.usage is not None:
            self._counter.calibrate(estimated=prompt.estimated, actual=response.usage.input_tokens)
        if response.stop_reason is StopReason.CONTEXT_EXCEEDED and not response.message.text.strip():
            raise ContextOverflow("The model ran out of room before it could answer.")
        _log.info(
            "model_answered",
            model=response.model,
            stop=response.stop_reason,
            tokens=prompt.tokens,
            sections=dict(prompt.report),
            calls=len(response.message.tool_calls),
        )
        return response

    async def _run(
        self, memory: PersonMemory, exchange: Exchange, calls: Sequence[ToolCall], turn: Turn
    ) -> list[ToolResult]:
        results = []
        for call in calls:
            if turn.calls >= turn.parameters.tool_call_cap:
                results.append(failed(call, "No more tool calls in this turn. Answer with what you have."))
                continue
            turn.calls += 1
            results.append(await self._toolbox.run(memory, exchange, call))
        return results

    def _is_complete(self, response: ModelResponse, results: Sequence[ToolResult]) -> bool:
        """Text followed only by memory writes that worked: the person has the answer already."""
        parts = response.parts
        first_call = next(index for index, part in enumerate(parts) if isinstance(part, ToolCall))
        return (
            bool(response.message.text.strip())
            and response.stop_reason is StopReason.TOOL_USE
            and not any(isinstance(part, TextPart) and part.text.strip() for part in parts[first_call:])
            and all(self._toolbox.may_end_turn(call) for call in response.message.tool_calls)
            and not any(result.is_error for result in results)
        )

    def _person_hash(self, person: str) -> str:
        return hmac.new(self._secret, person.encode(), hashlib.sha256).hexdigest()


def _is_short(messages: Sequence[Message]) -> bool:
    parts = [part for message in messages for part in message.parts]
    return sum(len(part.text) if isinstance(part, TextPart) else _COUNTED_AT_ONCE for part in parts) < _COUNTED_AT_ONCE


def _tokens_of(response: ModelResponse, prompt: Prompt) -> int:
    used = response.usage
    return prompt.tokens if used is None else used.input_tokens + used.output_tokens
