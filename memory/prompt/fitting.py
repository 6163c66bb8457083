"""Makes each part of a conversation fit the room it is given: history, newest turn, retrieved text.

Sizes and caps are estimated tokens, so that a cut does not move when calibration does.

Invariant: what comes out is escaped, accepted by the service, and no larger than its room.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memory.channel_talk import Line
from memory.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    ToolCall,
    ToolResult,
    attachments_of,
    user_message,
)
from memory.parameters import MemoryParameters
from memory.policy.budget import SHORTEST_CUT, cut_to_tokens, fair_cap, newest_that_fit
from memory.policy.text import escape_data
from memory.policy.trimming import exchanges, sound_parts
from memory.ports import TokenCounter
from memory.prompt.sections import Surroundings, attached_file, format_talk, memory_data
from memory.records import SearchHit, StoredMessage

Count = Callable[[str], int]

_LARGEST_IMAGE = 1_600  # tokens; the service scales down what is larger


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """The estimated tokens of a message, tool calls and results, files and pictures included."""
    return sum(_part_tokens(part, counter) for part in message.parts)


def counted(stored: StoredMessage, counter: TokenCounter) -> StoredMessage:
    """The message with its size, counted where it has none."""
    return stored if stored.tokens else replace(stored, tokens=message_tokens(stored.message, counter))


def _part_tokens(part: Part, counter: TokenCounter) -> int:
    if isinstance(part, ImagePart):
        return image_tokens(part.width, part.height)
    return sum(map(counter.count, _texts(part)))


def image_tokens(width: int, height: int) -> int:
    """Tokens of a picture of so many pixels; the largest where the sides are not known.

    Anthropic's guide to vision: width x height / 750; a picture of more than some 1,600 tokens is scaled down.
    """
    return min(_LARGEST_IMAGE, -(-width * height // 750)) or _LARGEST_IMAGE


def _texts(part: TextPart | ToolCall | ToolResult | FilePart) -> tuple[str, ...]:
    match part:
        case FilePart():
            return (attached_file(part),)
        case TextPart():
            return (part.text,)
        case ToolCall():
            return (part.name, part.malformed if part.malformed is not None else as_json(part.arguments))
        case ToolResult():
            return (part.content,)


def as_json(value: Mapping[str, object]) -> str:
    """Arguments or a schema, as they are counted."""
    return json.dumps(dict(value), ensure_ascii=False)


def fit_history(
    history: Sequence[StoredMessage], room: int, *, result_cap: int, counter: TokenCounter
) -> tuple[StoredMessage, ...]:
    """The newest whole exchanges that fit, as they are shown and with the sizes they then have.

    Args:
        history: the messages in the window, oldest first.
        room: for all of it.
        result_cap: a longer tool result is cut in the middle.
        counter: counts what is not shown as it was stored.
    """
    shown = []
    for stored, parts in zip(history, sound_parts([stored.message for stored in history]), strict=True):
        if parts:
            message = _with_results_cut(_escaped(_of_parts(stored.message, parts)), result_cap, counter.count)
            as_stored = message == stored.message
            shown.append(counted(stored if as_stored else replace(stored, message=message, tokens=0), counter))
    whole = exchanges(shown)
    fitting = newest_that_fit([sum(stored.tokens for stored in exchange) for exchange in whole], room)
    return tuple(stored for exchange in whole[len(whole) - fitting :] for stored in exchange)


def fit_turn(
    turn: Sequence[Message], room: int, *, result_cap: int, counter: TokenCounter
) -> tuple[tuple[Message, ...], bool]:
    """The newest turn, made to fit, and whether any of the person's words are missing.

    The oldest tool rounds leave only where their calls, which cannot be cut, take too much; then person's words
    and tool results are cut to one common size.

    Args:
        turn: the newest user message, with some text, then the calls and results so far.
        room: for all of it.
        result_cap: a longer tool result is cut in the middle in any case.
        counter: estimates.
    """
    sound = [_of_parts(message, parts) for message, parts in zip(turn, sound_parts(turn), strict=True) if parts]
    words = user_message(escape_data(turn[0].text).strip())
    whole = (
        replace(words, parts=(*map(_escaped_part, attachments_of(turn[0])), *words.parts)),
        *map(_escaped, sound[1:]),
    )
    shown = tuple(_with_results_cut(message, result_cap, counter.count) for message in whole)
    solid, cuttable = _sizes(shown, counter)
    while len(shown) > 1 and solid + sum(min(size, SHORTEST_CUT) for size in cuttable) > room:
        shown = (shown[0], *_without_oldest_round(shown[1:]))
        solid, cuttable = _sizes(shown, counter)
    cap = fair_cap(cuttable, room - solid)
    fitted = (
        _spoken_cut(shown[0], cap, counter.count),
        *(_with_results_cut(message, cap, counter.count) for message in shown[1:]),
    )
    return fitted, fitted[0] != whole[0]


def _sizes(turn: Sequence[Message], counter: TokenCounter) -> tuple[int, list[int]]:
    """The size of what cannot be cut, and of the texts that can: the person's words and files, tool results."""
    results = [counter.count(result.content) for message in turn for result in message.tool_results]
    files = [counter.count(part.text) for part in attachments_of(turn[0]) if isinstance(part, FilePart)]
    cuttable = [counter.count(turn[0].text), *files, *results]
    return sum(message_tokens(message, counter) for message in turn) - sum(cuttable), cuttable


def _without_oldest_round(messages: Sequence[Message]) -> Sequence[Message]:
    starts = (place for place, message in enumerate(messages) if place and message.role is Role.ASSISTANT)
    return messages[next(starts, len(messages)) :]


def fit_journal(around: Surroundings, lines: Sequence[str], share: int, room: int, count: Count) -> Surroundings:
    """What stands beside the retrieved text, with the newest (the last) lines of the journal.

    Args:
        around: stays as it is.
        lines: of the journal.
        share: for the lines.
        room: for the lines and what marks them as the journal.
        count: estimates a text.
    """
    if not lines:
        return around
    bare = count(memory_data(around, ()))
    kept = tuple(lines[len(lines) - newest_that_fit([count(line) for line in lines], share) :])
    while kept and count(memory_data(replace(around, journal=kept), ())) - bare > room:
        kept = kept[1:]
    return replace(around, journal=kept)


def fit_surroundings(around: Surroundings, room: int, count: Count) -> Surroundings:
    """What stands beside the retrieved text, cut so that all of it fits; the agent's own work is cut last.

    Args:
        around: may be of any length.
        room: for the texts together.
        count: estimates a text.
    """
    working = cut_to_tokens(escape_data(around.working), room // 2, count)
    channel = cut_to_tokens(escape_data(around.channel), room - count(working), count)
    return replace(around, channel=channel, working=working)


def fit_talk(lines: Sequence[Line], parameters: MemoryParameters, count: Count) -> str:
    """What others said in a channel, one entry a line: as many of the newest as may be shown."""
    newest = lines[max(0, len(lines) - parameters.channel_context_messages) :]
    entries = format_talk(newest, parameters.zone)
    fitting = newest_that_fit([count(entry) for entry in entries], parameters.channel_context_tokens)
    return "\n".join(entries[len(entries) - fitting :])


def fit_data(
    around: Surroundings, hits: Sequence[SearchHit], room: int, count: Count
) -> tuple[str, tuple[SearchHit, ...]]:
    """The data block with as many of the best hits as may be shown, the longest of them cut, and these hits.

    Args:
        around: stays whole.
        hits: best first.
        room: for the whole block.
        count: estimates a text.
    """
    for shown in range(len(hits), 0, -1):
        best = hits[:shown]
        labels = count(memory_data(around, [replace(hit, text="") for hit in best]))
        cap = max(SHORTEST_CUT, fair_cap([count(hit.text) for hit in best], room - labels))
        data = memory_data(around, [replace(hit, text=cut_to_tokens(hit.text, cap, count)) for hit in best])
        if count(data) <= room:
            return data, tuple(best)
    return memory_data(around, ()), ()


def _of_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    """The message with these parts; itself, where they are its own: most messages are shown as they were stored."""
    return message if parts == message.parts else replace(message, parts=parts)


def _escaped(message: Message) -> Message:
    return _of_parts(message, tuple(map(_escaped_part, message.parts)))


def _escaped_part(part: Part) -> Part:
    match part:
        case TextPart() | FilePart():
            text = escape_data(part.text)
            return part if text == part.text else replace(part, text=text)
        case ToolResult():
            content = escape_data(part.content)
            return part if content == part.content else replace(part, content=content)
        case ToolCall() | ImagePart():
            return part


def _spoken_cut(message: Message, cap: int, count: Count) -> Message:
    """A person's message with its words and each of its files cut to ``cap``."""
    cut = tuple(
        replace(part, text=cut_to_tokens(part.text, cap, count)) if isinstance(part, TextPart | FilePart) else part
        for part in message.parts
    )
    return _of_parts(message, cut)


def _with_results_cut(message: Message, cap: int, count: Count) -> Message:
    if not message.tool_results:
        return message
    parts = tuple(
        replace(part, content=cut_to_tokens(part.content, cap, count)) if isinstance(part, ToolResult) else part
        for part in message.parts
    )
    return _of_parts(message, parts)
