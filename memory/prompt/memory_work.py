"""The requests of memory work: what a small model is asked to write for the memory itself.

Invariant: everything said or stored stands in data blocks of the user message; the system prompt is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory.messages import ModelRequest, SystemBlock, user_message
from memory.policy.budget import cut_to_tokens, fair_cap
from memory.policy.text import cut_middle
from memory.prompt.sections import block, indented, speaker, template
from memory.records import StoredMessage

_MESSAGE_CHARS = 8_000
_DIGEST_TOKENS = 1_024  # of an answer, at most
_SUMMARY_TOKENS = 2_048  # the same


def window_summary_request(previous: str, evicted: Sequence[StoredMessage], max_words: int) -> ModelRequest:
    """Asks for the digest of what left the window, taking in the messages that leave now.

    Args:
        previous: the digest so far; may be empty.
        evicted: the messages that leave, oldest first. Only what was said counts: tool calls and results are
            left out, so that recalled memory is not summarised as if it were news.
        max_words: length of the new digest, at most.
    """
    material = (
        block("previous_summary", previous.strip()),
        block("evicted_messages", message_log(evicted, _MESSAGE_CHARS)),
    )
    return _request("summarize_window", material, max_words, _DIGEST_TOKENS)


def session_summary_request(previous: str, log: Sequence[StoredMessage], max_words: int) -> ModelRequest:
    """Asks for the rolling summary, taking in what was said in the sessions that ended.

    Args:
        previous: the summary so far; empty for a new person.
        log: what was said, oldest first; tool calls and results are left out.
        max_words: length of the new summary, at most.
    """
    material = (
        block("previous_summary", previous.strip()),
        block("session_log", message_log(log, _MESSAGE_CHARS)),
    )
    return _request("summarize_session", material, max_words, _SUMMARY_TOKENS)


def journal_digest_request(
    lines: Sequence[str], max_words: int, *, room: int, count: Callable[[str], int]
) -> ModelRequest:
    """Asks for the digest of old journal entries.

    Args:
        lines: the printed entries, oldest first.
        max_words: length of the digest, at most.
        room: estimated tokens that all lines may take together; the longest are cut in the middle.
        count: estimates a text.
    """
    cap = fair_cap([count(line) for line in lines], room)
    shown = "\n".join(indented(cut_to_tokens(line, cap, count)) for line in lines)
    return _request("digest_journal", (block("entries", shown),), max_words, _DIGEST_TOKENS)


def _request(task: str, material: Sequence[str], max_words: int, max_output_tokens: int) -> ModelRequest:
    return ModelRequest(
        system=(SystemBlock(name=task, text=template(task).strip()),),
        messages=(user_message("\n".join((*material, f"<max_words>{max_words}</max_words>"))),),
        max_output_tokens=max_output_tokens,
    )


def message_log(messages: Sequence[StoredMessage], max_chars: int) -> str:
    """What was said, one message a line: ``[2026-03-02 09:00] Ann: text``; tool calls and results are left out.

    Args:
        messages: oldest first.
        max_chars: of one message; a longer one is cut in the middle.
    """
    return "\n".join(
        f"[{stored.sent_at:%Y-%m-%d %H:%M}] {speaker(stored.author)}: "
        f"{indented(cut_middle(stored.text.strip(), max_chars))}"
        for stored in messages
        if stored.text.strip()
    )
