"""Extractive digests: the sentences of a conversation worth keeping, never more words than asked for.

Invariant: every line is a line that was given, whole or cut to whole sentences; nothing is added, and of what
was said only what people told in their own words is kept, not what they asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.offline_rules.dates import names_a_date
from bot.offline_rules.small_talk import small_talk
from bot.offline_rules.statements import facts_in, is_question
from bot.offline_rules.wording import sentences

_DEFAULT_WORDS = 200
_NOTHING = "Nothing worth keeping was said."
_SECTION = r"<{name}>\n?(.*?)\n?</{name}>"
_ENTRY = re.compile(
    r"^(?:- )?\[(?P<day>\d{4}-\d\d-\d\d)[^\]]*\] (?P<author>[^:\n]{1,80}): (?P<text>.*(?:\n  .*)*)", re.M
)
_TIME = re.compile(r"^\[[^\]]*\] ")
_CONSTRAINT = re.compile(r"\b(?:never|always|must(?:n't)?|do not ever|under no circumstances)\b", re.I)
_DECISION = re.compile(
    r"\b(?:decided?|agreed?|chose|choose|will|plan(?:ned)?|going to|booked|promised?|remember)\b", re.I
)
_NAME = re.compile(r"(?<=[\w,] )(?!I\b)[A-Z]\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line that may be kept: its text, how much it is worth, and whether the digest so far held it."""

    text: str
    worth: int
    constraint: bool
    old: bool

    @property
    def length(self) -> int:
        """In words."""
        return len(self.text.split())


def digest(material: str, agent_name: str) -> str:
    """A digest of a previous summary and new messages.

    Constraints come first, in their own words. New lines are sure of half of what is left, so that a full summary
    does not shut them out; then come the lines of the summary so far, then further new ones.

    Args:
        material: ``<previous_summary>``, ``<evicted_messages>`` or ``<session_log>``, and ``<max_words>``.
        agent_name: whose own sentences are left out: what the agent said is no news.
    """
    limit = int(_section(material, "max_words").strip() or _DEFAULT_WORDS)
    log = _section(material, "evicted_messages") or _section(material, "session_log")
    lines = _distinct([*_previous(_section(material, "previous_summary")), *_said(log, agent_name)])
    kept = _chosen([line for line in lines if line.constraint], limit)
    old = [line for line in lines if line.old and not line.constraint]
    new = [line for line in lines if not line.old and not line.constraint]
    kept += _chosen(new, _left(kept, limit) // 2)
    kept += _chosen(old, _left(kept, limit))
    kept += _chosen([line for line in new if line not in kept], _left(kept, limit))
    ordered = sorted(kept, key=lambda line: (not line.constraint, lines.index(line)))
    return "\n".join(line.text for line in ordered) or _NOTHING


def digest_of_entries(material: str, agent_name: str) -> str:
    """As many of the newest journal entries as the words allow, in their order, each without its time.

    Args:
        material: ``<entries>`` and ``<max_words>``.
        agent_name: as for ``digest``; entries name no speaker.
    """
    limit = int(_section(material, "max_words").strip() or _DEFAULT_WORDS)
    kept: list[str] = []
    for line in reversed(_section(material, "entries").splitlines()):
        text = _TIME.sub("", line).strip()
        if text and len(text.split()) <= limit:
            kept.append(text)
            limit -= len(text.split())
    return "\n".join(reversed(kept)) or _NOTHING


def _section(material: str, name: str) -> str:
    found = re.search(_SECTION.format(name=name), material, re.S)
    return found[1] if found else ""


def _previous(summary: str) -> Iterator[_Line]:
    for line in summary.splitlines():
        text = line.strip()
        if text and text != _NOTHING:
            yield _Line(text=text, worth=worth(text), constraint=bool(_CONSTRAINT.search(text)), old=True)


def _said(log: str, agent_name: str) -> Iterator[_Line]:
    for entry in _ENTRY.finditer(log):
        if entry["author"] == agent_name:
            continue
        for sentence in sentences(entry["text"]):
            value = worth(sentence)
            if value and small_talk(sentence, ()) is None and not is_question(sentence):
                text = f"[{entry['day']}] {entry['author']}: {sentence}"
                yield _Line(text=text, worth=value, constraint=bool(_CONSTRAINT.search(sentence)), old=False)


def worth(sentence: str) -> int:
    """How much a sentence is worth keeping; 0 for not at all."""
    return (
        2 * bool(facts_in(sentence, None))
        + 2 * bool(re.search(r"\d", sentence) or names_a_date(sentence))
        + 2 * bool(_DECISION.search(sentence) or _CONSTRAINT.search(sentence))
        + bool(_NAME.search(sentence))
        + (len(sentence.split()) >= 4 or not sentence.isascii())
    )


def _distinct(lines: Sequence[_Line]) -> list[_Line]:
    return list({line.text: line for line in reversed(lines)}.values())[::-1]


def _chosen(lines: Sequence[_Line], room: int) -> list[_Line]:
    """The worthiest lines that fit into ``room`` words, newer ones first among equals."""
    chosen: list[_Line] = []
    for line in sorted(reversed(lines), key=lambda line: -line.worth):
        if line.length <= room:
            chosen.append(line)
            room -= line.length
    return chosen


def _left(kept: Sequence[_Line], limit: int) -> int:
    return limit - sum(line.length for line in kept)
