"""Words: between "I", "you" and the third person that notes are written in, and what two texts share.

Invariant: a line that ``noted`` wrote is told back by ``told`` in the second person; any other line is quoted as
it stands, never reworded.
"""

from __future__ import annotations

import re
import unicodedata

ADVERBS = ("always", "never", "usually", "often", "mostly", "no longer")
_STATIVE_VERBS = """
    like love hate dislike prefer enjoy adore despise live work study speak play have be want need own drive
    collect eat drink teach support volunteer practise practice run ride read cook use wear follow
"""
_RELATIONS = """
    mother father mum mom dad parents sister brother sibling wife husband partner girlfriend boyfriend fiance
    fiancee son daughter child children kids baby aunt uncle cousin niece nephew grandmother grandfather grandma
    grandpa friend boss colleague neighbour neighbor roommate flatmate twin stepmother stepfather
"""
_PETS = "dog cat puppy kitten hamster rabbit parrot horse bird fish pet tortoise turtle snake lizard"
_PROFESSION_WORDS = """
    accountant actor architect baker barber biologist builder butcher carpenter chef chemist cleaner cook dentist doctor
    electrician engineer farmer firefighter gardener hairdresser historian journalist judge lawyer librarian lecturer
    mechanic midwife nurse optician paramedic pharmacist photographer physicist physiotherapist pilot plumber policeman
    policewoman postman priest professor programmer psychologist researcher scientist secretary soldier surgeon surveyor
    tailor teacher therapist translator vet waiter waitress welder
"""
PROFESSIONS = tuple(_PROFESSION_WORDS.split())
STATIVE = tuple(_STATIVE_VERBS.split())
RELATIONS = tuple(_RELATIONS.split())
PETS = tuple(_PETS.split())

_IRREGULAR = {"be": "is", "have": "has", "do": "does", "go": "goes"}
_BASE = {third: base for base, third in _IRREGULAR.items()}
_MINE = {
    "my": "their",
    "our": "their",
    "mine": "theirs",
    "me": "them",
    "us": "them",
    "i": "they",
    "we": "they",
    "i'm": "they are",
    "i've": "they have",
    "myself": "themselves",
}
_YOURS = {"their": "your", "theirs": "yours", "them": "you", "they": "you", "themselves": "yourself"}
_LABEL = re.compile(r"(?P<label>[A-Z][\w' -]{0,40}): (?P<value>.+)", re.S)
_MODAL = re.compile(r"(?P<modal>Can't|Doesn't) (?P<rest>.+)", re.S)

_STOP_TEXT = """
    a about all also am an and any anything are as ask at be been but by call called can could did do does ever
    for from get go going had has have he her him his how i if in is it its know let like may me mention
    mentioned my name named of on one or our please remember said say she so some something talk tell than that
    the their them then there they thing this to told up us was we were what when where which who whom whose why
    will with would you your yours i'm i've what's who's where's when's it's don't
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())
_SYNONYMS = {
    "mum": "mother",
    "mom": "mother",
    "dad": "father",
    "vacation": "trip",
    "holiday": "trip",
    "journey": "trip",
    "color": "colour",
    "favorite": "favourite",
    "kids": "child",
    "children": "child",
    "kid": "child",
    "puppy": "dog",
    "kitten": "cat",
    "bday": "birthday",
    "job": "work",
    "profession": "work",
    "meal": "food",
    "dish": "food",
    "apartment": "flat",
    "dislike": "hate",
}
_WORD = re.compile(r"\w+(?:['’]\w+)*")
# The point of a title or of "St. Ives" ends no sentence, nor does that of "3. May".
_NO_END = r"(?<!\d\.)" + "".join(rf"(?<!\b{short}\.)" for short in ("Mr", "Mrs", "Ms", "Dr", "Prof", "St"))
_SENTENCE_END = re.compile(rf"(?<=[.!?？؟。！]){_NO_END}\s+|(?<=[？。！])|\n+")


def third(verb: str) -> str:
    """The verb's third person: ``like`` -> ``likes``, ``teach`` -> ``teaches``, ``be`` -> ``is``."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("ch", "sh", "ss", "x", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return verb[:-1] + "ies"
    return verb + "s"


def noted(text: str) -> str:
    """The person's words as a note says them: "my" becomes "their", "I" becomes "they"."""
    swapped = _swap(text, _MINE)
    return re.sub(r"\bthey was\b", "they were", re.sub(r"\bthey am\b", "they are", swapped))


def told(line: str) -> str:
    """A line of memory as it is told to the person, one sentence."""
    body = line.strip().rstrip(".")
    if label := _LABEL.fullmatch(body):
        return _told_label(label["label"], label["value"])
    if body.startswith("Their "):
        return f"Your {body[6:]}."
    if modal := _MODAL.fullmatch(body):
        word = {"Can't": "can't", "Doesn't": "don't"}[modal["modal"]]
        return f"You {word} {_swap(modal['rest'], _YOURS)}."
    lowered = body[:1].lower() + body[1:]
    adverb = next((f"{word} " for word in ADVERBS if lowered.startswith(f"{word} ")), "")
    verb, _, rest = lowered.removeprefix(adverb).partition(" ")
    base = _base(verb)
    if base in STATIVE and verb != base:
        plain = "are" if base == "be" else base
        return f"You {adverb}{plain} {_swap(rest, _YOURS)}".rstrip() + "."
    return f'My notes say: "{body}."'


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, none blank."""
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence and sentence.strip()]


def words(text: str) -> list[str]:
    """The words that say what a text is about, lower case, in order."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return [word for word in _WORD.findall(folded) if word not in _STOP_WORDS]


def terms(text: str) -> frozenset[str]:
    """The text's words in a form that can be compared: stemmed lightly, synonyms as one, and scripts without
    capitals (often without spaces too) as pairs of characters."""
    found: set[str] = set()
    for word in words(text):
        found.update(_pairs(word) if word == word.upper() and not word.isdecimal() else (_stem(word),))
    return frozenset(found)


def names_in(text: str) -> frozenset[str]:
    """Terms of words written with a capital inside a sentence: most likely names."""
    inner = [word for sentence in sentences(text) for word in sentence.split()[1:] if word[:1].isupper()]
    return terms(" ".join(inner))


def _told_label(label: str, value: str) -> str:
    if label == "Note":
        return f"You asked me to remember: {value}."
    if label.endswith(" list"):
        return f"On your {label.lower()}: {value}."
    return f"Your {label[0].lower()}{label[1:]} is {value}."


def _swap(text: str, table: dict[str, str]) -> str:
    return re.sub(r"[\w'’]+", lambda found: table.get(found[0].lower().replace("’", "'"), found[0]), text)


def _base(verb: str) -> str:
    if verb in _BASE:
        return _BASE[verb]
    if verb.endswith(("ches", "shes", "sses", "xes")):
        return verb[:-2]
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    return verb.removesuffix("s")


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    word = _SYNONYMS.get(word, word)
    for suffix in ("ing", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return _SYNONYMS.get(word.removesuffix(suffix), word.removesuffix(suffix))
    return word


def _pairs(word: str) -> tuple[str, ...]:
    return (word,) if len(word) < 2 else tuple(word[at : at + 2] for at in range(len(word) - 1))
