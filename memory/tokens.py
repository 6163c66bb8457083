"""The token counter: tiktoken's ``o200k_base``, corrected by what the model's service really counts.

The vocabulary comes from an installed package; tiktoken would download it. Claude's own tokenizer is not public,
and this one counts up to a third less than it, hence the correction.

Invariant: counting takes time linear in the text, whatever the text.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

_FIRST_RATIO = 1.35
_CHUNK_CHARACTERS = 20_000
_REMEMBERED = 4_096

# How o200k_base splits text into pieces, from tiktoken (MIT): tiktoken_ext/openai_public.py.
_PIECES = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
)


class TiktokenCounter:
    """A ``TokenCounter`` for one model. The first count loads the vocabulary, in about a third of a second."""

    def __init__(self) -> None:
        self._ratio = _FIRST_RATIO
        self._samples = 0
        self._recent: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """The estimated tokens of ``text``, calibration not applied. Never below 1 for a non-empty text.

        Names of special tokens ("<|endoftext|>") count as the ordinary text they are.
        """
        if not text:
            return 0
        key = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                return self._recent[key]
        tokens = sum(len(_encoding().encode_ordinary(chunk)) for chunk in _chunks(text))
        with self._lock:
            self._recent[key] = tokens
            while len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)
        return tokens

    def calibrated(self, tokens: int) -> int:
        """An estimate (a sum of ``count``s) corrected by what was learned, rounded up."""
        return math.ceil(tokens * self._ratio)

    def calibrate(self, *, estimated: int, actual: int) -> None:
        """Take in one observation: the sum of counts of a request, and the input tokens the service counted.

        The ratio is the mean over all observations. One without tokens on either side says nothing and is left out.
        """
        if estimated < 1 or actual < 1:
            return
        self._samples += 1
        known = self._ratio if self._samples > 1 else 0.0
        self._ratio = known + (actual / estimated - known) / self._samples

    @property
    def calibration(self) -> tuple[float, int]:
        """The ratio and the number of observations, to be stored and resumed from."""
        return self._ratio, self._samples

    def resume(self, *, ratio: float, samples: int) -> None:
        """Go on from a stored calibration. Without observations, the ratio stands until the first one."""
        self._ratio, self._samples = ratio, samples


def _chunks(text: str) -> Iterator[str]:
    """The text in pieces of bounded length, cut before white space where there is any."""
    start = 0
    while len(text) - start > _CHUNK_CHARACTERS:
        end = start + _CHUNK_CHARACTERS
        cut = max(text.rfind(space, start + 1, end) for space in (" ", "\n", "\t"))
        cut = cut if cut > start else end
        yield text[start:cut]
        start = cut
    yield text[start:]


@cache
def _encoding() -> tiktoken.Encoding:
    import tiktoken

    return tiktoken.Encoding(
        "o200k_base", pat_str="|".join(_PIECES), mergeable_ranks=_mergeable_ranks(), special_tokens={}
    )


def _mergeable_ranks() -> dict[bytes, int]:
    """The vocabulary's file: a count, then entries of length (2 bytes), token and rank (4), all little endian."""
    raw = files("quicktok").joinpath("data/o200k.vocab").read_bytes()
    ranks: dict[bytes, int] = {}
    start = 4
    for _ in range(int.from_bytes(raw[:4], "little")):
        token = start + 2
        rank = token + int.from_bytes(raw[start:token], "little")
        start = rank + 4
        ranks[raw[token:rank]] = int.from_bytes(raw[rank:start], "little")
    return ranks
