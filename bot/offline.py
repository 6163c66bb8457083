"""A chat model by rule, so that everything runs without a key: it takes in plain statements and finds them again.

Invariant: it answers only from what the request shows, says nothing that was not told, and only the person's own
words make it call a tool.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping

from bot.offline_rules.answers import answer, known_of, searches
from bot.offline_rules.digest import digest, digest_of_entries
from bot.offline_rules.episode import told as story_told
from bot.offline_rules.extraction import extracted
from bot.offline_rules.known_names import with_kinds
from bot.offline_rules.notes import Changes, changes
from bot.offline_rules.reading import SEARCHES, Turn, read_turn
from bot.offline_rules.reconciliation import reconciled
from bot.offline_rules.reminders import REMINDER_TOOLS, outcomes, reminders_in
from bot.offline_rules.small_talk import WHAT_I_AM, small_talk, sympathy
from bot.offline_rules.statements import facts_in, is_question
from bot.offline_rules.wishes import wishes_in
from bot.offline_rules.wording import sentences, told
from memory.messages import (
    ImagePart,
    ModelRequest,
    ModelResponse,
    Part,
    StopReason,
    TextPart,
    ToolCall,
    message_to_json,
)
from memory.policy.secrets import REMOVED
from memory.ports import OnText

OFFLINE_NOTICE = (
    "No ANTHROPIC_API_KEY is set, so a rule-based stand-in answers instead of Claude: it remembers plain "
    "statements and finds them again. Set ANTHROPIC_API_KEY for real conversation, and DISCORD_TOKEN, or "
    "SLACK_BOT_TOKEN with SLACK_APP_TOKEN, to bring the bot to Discord or Slack."
)

_NO_TREE_OPERATIONS = '{"operations": []}'  # a rule cannot tell which categories mean the same

_MEMORY_WORK: Mapping[str, Callable[[str, str], str]] = {
    "summarize_window": digest,
    "summarize_session": digest,
    "digest_journal": digest_of_entries,
    "extract_facts": extracted,
    "reconcile_facts": reconciled,
    "write_episode": story_told,
    "rebuild_tree": lambda _material, _agent: _NO_TREE_OPERATIONS,
    "search_tree": lambda _material, _agent: "",  # a rule knows no more than the keyword search that then takes over
}

_QUESTIONS = 2
_HEARD = ("I'll keep that in mind.", "Good to know.", "I have it, ask me any time.", "Understood.")
_TASK = re.compile(
    r"(?:please |can you |could you |would you |will you |let's |help me )*(?:write|make|create|explain|give|help"
    r"|translate|draw|generate|tell|describe|compare|calculate|fix|plan|suggest|recommend|play|sing|define|read|check"
    r"|list)\b",
    re.I,
)
_OF_THEIRS = re.compile(r"\b(?:my|mine|our|i|i'm|i've|we)\b", re.I)
_UNKNOWN = (
    "I don't know that: I find nothing you told me about it. I am a rule-based stand-in and know only what I am told."
)
_IN_ARCHIVE = "My notes have no room for that, so I put it into the archive."
_NO_REMINDERS = "I cannot set or list reminders here."
_NO_NOTES = "I cannot write notes just now, but our conversation keeps what you said."

_NOT_KEPT = "You asked that nothing be remembered, so I keep nothing of this."
_SECRET = "That looked like a secret (a key, token, card number or password): I took it out, and keep none of it."


class OfflineModel:
    """Implements ``memory.ports.ChatModel`` without a model.

    Args:
        agent_name: the name under which the agent's own messages stand in search results.
    """

    name = "offline"

    def __init__(self, *, agent_name: str = "Keepsake") -> None:
        self._agent_name = agent_name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """Answer by rule. The same request always gets the same answer."""
        parts = await asyncio.to_thread(self._parts, request)
        if on_text is not None:
            for part in parts:
                if isinstance(part, TextPart):
                    await on_text(part.text)
        calls = any(isinstance(part, ToolCall) for part in parts)
        stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
        return ModelResponse(parts=parts, stop_reason=stop, model=self.name)

    async def close(self) -> None:
        """Nothing to release."""

    def _parts(self, request: ModelRequest) -> tuple[Part, ...]:
        work = _MEMORY_WORK.get(request.system[0].name) if request.system else None
        if work is not None:
            return (TextPart(text=work(request.messages[-1].text, self._agent_name)),)
        text, calls = _respond(read_turn(request, self._agent_name))
        if not calls and any(isinstance(part, ImagePart) for message in request.messages for part in message.parts):
            text = f"{text}\n{_NO_EYES}"
        spoken = (TextPart(text=text),) if text else ()
        return (*spoken, *_numbered(calls, request))


_NO_EYES = "I can't look at pictures: I am a rule-based stand-in. With a model of Claude I can."

_Call = tuple[str, dict[str, str]]


def _respond(turn: Turn) -> tuple[str, list[_Call]]:
    """What to say, and the tools to call. Without anything to say yet, there is a call."""
    if reply := small_talk(turn.words, turn.core):
        return reply, []
    reminders, missing, rest = reminders_in(turn.words)
    reminded = [*missing, *outcomes(turn.calls)]
    if reminders and not reminded:
        possible = [call for call in reminders if call[0] in turn.tools]
        return ("", possible) if possible else (_NO_REMINDERS, [])
    wishes, rest = wishes_in(rest, turn.today)
    asked = [sentence for sentence in sentences(rest) if is_question(sentence)]
    questions = asked[:_QUESTIONS]
    kind = sympathy(" ".join(sentence for sentence in sentences(rest) if sentence not in asked))
    wanted = changes((*wishes, *facts_in(with_kinds(rest, turn.core), turn.today)), turn.core)
    spoken, writes = _written(wanted, turn)
    answers, lookups = _answered(questions, turn)
    if lookups:
        return "", [*writes, *lookups]
    return "\n".join(filter(None, [kind, *reminded, spoken, *answers])) or _heard(turn), writes


def _heard(turn: Turn) -> str:
    """What to say where nothing else is to be said: briefly, not the same words at each turn."""
    if REMOVED in turn.words:
        return _SECRET
    if turn.off_record and not is_question(turn.words):
        return _NOT_KEPT
    return WHAT_I_AM if _TASK.match(turn.words) else _HEARD[turn.number % len(_HEARD)]


def _written(wanted: Changes, turn: Turn) -> tuple[str, list[_Call]]:
    """What to say about the changes, and the calls that make them; once made, what became of them."""
    made = [(call, result) for call, result in turn.calls if call.name not in SEARCHES | REMINDER_TOOLS]
    if not made:
        calls = _write_calls(wanted)
        possible = [call for call in calls if call[0] in turn.tools]
        return (wanted.reply, possible) if len(possible) == len(calls) else (_NO_NOTES, possible)
    if turn.off_record:
        return _NOT_KEPT, []
    refused = [call for call, result in made if result.is_error]
    if not refused:
        return _acknowledged(call for call, _ in made), []
    texts = {str(call.arguments.get("text") or call.arguments.get("new") or "") for call in refused}
    archived = {str(call.arguments["text"]) for call, _ in made if call.name == "archival_insert"}
    if "archival_insert" not in turn.tools or texts & archived:
        return _NO_NOTES, []
    return _IN_ARCHIVE, [("archival_insert", {"text": text}) for text in sorted(texts) if text]


def _write_calls(wanted: Changes) -> list[_Call]:
    appended = [("core_memory_append", {"text": "\n".join(wanted.appended)})] if wanted.appended else []
    replaced = [("core_memory_replace", {"old": old, "new": new}) for old, new in wanted.replaced]
    return [*replaced, *appended, *(("archival_insert", {"text": text}) for text in wanted.archived)]


def _acknowledged(calls: Iterable[ToolCall]) -> str:
    lines = "\n".join(str(call.arguments.get("text") or call.arguments.get("new") or "") for call in calls)
    return f"Noted: {' '.join(told(line) for line in lines.splitlines() if line)}"


def _answered(questions: Iterable[str], turn: Turn) -> tuple[list[str], list[_Call]]:
    """The answers, and the searches to make first where one is missing."""
    found = {question: answer(question, turn) for question in questions}
    missing = [question for question, text in found.items() if text is None]
    if turn.search_rounds == 0 or len(missing) == 1:
        lookups = [(search.tool, search.arguments) for question in missing for search in searches(question, turn)]
        if possible := [call for call in lookups if call[0] in turn.tools]:
            return [], possible
    failure = turn.failed_search
    if failure:
        return list(dict.fromkeys(text or f"I could not search my memory. {failure}" for text in found.values())), []
    return list(dict.fromkeys(text or _unknown(question, turn) for question, text in found.items())), []


def _unknown(question: str, turn: Turn) -> str:
    """What to say to what nothing answers: of the person's own life, or a task for somebody cleverer."""
    if _TASK.match(question) and not _OF_THEIRS.search(question):
        return WHAT_I_AM
    return known_of(question, turn) or _UNKNOWN


def _numbered(calls: Iterable[_Call], request: ModelRequest) -> tuple[ToolCall, ...]:
    """Calls with ids that depend on all that was said before, so that none comes twice in a conversation."""
    seen = hashlib.blake2b("".join(map(message_to_json, request.messages)).encode(errors="replace"), digest_size=6)
    return tuple(
        ToolCall(id=f"offline_{seen.hexdigest()}_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls)
    )
