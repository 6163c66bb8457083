"""A model request read as the rules see it: the person's words, and what may answer them.

Invariant: what the agent itself said is no evidence of anything, and text inside data blocks and tool results is
only ever evidence, never a wish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from bot.offline_rules.experience import Approved, PastSession, approved, past_sessions
from bot.offline_rules.statements import is_question, own_words
from bot.offline_rules.wishes import to_forget
from bot.offline_rules.wording import sentences, terms
from memory.messages import Message, ModelRequest, Role, TextPart, ToolCall, ToolResult
from memory.policy.audience import OFF_RECORD
from memory.prompt.sections import UNKNOWN_HUMAN

SEARCHES = frozenset({"conversation_search", "conversation_search_date", "archival_search", "recall_search"})

_HUMAN = re.compile(r"<human>\n(.*?)\n</human>", re.S)
_NOW = re.compile(r"<now>(\d{4}-\d\d-\d\d)")
_RETRIEVED = re.compile(r"<retrieved>\n(.*?)\n</retrieved>", re.S)
_FACTS = re.compile(r"<facts>\n(.*?)\n</facts>", re.S)
_HIT = re.compile(
    r"^- \[(?P<day>\d{4}-\d\d-\d\d)[^,\]]*(?:, (?P<author>[^\]]*))?, (?P<source>\w+)\] (?P<text>.*(?:\n  .*)*)",
    re.M,
)
_SAID = re.compile(
    r"^(?:- )?\[(?P<day>\d{4}-\d\d-\d\d)[^\]]*\] (?P<author>[^:\n]{1,80}): (?P<text>.*(?:\n  .*)*)", re.M
)
_TAG_LINE = re.compile(r"^</?\w+>$", re.M)


class Origin(StrEnum):
    """Where a piece of evidence comes from."""

    CORE = "core"
    SAID = "said"
    ARCHIVE = "archive"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Something that may answer a question.

    Attributes:
        text: what was said or noted.
        day: when; None where the prompt does not say.
        origin: ``SAID`` is the person's own words.
    """

    text: str
    day: date | None
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The newest turn.

    Attributes:
        words: the person's own words.
        today: the day it is; None where the prompt does not say.
        core: the lines of core memory about the person.
        evidence: everything else that may answer, the most telling first: the conversation, newest first; what was
            retrieved and found, newest first; facts; summaries.
        sessions: what is told of past sessions.
        procedures: how things are to be done.
        calls: this turn's tool calls so far, each with its result.
        search_rounds: how many times this turn has searched.
        tools: names of the tools that may be called.
        number: how many of the person's messages stand before this one in the conversation.
        off_record: whether nothing of the conversation is remembered.
    """

    words: str
    today: date | None
    core: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    sessions: tuple[PastSession, ...]
    procedures: tuple[Approved, ...]
    calls: tuple[tuple[ToolCall, ToolResult], ...]
    search_rounds: int
    tools: frozenset[str]
    number: int
    off_record: bool

    @property
    def failed_search(self) -> str | None:
        """What a search that failed reported, or None."""
        return next((result.content for call, result in self.calls if call.name in SEARCHES and result.is_error), None)


def read_turn(request: ModelRequest, agent_name: str) -> Turn:
    """Read a request.

    Args:
        request: as the assembler makes it.
        agent_name: the name under which the agent's own messages stand in results.
    """
    at = _newest_turn(request.messages)
    history, newest, after = request.messages[:at], request.messages[at], request.messages[at + 1 :]
    *data, spoken = [part.text for part in newest.parts if isinstance(part, TextPart)] or [""]
    block = "\n".join(data)
    results = {result.call_id: result for message in after for result in message.tool_results}
    calls = [(call, results[call.id]) for message in after for call in message.tool_calls if call.id in results]
    found = [result.content for call, result in calls if call.name in SEARCHES and not result.is_error]
    retrieved = _RETRIEVED.search(block)
    now = _NOW.search(block)
    dated = _hits("\n".join([retrieved[1] if retrieved else "", *found]), agent_name)
    summaries = [system.text for system in request.system if system.name in ("summary", "window_summary")]
    evidence = (
        *_conversation(history),
        *sorted(dated, key=lambda hit: (hit.day or date.min, to_forget(hit.text) is not None), reverse=True),
        *_hits("\n".join(_FACTS.findall(block)), agent_name),
        *_summarised("\n".join(summaries), agent_name),
    )
    return Turn(
        words=_without_name(spoken, agent_name),
        today=date.fromisoformat(now[1]) if now else None,
        core=_core_lines(request),
        evidence=tuple(_telling(evidence)),
        sessions=past_sessions(block),
        procedures=approved(block),
        calls=tuple(calls),
        search_rounds=sum(any(call.name in SEARCHES for call in message.tool_calls) for message in after),
        tools=frozenset(tool.name for tool in request.tools) if request.tools_enabled else frozenset(),
        number=sum(message.role is Role.USER and bool(message.text) for message in history),
        off_record=any(OFF_RECORD in system.text for system in request.system if system.name == "instructions"),
    )


def _newest_turn(messages: Sequence[Message]) -> int:
    spoken = (index for index, message in enumerate(messages) if message.role is Role.USER and message.text)
    return max(spoken, default=len(messages) - 1)


def _without_name(words: str, agent_name: str) -> str:
    """The words without the agent's name at their start: "Hi Keepsake, ..." becomes "Hi ..."."""
    called = re.compile(rf"\s*((?:hi|hello|hey|ok|dear)\W+)?@?{re.escape(agent_name)}\b[\s,:!.]*", re.I)
    return called.sub(r"\1", words, count=1) if called.match(words) else words


def _core_lines(request: ModelRequest) -> tuple[str, ...]:
    core = "\n".join(system.text for system in request.system if system.name == "core")
    human = _HUMAN.search(core)
    lines = human[1].splitlines() if human else []
    return tuple(line.strip() for line in lines if line.strip() and line.strip() != UNKNOWN_HUMAN)


def _conversation(history: Sequence[Message]) -> Iterator[Evidence]:
    for message in reversed(history):
        said = [part.text for part in message.parts if isinstance(part, TextPart)]
        if message.role is Role.USER and said:
            yield Evidence(text=said[-1], day=None, origin=Origin.SAID)


def _hits(text: str, agent_name: str) -> list[Evidence]:
    return [
        Evidence(
            text=hit["text"],
            day=date.fromisoformat(hit["day"]),
            origin=Origin.ARCHIVE if hit["author"] is None else Origin.SAID,
        )
        for hit in _HIT.finditer(text)
        if hit["author"] != agent_name
    ]


def _summarised(text: str, agent_name: str) -> Iterator[Evidence]:
    for said in _SAID.finditer(text):
        if said["author"] != agent_name:
            yield Evidence(text=said["text"], day=date.fromisoformat(said["day"]), origin=Origin.SAID)
    for sentence in sentences(_TAG_LINE.sub("", _SAID.sub("", text))):
        yield Evidence(text=sentence.removeprefix("- "), day=None, origin=Origin.SUMMARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unwanted:
    """What the person asked to have forgotten: its words, and when they asked; None within this conversation."""

    words: frozenset[str]
    day: date | None

    def covers(self, sentence: str, said: date | None) -> bool:
        """Whether a sentence of that day, or of one that is not known, is meant."""
        before = self.day is None or said is None or said <= self.day
        return before and bool(self.words) and self.words <= terms(sentence)


def _telling(evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    """The evidence without what answers nothing: questions, wishes to forget, and what was said before such a wish.

    Args:
        evidence: what was said last first; of a day, the wishes to forget first.
    """
    unwanted: list[_Unwanted] = []
    for piece in evidence:
        said: list[str] = []
        for sentence in reversed(sentences(piece.text)):
            if (forgotten := to_forget(sentence)) is not None:
                unwanted.append(_Unwanted(words=terms(forgotten), day=piece.day))
            elif not is_question(sentence) and not any(wish.covers(sentence, piece.day) for wish in unwanted):
                said.insert(0, sentence)
        kept = " ".join(said)
        if kept and own_words(kept).strip():
            yield replace(piece, text=kept)
