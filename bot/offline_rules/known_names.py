"""Those whom the person speaks of by a name that was told before.

Invariant: a name that stands for two people or pets, or for nobody that a note speaks of, stays as it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from bot.offline_rules.statement_words import DOES, TAKES
from bot.offline_rules.wording import PETS, RELATIONS

_ONE = r"(?-i:[^\W\d_a-z])[\w'-]+"
_NAME = rf"(?P<name>{_ONE})"
_KIND = rf"(?P<kind>{'|'.join((*RELATIONS, *PETS))})"
_NOTES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"Their (?:[\w-]+ ){{0,2}}?{_KIND} is called {_NAME}\.",
        rf"Their (?:[\w-]+ ){{0,2}}?{_KIND} {_NAME} (?:{DOES}|{TAKES}) ",
        rf"Has an? (?:[\w-]+ ){{0,2}}?{_KIND} (?:named|called) {_NAME}\.",
        rf".*\btheir {_KIND} {_NAME}\.",
    )
)
_SEVERAL = re.compile(
    rf"Has \w+ {_KIND}s?(?:,|:| named| called) (?P<names>{_ONE}(?:, {_ONE})*(?:,? and {_ONE})?)\.", re.I
)
_ONE_OF = {"children": "child", "kids": "child"}
_BEFORE = r"(?:^|(?<=[.!?,;:]\s)|(?<=\band )|(?<=\bbut )|(?<=\bnow )|(?<=\bactually ))"
_AFTER = rf"(?=(?:'s| (?:just |also |now |recently )?(?:{DOES}|{TAKES}|turn(?:s|ed)|will))\b)"


def with_kinds(text: str, core: Iterable[str]) -> str:
    """The text with what somebody is to the person before a known name that a clause begins with: "my brother Tom".

    Args:
        text: the person's words.
        core: the lines of core memory.
    """
    for name, kinds in _known(core).items():
        if len(kinds) == 1:
            text = re.sub(rf"{_BEFORE}{re.escape(name)}{_AFTER}", f"my {min(kinds)} {name}", text, flags=re.M)
    return text


def _known(core: Iterable[str]) -> dict[str, set[str]]:
    known: defaultdict[str, set[str]] = defaultdict(set)
    for line in core:
        for note in _NOTES:
            if found := note.match(line):
                known[found["name"]].add(found["kind"].lower())
        if several := _SEVERAL.match(line):
            kind = several["kind"].lower()
            for name in re.findall(_ONE, several["names"]):
                known[name].add(_ONE_OF.get(kind, kind))
    return known
