"""How texts are folded for full text, and what a query looks for in them.

Stored words are in small letters without accents and vowel signs, and keep their form, but for English, whose stems
SQLite's Porter tokenizer makes. For other languages the query reaches further instead: beside each word as it stands,
it looks for all that begin as that word does without its ending ("Wohnungen", "Wohnung"), and in Arabic also with an
article or particle before it, after the light stemming of Larkey, Ballesteros and Connell (2007). A query with an
English function word looks for its Latin words alone. Of a script without spaces each character is indexed with the
next, so that words of two characters are found, and of one as what begins with it.

Invariant: the same text folds the same way on both sides; a word is letters and digits alone, whatever a text holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
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
_UNSPACED_RUN = re.compile(f"{_UNSPACED.pattern}+")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form in which a word of a query may stand in a text.

    Attributes:
        word: as it is indexed.
        beginning: whether it may go on after that.
    """

    word: str
    beginning: bool = False


class _Characters(dict[int, str]):
    """What becomes of single characters, worked out when first met, for ``str.translate``."""

    def __init__(self, become: Callable[[str], str]) -> None:
        self._become = become

    def __missing__(self, code: int) -> str:
        self[code] = become = self._become(chr(code))
        return become


def _separated(character: str) -> str:
    return character if unicodedata.category(character)[0] in "LNM" else " "


def _plain(character: str) -> str:
    if unicodedata.category(character)[0] == "M":
        return ""
    base = unicodedata.normalize("NFD", character)[0]
    return base if base.isascii() else character  # of other alphabets the marked letters are letters of their own


_SEPARATED, _PLAIN = _Characters(_separated), _Characters(_plain)


def folded(raw: str) -> str:
    """A text in the spelling that full text compares: NFKC, without the differences that mean nothing."""
    plain = unicodedata.normalize("NFKC", raw.encode(errors="replace").decode()).replace("\0", " ")
    return plain.translate(_SPELLINGS)


def indexed_words(raw: str) -> list[str]:
    """The words of a text as they are indexed, in its order, each as often as it stands there."""
    plain_text = folded(raw)
    if plain_text.isascii():  # the same, in a third of the time
        return [word[:_MAX_WORD_CHARACTERS] for word in _runs(plain_text.lower())]
    units: list[str] = []
    for run in _runs(plain_text):
        plain = _bare(run)
        if _UNSPACED.match(run):
            units += plain
        elif plain:
            units.append(plain[:_MAX_WORD_CHARACTERS])
    unspaced = [_UNSPACED.match(unit) is not None for unit in units]
    return [
        unit + units[place + 1] if unspaced[place] and place + 1 < len(units) and unspaced[place + 1] else unit
        for place, unit in enumerate(units)
    ]


@lru_cache(64)  # one message is searched for in every source
def query_terms(query: str) -> tuple[tuple[Form, ...], ...]:
    """Of each word of a query the forms in which it is looked for, each word once, in the query's order."""
    plain = _CONTRACTION.sub(" ", folded(query[:_MAX_QUERY_CHARACTERS]))
    runs = _runs(plain)
    english = any(run.lower() in ENGLISH_ALONE for run in runs)
    terms: dict[str, tuple[Form, ...]] = {}
    for run in runs:
        word = _bare(run)
        if _UNSPACED.match(run):
            for pair in _pairs(word):
                terms.setdefault(pair, (Form(word=pair, beginning=len(pair) == 1),))
        elif word and run.lower() not in STOP_WORDS and len(word) <= _MAX_WORD_CHARACTERS:
            terms.setdefault(word, (Form(word=word), *_other_forms(word, english=english)))
    return tuple(terms.values())[:_MAX_QUERY_TERMS]


@lru_cache(256)
def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that say what it is about, for comparisons that do without an index, each once, in order.

    In lower case and without English function words; of a script without spaces each two neighbouring characters.
    """
    words: dict[str, None] = {}
    for run in _runs(_CONTRACTION.sub(" ", folded(text[:_MAX_QUERY_CHARACTERS]))):
        found = _pairs(_bare(run)) if _UNSPACED.match(run) else [run.lower()]
        words |= dict.fromkeys(word for word in found if word not in STOP_WORDS)
    return tuple(words)


def _runs(plain: str) -> list[str]:
    """Runs of letters, digits and their marks, a run of an unspaced script apart."""
    spelled = plain.translate(_SEPARATED)
    return (spelled if spelled.isascii() else _UNSPACED_RUN.sub(r" \g<0> ", spelled)).split()


def _bare(run: str) -> str:
    """A run as it is indexed: in small letters, without marks; empty where it is marks alone."""
    small = run.casefold()
    return small if small.isascii() else small.translate(_PLAIN)


def _pairs(run: str) -> list[str]:
    """Each two neighbours of a run of characters without marks; a lone character as itself."""
    return [run] if len(run) == 1 else [first + second for first, second in pairwise(run)]


def _other_forms(word: str, *, english: bool) -> list[Form]:
    if not word.isalpha() or (english and _LATIN.fullmatch(word)):
        return []
    beginnings = _arabic_beginnings(word) if _ARABIC.fullmatch(word) else _beginning(word)
    return [Form(word=beginning, beginning=True) for beginning in beginnings]


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
