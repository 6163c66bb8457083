"""What is close enough to a message to be shown unasked, and which messages ask for nothing.

A memory is about the person, so a message that speaks of its writer ("What do I do for a living?"), or asks for advice,
may ask for something that lies far off in words and meaning. For one that does not ("What is the capital of
Mongolia?") a memory must come much closer. Of 200 questions about planted memories 85 % speak of the asker; of 200
greetings, sums and questions about the world none do but "How do I ..." and "Tell me ...", which ask how a thing is
done and not about the one who does it.

Invariant: a message without content lets nothing through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory.indexes.stop_words import STOP_WORDS
from memory.policy.ranking import RankedEntry
from memory.records import Source

_STRONG_TEXT = 0.5

_WORD = re.compile(r"[^\W_]+")
_SHORTEST_NUMBER = 4  # digits: a year or a code may be looked for, the numbers of "2+2" may not
_SMALL_TALK_WORDS = """
    a afternoon again ah aha all alright am and are awesome bye cheers cool cya date day do doing evening fine for
    going goodbye good great haha hahaha have hello hey hi hiya hmm how hows i is it its later lol lot me morning
    much my nah nice night no nope oh ok okay our perfect please right see so sup sure thank thanks that the there
    thx time to today tonight too u up very we welcome well what whats wow ya yay yeah yep yes yo you your
"""
_SMALL_TALK = frozenset(_SMALL_TALK_WORDS.split())

_ONESELF = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|suggest\w*|recommend\w*|advi[cs]e"
    r"|ich|mich|mir|mein\w*|wir|uns|unser\w*|je|moi|mon|ma|mes|nous|notre|nos|yo|mí|mi|mis|nuestr\w+|mio|mia|io"
    r"|eu|meu|minha|я|меня|мне|мой|моя|мо[её]|мои|мы|нас|наш\w*)\b"
    r"|[我私僕俺]|나는|내가|제가|저는|우리"
    r"|\b(?:at (?:home|work|our place)|(?:in|of) the family|next door|zu hause|daheim|chez nous|en casa)\b",
    re.IGNORECASE,
)
_NOT_ABOUT_ONESELF = re.compile(
    r"^\W*(?:how (?:do|can|should|would|could) (?:i|we)|(?:can|could) (?:i|we))\b"
    r"(?! (?:prefer|like|usually|normally|always|often|feel)\b)"
    r"|\b(?:tell|give|show|teach|write|explain|help|let)(?: \w+)? me\b|\bto me\b",
    re.IGNORECASE,
)


# A sum or a conversion, which nothing that was said can answer, however many numbers it holds.
_SUM = re.compile(
    r"^\W*(?:what(?:[’']?s| is| are)|how much (?:is|are)) \d[\d.,]*(?![\d.,])"
    r"(?: ?[+*/×÷^%=]| - | (?:plus|minus|times|divided|multiplied|to the|percent|squared|cubed|as an?|in)\b)"
    r"|^\W*(?:calculate|compute|solve|convert|add|subtract|multiply|divide) \D{0,10}\d"
    r"|\b(?:square root|cube root|sum|product|median|mean|average) of \d"
    r"|^\W*how many (?:seconds|minutes|hours|days|weeks|inches|feet|yards|miles|(?:kilo|centi|milli)?met(?:re|er)s"
    r"|(?:kilo)?grams|ounces|pounds|lit(?:re|er)s|cups|pints|gallons)(?: are| is)?(?: there)? in (?:a|an|one)\b",
    re.IGNORECASE,
)

_QUESTION = re.compile(
    r"[?？؟]|^\W*(?:what|when|where|which|who|why|how|did|do|was|were|tell me|remind me|summari[sz]e|wann|wo|wer|wie"
    r"|qu[eé]|quand|quoi|cu[aá]ndo|cosa|quando)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What an entry must reach, one or the other.

    Attributes:
        similarity: the cosine that suffices.
        with_words: the cosine that suffices where the words are among the best matches of this search: a rare word
            (a name, a code) may be all that two texts share, unless their meanings are plainly unlike.
    """

    similarity: float
    with_words: float = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """The floors of one source.

    Attributes:
        oneself: for a message that speaks of its writer.
        world: for one that does not.
        unknown: for one of which it cannot be told: a single word, or a script that the list here does not cover.
    """

    oneself: Floor
    world: Floor
    unknown: Floor = Floor(similarity=0.30)

    def of(self, query: str) -> Floor:
        """The floor for a message."""
        if speaks_of_oneself(query):
            return self.oneself
        return self.unknown if _looks_up(query) or not query.isascii() else self.world


# By the beginning of an embedder's name, and by source. In brackets what bench/injection.py finds of 200 questions, and
# how often 200 unrelated messages bring up anything, with these floors and with others.
#
# Messages: one floor of 0.30 for all queries finds less, and lets 20 % bring up something.
_MINILM_MESSAGES = Floors(  # (.930, 1.5 %; oneself 0: .925, 0.20: .895; world 0.33: 3.5 %, 0.40: .915)
    oneself=Floor(similarity=0.10), world=Floor(similarity=0.36, with_words=0.33)
)
# A fact is one short sentence about a person, and far from what the person then asks for: "User is vegetarian" from
# "what should I cook tonight?" (of 53 such questions about 25 facts 0.18 finds 92 %, 0.30 finds 60 %). Under their date
# facts lie further off still (55 %), so the text alone is indexed. Being short, facts are also found by questions about
# the world, for which the floor is higher than a message's.
_MINILM_FACTS = Floors(  # (oneself 0.05 and 0.18: the same; world 0.35: .935, 3.5 %, 0.50: .925, 1.0 %)
    oneself=Floor(similarity=0.15), world=Floor(similarity=0.40, with_words=0.40)
)
# The multilingual embedder puts questions about the world as near to a memory as those about oneself are to their
# answer, so the floors for them are higher, for words too.
_E5 = Floors(  # (.910, 0.5 %; world 0.42: 3.0 %, 0.46: .900; oneself 0.30: .875)
    oneself=Floor(similarity=0.20, with_words=0.20),
    world=Floor(similarity=0.44, with_words=0.44),
    unknown=Floor(similarity=0.42, with_words=0.42),
)
# (with those of messages: 2.0 %)
_E5_FACTS = replace(_E5, world=Floor(similarity=0.48, with_words=0.48), unknown=Floor(similarity=0.46, with_words=0.46))
_BUNDLED = "all-MiniLM-L6-v2"
_FLOORS: Mapping[str, Mapping[Source, Floors]] = {
    _BUNDLED: {Source.RECALL: _MINILM_MESSAGES, Source.FACT: _MINILM_FACTS},
    "multilingual-e5-small": {Source.RECALL: _E5, Source.FACT: _E5_FACTS},
}
MESSAGE_FLOORS = _MINILM_MESSAGES


def floors_of(embedder: str, source: Source) -> Floors:
    """The floors of a source's entries under an embedder of that name.

    A source that has none of its own takes those of messages, an embedder that was not measured those of the bundled
    one.
    """
    measured = next((name for name in _FLOORS if embedder.startswith(name)), _BUNDLED)
    return _FLOORS[measured].get(source, _FLOORS[measured][Source.RECALL])


def above_floor(ranked: Sequence[RankedEntry], query: str, *, floors: Floors = MESSAGE_FLOORS) -> list[RankedEntry]:
    """The entries worth showing unasked, in the given order; none where the query asks for nothing.

    Args:
        ranked: what ``rank`` or ``rerank`` returned.
        query: the text that was searched for; one that asks for a sum lets nothing through.
        floors: those of the entries' source and embedder, from ``floors_of``.
    """
    if not has_content(query) or (_SUM.search(query) and not speaks_of_oneself(query)):
        return []
    floor = floors.of(query)
    return [entry for entry in ranked if is_relevant(entry, floor)]


def is_relevant(ranked: RankedEntry, floor: Floor) -> bool:
    """Whether the entry is close enough in meaning, or in words. One not embedded yet is judged by words alone."""
    similarity = ranked.entry.similarity
    strong_text = ranked.text_share >= _STRONG_TEXT
    if similarity is None:
        return strong_text
    return similarity >= floor.similarity or (strong_text and similarity >= floor.with_words)


def has_content(query: str) -> bool:
    """Whether any word of the query is more than a greeting, a thank-you, a lone letter or a small number."""
    return any(_is_content(word.lower()) for word in _WORD.findall(query))


def speaks_of_oneself(query: str) -> bool:
    """Whether the message is about its writer, or asks for advice."""
    return _ONESELF.search(_NOT_ABOUT_ONESELF.sub(" ", query)) is not None


def asks(query: str) -> bool:
    """Whether the message asks something, and does not only tell."""
    return _QUESTION.search(query) is not None


def _looks_up(query: str) -> bool:
    """Whether it is one word with content and nothing else of weight, as in "and Lisbon?"."""
    words = [word for word in _WORD.findall(query.lower()) if word not in STOP_WORDS | _SMALL_TALK]
    return len(words) == 1 and words[0].isalpha()


def _is_content(word: str) -> bool:
    if word.isdecimal():
        return len(word) >= _SHORTEST_NUMBER
    return word not in _SMALL_TALK and not (len(word) == 1 and word.isascii())
