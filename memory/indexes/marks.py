"""What stands before each indexed word: whose it is.

So each scope has words of its own in full text, and a search for one walks the entries of that scope alone, however
many others there are.

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
    parts = "\0".join((source.value, scope.person, scope.audience))
    digest = hashlib.blake2b(parts.encode(), digest_size=8).digest()
    return f"{int.from_bytes(digest) % 10**_DIGITS:0{_DIGITS}d}"
