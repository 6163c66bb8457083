"""The story of a session, by rule: the answer to the request that ``memory.prompt.episode`` makes.

Invariant: every sentence of it but the frame is one that the person said; nothing is concluded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.offline_rules.digest import worth
from bot.offline_rules.small_talk import small_talk
from bot.offline_rules.statements import is_question
from bot.offline_rules.wording import sentences
from memory.records import MomentKind, Outcome

_LOG = re.compile(r"<session_log>\n(.*)\n</session_log>", re.S)
_AGENT = re.compile(r"^The assistant is called (.+)\.$", re.M)
_ENTRY = re.compile(r"^(?P<number>\d+)\. \[[^\]]*\] (?P<author>[^:\n]{1,80}): (?P<text>.*(?:\n  .*)*)", re.M)

_SENTENCES_OF_SUMMARY = 2
_MOST_MOMENTS = 4
_MOST_LESSONS = 3
_MOST_TAGS = 5

_KINDS: tuple[tuple[MomentKind, re.Pattern[str]], ...] = (
    (MomentKind.DECISION, re.compile(r"\b(?:decided?|agreed?|chose|settled on|let's (?:go with|use|take))\b", re.I)),
    (MomentKind.SOLUTION, re.compile(r"\b(?:fixed|solved|works now|turned out|the fix)\b", re.I)),
    (
        MomentKind.PROBLEM,
        re.compile(r"\b(?:problem|bug|broken?|fail(?:s|ed)?|error|stuck|cannot|can't|doesn't work)\b", re.I),
    ),
    (MomentKind.CORRECTION, re.compile(r"^(?:no[, ]|actually|i meant)|\bi meant\b", re.I)),
    (MomentKind.PREFERENCE, re.compile(r"\bi (?:prefer|like|love|hate|want|always|never)\b", re.I)),
)
_LESSON = re.compile(r"\b(?:next time|from now on|the lesson|should have|worked best)\b", re.I)
_GOOD_END = re.compile(r"\b(?:works now|solved|fixed|perfect|that's it|got it|great,? thanks|all done)\b", re.I)
_BAD_END = re.compile(r"\b(?:still (?:not|doesn't|broken|fails)|doesn't work|gave up|give up|no use|useless)\b", re.I)
_NAME = re.compile(r"(?<=[\w,] )(?!I\b)[A-Z]\w+")

_WHEN_ASKED = re.compile(
    r"(?:when(?:ever)?|every time|if) i (?:ask(?: you)? for|want|need) (?:a |an |the |my )?(?P<what>[\w -]{3,40}?),"
    r" (?P<how>.+)",
    re.I,
)
_LIKED = re.compile(r"i (?:like|want|prefer) my (?P<what>[\w-]{3,30}) (?P<how>.+)", re.I)
_THEN = re.compile(r"\s*(?:;|, (?:and )?then |,? and then |\. then )\s*", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A sentence of the person, and the number of its message."""

    text: str
    message: int


def told(material: str, _agent_name: str) -> str:
    """The story of a session, as JSON.

    Args:
        material: ``<session_log>`` and the assistant's name.
    """
    agent = _AGENT.search(material)
    log = _LOG.search(material)
    entries = list(_ENTRY.finditer(log[1].replace("&lt;", "<") if log else ""))
    own = [entry for entry in entries if agent is None or entry["author"] != agent[1]]
    said = [
        _Said(text=sentence, message=int(entry["number"]))
        for entry in own
        for sentence in sentences(entry["text"])
        if small_talk(sentence, ()) is None
    ]
    stated = [one for one in said if not is_question(one.text)]
    author = own[0]["author"] if own else "The person"
    story = {
        "summary": _summary(author, stated or said),
        "goal": next((one.text for one in said if is_question(one.text)), ""),
        "journey": [],
        "outcome": _outcome(own[-1]["text"] if own else ""),
        "key_moments": list(_moments(stated))[:_MOST_MOMENTS],
        "lessons": [one.text for one in stated if _LESSON.search(one.text)][:_MOST_LESSONS],
        "tags": _tags(stated),
        "importance": None,
        "facts": [],
        "procedures": list(_procedures(author, stated)),
    }
    return json.dumps(story, ensure_ascii=False)


def _summary(author: str, said: Sequence[_Said]) -> str:
    best = sorted(said, key=lambda one: -worth(one.text))[:_SENTENCES_OF_SUMMARY]
    told_in_order = " ".join(_ended(one.text) for one in said if one in best)
    return f"{author} said: {told_in_order}" if told_in_order else ""


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?。！？" else f"{sentence}."


def _outcome(last: str) -> str:
    if _BAD_END.search(last):
        return Outcome.FAILURE
    return Outcome.SUCCESS if _GOOD_END.search(last) else Outcome.PARTIAL


def _moments(said: Iterable[_Said]) -> Iterator[dict[str, Any]]:
    for one in said:
        kind = next((kind for kind, pattern in _KINDS if pattern.search(one.text)), None)
        if kind is not None:
            yield {"kind": kind, "what": one.text, "why": "", "message": one.message}


def _tags(said: Iterable[_Said]) -> list[str]:
    return list(dict.fromkeys(name for one in said for name in _NAME.findall(one.text)))[:_MOST_TAGS]


def _procedures(author: str, said: Iterable[_Said]) -> Iterator[dict[str, Any]]:
    """How something is to be done: "Whenever I ask for a report, begin with the numbers"."""
    for one in said:
        sentence = one.text.strip(" .!")
        found = _WHEN_ASKED.fullmatch(sentence) or _LIKED.fullmatch(sentence)
        if found:
            what = found["what"].strip().lower()
            yield {
                "name": what,
                "description": f"How {author} wants {what} to be done.",
                "steps": [step for step in _THEN.split(found["how"]) if step],
                "triggers": [what.removesuffix("s")],
            }
