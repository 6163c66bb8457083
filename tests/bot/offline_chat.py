"""A small agent around the rule-based model, its tools run against plain lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta

from bot.offline import OfflineModel
from memory.messages import (
    Message,
    ModelRequest,
    Role,
    SystemBlock,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant_message,
    user_message,
)
from memory.policy.audience import OFF_RECORD, audience_note
from memory.policy.text import escape_data
from memory.prompt.sections import UNKNOWN_HUMAN
from memory.records import Scope, StoredMessage
from tests.fakes import START

TOOLS = (
    "core_memory_append",
    "core_memory_replace",
    "recall_search",
    "archival_insert",
    "archival_search",
    "conversation_search",
    "conversation_search_date",
)

WRITES = {"core_memory_append", "core_memory_replace", "archival_insert"}


@dataclass
class Chat:
    """A small agent: builds the prompt, runs the calls, and ends a turn as the real one does."""

    core: list[str] = field(default_factory=list)
    archive: list[str] = field(default_factory=list)
    past: list[str] = field(default_factory=list)
    retrieved: list[str] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)
    tools: tuple[str, ...] = TOOLS
    core_is_full: bool = False
    archive_is_broken: bool = False
    off_record: bool = False
    search_is_broken: bool = False
    window_summary: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    model: OfflineModel = field(default_factory=OfflineModel)

    async def say(self, words: str) -> str:
        """One turn; returns the reply."""
        turn = [Message(role=Role.USER, parts=(TextPart(text=self._data()), TextPart(text=words)))]
        self.calls = []
        for _ in range(5):
            response = await self.model.complete(self._request(turn))
            calls = response.message.tool_calls
            results = [self._run(call) for call in calls]
            turn += [response.message, *([Message(role=Role.USER, parts=tuple(results))] if results else [])]
            wrote = all(call.name in WRITES for call in calls) and not any(result.is_error for result in results)
            if not calls or (response.message.text and wrote):
                self.history += [user_message(words), *turn[1:]]
                return response.message.text
        raise AssertionError("the turn does not end")

    def forget_the_conversation(self) -> None:
        """What was said leaves the window and can be searched."""
        self.past += [
            f"- [2023-05-08 13:56, {'Ann' if message.role is Role.USER else 'Keepsake'}, recall] {message.text}"
            for message in self.history
            if message.text
        ]
        self.history = []

    def _data(self) -> str:
        lines = "\n".join(self.retrieved)
        block = f"<retrieved>\n{lines}\n</retrieved>\n" if lines else ""
        return f"<memory_data>\n<now>2026-03-02 09:00 UTC (Monday)</now>\n{block}</memory_data>"

    def _request(self, turn: list[Message]) -> ModelRequest:
        human = escape_data("\n".join(self.core)) or UNKNOWN_HUMAN
        core = f"<core_memory>\n<persona>\nI am Keepsake.\n</persona>\n<human>\n{human}\n</human>\n</core_memory>"
        rules = audience_note("dm", kept=not self.off_record)
        system = [SystemBlock(name="instructions", text=rules), SystemBlock(name="core", text=core)]
        if self.window_summary:
            summary = f"<window_summary>\n{self.window_summary}\n</window_summary>"
            system.append(SystemBlock(name="window_summary", text=summary))
        return ModelRequest(
            system=tuple(system),
            messages=(*self.history, *turn),
            tools=tuple(ToolSpec(name=name, description=name, input_schema={}) for name in self.tools),
        )

    def _run(self, call: ToolCall) -> ToolResult:
        assert call.name in self.tools
        self.calls.append(call)
        if self.off_record and call.name in WRITES:
            return ToolResult(call_id=call.id, name=call.name, content=f"Error: {OFF_RECORD}", is_error=True)
        content, is_error = getattr(self, f"_{call.name}")(**call.arguments)
        return ToolResult(call_id=call.id, name=call.name, content=content, is_error=is_error)

    def _core_memory_append(self, text: str) -> tuple[str, bool]:
        if self.core_is_full:
            return "Error: Core memory is full. Move older facts out with archival_insert.", True
        self.core += text.splitlines()
        return "Saved in core memory.", False

    def _core_memory_replace(self, old: str, new: str) -> tuple[str, bool]:
        at = self.core.index(old)
        self.core[at : at + 1] = [new] if new else []
        return "Core memory changed.", False

    def _archival_insert(self, text: str) -> tuple[str, bool]:
        if self.archive_is_broken:
            return "Error: The database cannot be written.", True
        self.archive.append(text)
        return "Saved in archival memory.", False

    def _archival_search(self, query: str) -> tuple[str, bool]:
        return self._found(query, [f"- [2024-01-02, archival] {text}" for text in self.archive])

    def _conversation_search(self, query: str) -> tuple[str, bool]:
        return self._found(query, self.past)

    def _conversation_search_date(self, start_date: str, end_date: str) -> tuple[str, bool]:
        hits = [line for line in self.past if start_date <= line[3:13] <= end_date]
        return "\n".join(hits) or "Nothing found.", False

    def _found(self, query: str, lines: list[str]) -> tuple[str, bool]:
        if self.search_is_broken:
            return "Error: The database cannot be read.", True
        asked = set(re.findall(r"\w+", query.lower()))
        hits = [line for line in lines if asked & set(re.findall(r"\w+", line.lower()))]
        return "\n".join(hits) or "Nothing found.", False


LIFE = (
    "My name is Ann.",
    "I love jasmine tea and I hate coriander.",
    "I live in Rome.",
    "I work as a nurse at St Mary's.",
    "My dog is called Rex.",
    "My sister Mia is allergic to nuts.",
    "My birthday is on 4 May.",
    "My trip to Lisbon is on 12 June.",
    "My favourite film is Amelie.",
)


def stored(*said: tuple[str, str]) -> list[StoredMessage]:
    return [
        StoredMessage(
            id=number,
            scope=Scope(person="console:ann", audience="dm"),
            conversation="console:ann",
            session_id=1,
            exchange_id=number,
            author=author,
            message=user_message(text) if author == "Ann" else assistant_message(text),
            sent_at=START + timedelta(minutes=number),
            tokens=1,
        )
        for number, (author, text) in enumerate(said)
    ]
