"""What the person asks to be kept, crossed out or forgotten in so many words.

Invariant: a wish is read from the start of the person's own message or sentence, never from inside a quotation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from bot.offline_rules.dates import made_absolute
from bot.offline_rules.statements import Fact, facts_in, own_words
from bot.offline_rules.wording import sentences

_REMEMBER = re.compile(
    r"(?:hey,? |ok,? |and |also |please |can you |could you |will you )*"
    r"(?:(?:remember|note|memori[sz]e|save)(?: this| that)?\s*[:：]\s*"
    r"|(?:remember|note|don't forget|do not forget|keep in mind|make a note|write down)(?: this,?)? that\s+"
    r"|(?:remember|don't forget|do not forget)(?: to|(?= (?:i|my|i'm|we|our)\b))\s+)"
    r"(?P<text>.+)",
    re.I | re.S,
)
_ADD = re.compile(
    r"(?:please |can you |could you |and |also )*(?:add|put) (?P<items>.+?) (?:to|on|onto|in) (?:my|the|our)"
    r" (?P<name>[\w-]+(?: [\w-]+)?)[ -]list\W*|(?:my )?(?P<name2>[\w-]+) list: (?P<items2>.+)",
    re.I | re.S,
)
_CROSS_OUT = re.compile(
    r"(?:please |can you |could you |and |also )*(?:remove|take|delete|cross|strike) (?P<items>.+?)"
    r" (?:out )?(?:from|off|of) (?:of )?(?:my|the|our) (?P<name>[\w-]+(?: [\w-]+)?)[ -]list\W*",
    re.I,
)
_FORGET = re.compile(
    r"(?:please |can you |could you |will you )*(?:forget(?: about)?|stop remembering|(?:don't|do not) remember"
    r"|(?:delete|erase|remove)(?: from your memory| from memory)?(?=.*\b(?:memory|remember|know|that (?:i|my)\b)))"
    r" (?!to\b)(?:that |about |everything (?:you know )?about )?(?P<text>.+?)(?: from (?:your )?memory)?",
    re.I | re.S,
)
_ITEMS = re.compile(r"\s*[,;\n]\s*(?:and\s+)?|\s+and\s+", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEdit:
    """A change of one of the person's lists.

    Attributes:
        name: the list's name, lower case: ``shopping``.
        add: items to add, in order.
        remove: items to cross out, lower case.
    """

    name: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """A wish that something be forgotten. ``text`` says what, in the person's words."""

    text: str


Wish = Fact | ListEdit | Forget


def to_forget(sentence: str) -> str | None:
    """What the sentence asks to have forgotten, in the person's words; None where it asks for nothing like that."""
    asked = _FORGET.fullmatch(sentence)
    return asked["text"].strip(" .!?") if asked else None


def wishes_in(message: str, today: date | None) -> tuple[tuple[Wish, ...], str]:
    """The wishes of a message, and what is left of it.

    A message that begins with "remember" is one wish as a whole, since what is to be kept may be long.
    """
    if asked := _REMEMBER.fullmatch(message.strip().replace("’", "'")):
        return _remembered(asked["text"].strip(), today), ""
    wishes: list[Wish] = []
    rest: list[str] = []
    for sentence in sentences(own_words(message)):
        found = _wishes(sentence, today)
        wishes.extend(found)
        if not found:
            rest.append(sentence)
    return tuple(wishes), "\n".join(rest)


def _wishes(sentence: str, today: date | None) -> tuple[Wish, ...]:
    if asked := _REMEMBER.fullmatch(sentence):
        return _remembered(asked["text"].strip(), today)
    if added := _ADD.fullmatch(sentence):
        items = added["items"] or added["items2"]
        return (ListEdit(name=(added["name"] or added["name2"]).lower(), add=_items(items)),)
    if crossed := _CROSS_OUT.fullmatch(sentence):
        return (ListEdit(name=crossed["name"].lower(), remove=tuple(map(str.lower, _items(crossed["items"])))),)
    if (forgotten := to_forget(sentence)) is not None:
        return (Forget(text=forgotten),)
    return ()


def _remembered(text: str, today: date | None) -> tuple[Fact, ...]:
    facts = facts_in(text, today) if len(sentences(text)) == 1 else ()
    return facts or (Fact(line=f"Note: {made_absolute(text, today).rstrip('.!')}."),)


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip(" .!?\"'") for item in _ITEMS.split(text) if item.strip(" .!?\"'"))
