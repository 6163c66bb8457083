"""What can be told of a text by rule: the feeling in it, who and what it is about, what is done, how it went.

The word lists are English; of a text in another language the names and the topics are found, and it has no emotion.

Invariant: everything that is given stands in the text, but for the names of emotions and outcomes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from memory.indexes.stop_words import STOP_WORDS
from memory.policy.calendar_names import MONTHS, WEEKDAYS

NEUTRAL = "neutral"
OUTCOMES = ("positive", "negative", "pending", "ongoing")
MOST_TOPICS = 5
MOST_ACTIONS = 3

_MOST_PEOPLE = 5
_SHORTEST_TOPIC, _LONGEST_TOPIC = 3, 40  # letters
_ACTION_WORDS = 5
_NEGATED_WITHIN = 12  # characters before a word of feeling

_FEELINGS = {
    "happy": "happy glad delighted pleased joyful cheerful wonderful amazing awesome fantastic great fun enjoyed",
    "excited": "excited thrilled eager stoked pumped",
    "grateful": "grateful thankful appreciate blessed",
    "proud": "proud accomplished",
    "relieved": "relieved relief finally phew",
    "loving": "love loved loves adore treasure",
    "sad": "sad unhappy miserable heartbroken crying cried miss missed lonely grief mourning",
    "angry": "angry furious mad annoyed irritated outraged hate hated",
    "frustrated": "frustrated frustrating stuck ugh fed-up",
    "anxious": "anxious worried nervous afraid scared stressed overwhelmed fear",
    "tired": "tired exhausted sleepy drained burned-out",
    "surprised": "surprised shocked unexpected wow",
    "curious": "curious wondering intrigued",
    "disappointed": "disappointed disappointing let-down regret",
}
_FEELING_OF = {word: feeling for feeling, words in _FEELINGS.items() for word in words.split()}
_NOT = re.compile(r"\b(?:not|n't|never|no longer|hardly)\s+(?:\w+\s+)?\Z", re.I)

_SIGNS = {
    "pending": r"\b(?:will|going to|gonna|plan(?:s|ning)? to|need(?:s)? to|ha(?:s|ve) to|want(?:s)? to"
    r"|hop(?:e|es|ing) to|tomorrow|next (?:week|month|year|time)|soon|wait(?:s|ing)?|to-?do|pending|not yet"
    r"|should|must|upcoming)\b",
    "ongoing": r"\b(?:still|keeps?|continu\w+|working on|in progress|learning|every (?:day|week|month|year)|usually"
    r"|always|currently|since)\b",
    "positive": r"\b(?:work(?:s|ed) (?:now|fine|well)|fixed|solved|done|finished|completed|succe\w+|passed|won|great"
    r"|good|love[sd]?|enjoyed|amazing|awesome|wonderful|happy|glad|proud|perfect|decided|chose|booked|bought|launched"
    r"|deployed|got the job)\b",
    "negative": r"\b(?:fail\w*|broke\w*|lost|cancel\w*|(?:does|did|is|was)(?: not|n't) work\w*|error|crash\w*|sick|ill"
    r"|bad|worse|worst|terrible|awful|hate[sd]?|sad|died|problem|injur\w+|rejected|missed)\b",
}
_SIGN_PATTERNS = {name: re.compile(pattern, re.I) for name, pattern in _SIGNS.items()}

_NO_NAMES = "anybody anyone everybody everyone everything i lots nobody nothing ok okay somebody someone something user"
_NO_PEOPLE = frozenset((*MONTHS, *WEEKDAYS, *_NO_NAMES.split()))
_CAPITALISED = re.compile(
    r"(?<![\w'’])(?!(?:Hey|Hi|Hello|Dear|Thanks|With|And|My|The|For|From)\b)"
    r"[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_]+)?(?:[ ][^\W\d_a-z][^\W\d_]+)?(?![\w])"
)
_SPEAKER = re.compile(r"^([^\W\d_][\w'’. -]{0,30}?):\s", re.MULTILINE)
_BEFORE_PEOPLE = re.compile(
    r"\b(?:with|and|met|meet|called|named|told|asked|by|thanks|thank you|hey|hi|hello|dear|hug|see|saw"
    r"|visit(?:ed)?|invited?|my (?:\w+ )?(?:sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|friend"
    r"|partner|boss|colleague|cousin|aunt|uncle|neighbour|neighbor|teacher|doctor))[ ,]+\Z",
    re.I,
)
_AFTER_PEOPLE = re.compile(
    r"\A(?:'s\b|’s\b|,? (?:is|was|has|had|said|says|told|asked|wants?|likes?|loves?|and I|will|works?|lives?"
    r"|called|who)\b)"
)
_AFTER_PLACES = re.compile(r"\b(?:in|at|near|of|on|visiting|toward|towards|through|around)[ ]+\Z", re.I)
_GREETED = re.compile(r"(?:,[ ]?)\Z")

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_FILLER_WORDS = """
    actually ago also amazing awesome back bit bye day days don't get gets getting going good got great guess
    hello hey hi i'll i'm i've it's just kind kinda know last like likes long lot lots made make maybe much need
    needs new next nice now okay old one pic pretty really right said saw say says see since sort sounds still
    super sure take thank thanks that's thing things think time today tomorrow took gave user want wanted wants
    way week well went will wow yeah year yep yes yesterday
"""
_FILLERS = frozenset(_FILLER_WORDS.split())

_INTENDED = (
    r"(?:decided|plan(?:s|ned|ning)?|need(?:s|ed)?|want(?:s|ed)?|going|ha(?:s|ve)|agreed|tr(?:y|ied|ying)|promised) to"
    r"|will|let's|should|must"
)
_DONE = """
    added adopted asked booked bought broke built called cancelled canceled changed chose completed cooked created
    deleted deployed drove finished fixed found gave graduated hired installed joined launched learned left lost
    married met migrated moved ordered organised organized paid painted passed planned planted played published quit
    read received repaired replaced returned sent signed sold solved started stopped switched travelled traveled tried
    updated upgraded visited volunteered won wrote
"""
_ACTION = re.compile(rf"(?<![\w-])(?:{_INTENDED}|(?P<done>{'|'.join(_DONE.split())}))\s+(?P<rest>[^.!?;,:\n(]+)", re.I)
_NO_ACTION = frozenset(("be", "been", "have", "me", "not", "to", "you"))
_ENDING_WORDS = "and but because so that which who when while if since although as or then"
_ACTION_ENDS = frozenset(_ENDING_WORDS.split())


def emotion_of(text: str) -> str:
    """The feeling in a text, two of them as ``anxious -> relieved`` where it changes; ``neutral`` without any."""
    felt = [
        _FEELING_OF[word]
        for found in _WORD.finditer(text)
        if (word := found[0].lower()) in _FEELING_OF
        and not _NOT.search(text[max(0, found.start() - _NEGATED_WITHIN) : found.start()])
    ]
    if not felt:
        return NEUTRAL
    return felt[0] if felt[0] == felt[-1] else f"{felt[0]} -> {felt[-1]}"


def outcome_of(text: str) -> str:
    """How it went or stands, one of ``OUTCOMES``: that of most signs; without any it goes on."""
    counts = {name: len(pattern.findall(text)) for name, pattern in _SIGN_PATTERNS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else "ongoing"


def people_in(text: str) -> list[str]:
    """The people that are named, each once, at most five: by who speaks, or by the words around a name."""
    named = [found[1] for found in _SPEAKER.finditer(text) if found[1][0].isupper() and found[1].lower() != "user"]
    named += [found[0] for found in _CAPITALISED.finditer(text) if _is_person(text, found)]
    people: dict[str, str] = {}
    for name in named:
        first = name.split()[0]
        if name.lower() not in _NO_PEOPLE and first.lower() not in _NO_PEOPLE and first.lower() not in STOP_WORDS:
            people.setdefault(first.casefold(), name)
    return list(people.values())[:_MOST_PEOPLE]


def topics_in(text: str, *, without: Iterable[str] = ()) -> list[str]:
    """The words with content that stand there most often, of equals the earlier ones; at most five.

    Args:
        text: any text.
        without: names that are told elsewhere.
    """
    said = {word.casefold() for name in without for word in name.split()}
    words = Counter(
        word
        for found in _WORD.finditer(text)
        if _SHORTEST_TOPIC <= len(word := found[0].lower()) <= _LONGEST_TOPIC and is_content(word) and word not in said
    )
    return [word for word, _ in words.most_common(MOST_TOPICS)]


def actions_in(text: str) -> list[str]:
    """What is done, was done or is to be done, in a few words each, at most three, in their order."""
    found = (_action(match) for match in _ACTION.finditer(text))
    return list(dict.fromkeys(action for action in found if action))[:MOST_ACTIONS]


def is_content(word: str) -> bool:
    """Whether a word in lower case says what a text is about."""
    parts = re.split(r"['’]", word)
    return word not in STOP_WORDS and word not in _FILLERS and word not in _FEELING_OF and parts[0] not in STOP_WORDS


def _is_person(text: str, found: re.Match[str]) -> bool:
    before, after = text[max(0, found.start() - 30) : found.start()], text[found.end() : found.end() + 12]
    if found[0].isupper() or _AFTER_PLACES.search(before):
        return False
    spoken_to = bool(_GREETED.search(before)) and after[:1] in ("!", "?", ",")
    return bool(_BEFORE_PEOPLE.search(before) or _AFTER_PEOPLE.match(after) or spoken_to)


def _action(match: re.Match[str]) -> str:
    words = list(_until_it_ends(match["rest"].split()))
    if not words or words[0].lower() in _NO_ACTION:
        return ""
    return " ".join([match["done"].lower(), *words] if match["done"] else words)


def _until_it_ends(words: Iterable[str]) -> Iterator[str]:
    for count, word in enumerate(words):
        if count == _ACTION_WORDS or word.lower() in _ACTION_ENDS:
            return
        yield word
