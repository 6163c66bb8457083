"""Small talk: greetings, thanks, good-byes, and what the stand-in says about itself.

Invariant: a reply here says nothing about the person beyond a name from core memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WHAT_I_AM = (
    "I am a rule-based stand-in, not a language model: I keep what you tell me about yourself and find it again, "
    "and little more."
)

_NAME = re.compile(r"Name: (.+?)\.?$")
_TAIL = r"(?: there| everyone| all| again| (?:so |very )?much| a lot| @?\w+)?\W*"
_REPLIES = tuple(
    (re.compile(pattern + _TAIL, re.I), reply)
    for pattern, reply in (
        (
            r"(?:hi+|hello|hey+|hiya|yo|greetings|morning|evening|good (?:morning|afternoon|evening|day))",
            "Hello{name}! Good to see you.",
        ),
        (
            r"(?:(?:hi|hello|hey)\W+)?(?:how are you(?: doing)?(?: today)?|how's it going|how do you do|what's up)",
            "I'm fine, thank you{name}. How are you?",
        ),
        (r"(?:thanks?(?: you)?|thx|ty|cheers|much appreciated)", "You're welcome{name}!"),
        (
            r"(?:thanks?(?: you)?(?: a lot| so much)?\W+)?"
            r"(?:bye|goodbye|bye bye|see you(?: later| soon| tomorrow)?|good night|take care|ciao)",
            "Goodbye{name}! I'll remember.",
        ),
        (
            r"(?:(?:who|what) are you|what can you do|are you (?:a |an )?(?:bot|robot|ai|human|real person)|help)",
            WHAT_I_AM + ' Try: "My name is Ann", "I love jasmine tea", "Add milk to my shopping list", then ask me.',
        ),
        (
            r"(?:ok(?:ay)?|yes|yeah|yep|no|nope|sure|great|cool|nice|good|fine|lol|haha+|wow|perfect"
            r"|i'?m (?:fine|good|ok|great)(?: too)?|nice to meet you(?: too)?)",
            "All right{name}.",
        ),
    )
)

# What asks for a kind word, whatever else is to be said of it.
_SORROW = re.compile(
    r"\b(?:died|passed away|funeral|cancer|broke up|got fired|lost my (?:job|work)|was laid off|in hospital"
    r"|(?:i am|i'm|i feel|i've been|feeling) (?:(?:so|very|really|quite|a bit|pretty|feeling) )*(?:sad|lonely|depressed"
    r"|down|terrible|awful|miserable|heartbroken|devastated|scared|anxious|stressed|exhausted|ill|sick|unwell|hurt)"
    r"|(?:bad|terrible|awful|rough|horrible) (?:day|week|night|news))\b",
    re.I,
)


def sympathy(said: str) -> str:
    """A kind word for what is sad in a message; empty where nothing is."""
    return "I'm sorry to hear that." if _SORROW.search(said.replace("’", "'")) else ""


def small_talk(words: str, core: Iterable[str]) -> str | None:
    """The reply to a message that is small talk as a whole, or None.

    Args:
        words: the person's message.
        core: lines of core memory, where their name may stand.
    """
    said = words.strip().replace("’", "'")
    if not re.search(r"\w", said):
        return "I can only read words."
    for pattern, reply in _REPLIES:
        if pattern.fullmatch(said):
            name = next((found[1] for line in core if (found := _NAME.match(line))), None)
            return reply.format(name=f", {name}" if name else "")
    return None
