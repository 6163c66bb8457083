"""How texts are folded for full text, and what a query looks for in them.

Stored words keep their form, but for English, whose stems SQLite's Porter tokenizer makes. For other languages the
query reaches further instead: beside each word as it stands, it looks for all that begin as that word does without
its ending ("Wohnungen", "Wohnung"), and in Arabic also with an article or particle before it, after the light
stemming of Larkey, Ballesteros and Connell (2007). A query with an English function word looks for its Latin words
alone. Scripts written without spaces are indexed character by character and asked for in pairs, so that words of one
and two characters are found.

Invariant: the same text folds the same way on both sides; a term is a valid FTS5 expression whatever the query holds.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from memory.indexes.stop_words import ENGLISH_ALONE, STOP_WORDS

_MAX_QUERY_CHARACTERS = 4_000
_MAX_QUERY_TERMS = 32
_MAX_WORD_CHARACTERS = 100

# Thai, Lao, Burmese, Khmer; CJK radicals, kana, bopomofo, jamo, ideographs, hangul.
_UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_LATIN = re.compile("[a-z\u00df-\u024f\u1e00-\u1eff]+", re.IGNORECASE)
_ARABIC = re.compile("[\u0620-\u06ff]+")
_CONTRACTION = re.compile(r"(?<=\w)['’](?:s|m|d|t|ll|re|ve)\b", re.IGNORECASE)

# What people write now one way and now the other: Russian yo, German sharp s, the Arabic alefs, the ends of Arabic
# words, and the vowel marks and stretching of Arabic, which most leave out. The migration of the full text has the
# same list.
_SPELLINGS = str.maketrans(
    {"ё": "е", "Ё": "Е", "ß": "ss", "ẞ": "SS", "ى": "ي", "ة": "ه", "ـ": None, "\u0670": None}
    | dict.fromkeys("أإآٱ", "ا")
    | dict.fromkeys(map(chr, range(0x064B, 0x0653)))
)

_ARABIC_PARTICLES = ("وال", "بال", "كال", "فال", "لل", "ال", "و", "ب", "ل", "ف", "ك")
_ARABIC_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "كم", "نا", "هم", "ه", "ي", "ك")
_ARABIC_LEAST = 3  # letters of a root


def folded(raw: str) -> str:
    """A text in the spelling that full text compares: NFKC, without the differences that mean nothing."""
    plain = unicodedata.normalize("NFKC", raw.encode(errors="replace").decode()).replace("\0", " ")
    return plain.translate(_SPELLINGS)


def indexed(raw: str) -> str:
    """A text as it is indexed: folded, each character of a script without spaces a word of its own."""
    return _UNSPACED.sub(r" \g<0> ", folded(raw))


@lru_cache(64)  # one message is searched for in every source
def query_terms(query: str) -> tuple[str, ...]:
    """The query as FTS5 expressions, each once, in the query's order."""
    plain = _CONTRACTION.sub(" ", folded(query[:_MAX_QUERY_CHARACTERS]))
    runs = _runs(plain)
    english = any(run.lower() in ENGLISH_ALONE for run in runs)
    terms: dict[str, str] = {}
    for word in runs:
        if _UNSPACED.match(word):
            for pair in _pairs(word):
                terms.setdefault(pair, f'"{pair}"')
        elif word.lower() not in STOP_WORDS and len(word) <= _MAX_WORD_CHARACTERS:
            terms.setdefault(word.lower(), _with_other_forms(word, english=english))
    return tuple(terms.values())[:_MAX_QUERY_TERMS]


@lru_cache(256)
def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that say what it is about, for comparisons that do without an index, each once, in order.

    In lower case and without English function words; of a script without spaces each two neighbouring characters.
    """
    words: dict[str, None] = {}
    for run in _runs(_CONTRACTION.sub(" ", folded(text[:_MAX_QUERY_CHARACTERS]))):
        found = _pairs(run) if _UNSPACED.match(run) else [run.lower()]
        words |= dict.fromkeys(word for word in found if word not in STOP_WORDS)
    return tuple(words)


def _runs(plain: str) -> list[str]:
    """Runs of letters, digits and their marks, a run of an unspaced script apart."""
    spelled = "".join(character if unicodedata.category(character)[0] in "LNM" else " " for character in plain)
    return re.sub(f"({_UNSPACED.pattern}+)", r" \1 ", spelled).split()


def _pairs(run: str) -> list[str]:
    """Each two neighbours of a run of characters as a phrase; a lone character as itself."""
    letters = [character for character in run if character.isalnum()]  # FTS5 takes vowel signs for separators
    if len(letters) < 2:
        return letters
    return [f"{first} {second}" for first, second in pairwise(letters)]


def _with_other_forms(word: str, *, english: bool) -> str:
    exact = f'"{word}"'
    if not word.isalpha() or (english and _LATIN.fullmatch(word)):
        return exact
    beginnings = _arabic_beginnings(word) if _ARABIC.fullmatch(word) else _beginning(word)
    return "(" + " OR ".join([exact, *(f'"{beginning}" *' for beginning in beginnings)]) + ")"


def _beginning(word: str) -> list[str]:
    """A word without the letters that change with case, number and person: up to three, the fewer the shorter it is.

    A Latin word keeps four letters and two thirds; one of another alphabet, where a letter says more, three and half.
    A shorter word has no beginning that would tell it from others.
    """
    least, share = (4, 3) if _LATIN.fullmatch(word) else (3, 2)
    if len(word) < least:
        return []
    dropped = min(3, (len(word) - 1) // share, len(word) - least)
    return [word[: len(word) - dropped]]


def _arabic_beginnings(word: str) -> list[str]:
    """How the other forms of an Arabic word begin: its stem, bare or with an article or particle before it."""
    stem = word
    for particle in _ARABIC_PARTICLES:
        if stem.startswith(particle) and len(stem) - len(particle) > _ARABIC_LEAST - (len(particle) > 1):
            stem = stem.removeprefix(particle)
            break
    for ending in _ARABIC_ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= _ARABIC_LEAST:
            stem = stem.removesuffix(ending)
            break
    return [stem, *(particle + stem for particle in _ARABIC_PARTICLES)] if len(stem) >= _ARABIC_LEAST else []
