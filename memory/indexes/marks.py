"""What stands before each indexed word: whose it is.

So each scope has words of its own in full text, and a search for one walks the entries of that scope alone, however
many others there are. Each word stands there a second time under a mark of its person, for a search in all scopes of
somebody who has a hundred of them.

Invariant: a mark is of one length, and digits alone. Then no mark and word together read like another mark and word,
and the Porter stemmer takes the stem of a word with its mark as it takes that of the word: what it counts are vowels.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from memory.records import Scope, Source

_DIGITS = 10  # of 100,000 marks one or none is met twice; then a search finds what its caller's rows do not hold


@lru_cache(4_096)
def mark_of(scope: Scope, source: Source) -> str:
    """The mark of the entries of one kind in one scope."""
    return _mark(source.value, scope.person, scope.audience)


@lru_cache(4_096)
def mark_of_person(person: str, source: Source) -> str:
    """The mark of the entries of one kind in all scopes of a person."""
    return _mark(source.value, person)


def _mark(*parts: str) -> str:
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest()
    return f"{int.from_bytes(digest) % 10**_DIGITS:0{_DIGITS}d}"
