"""The code by which somebody shows that two accounts are theirs. Pure, but for drawing it.

Invariant: a code is drawn from 2^40 and kept as a hash alone; it is read in whatever way people write it.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

VALID_FOR = timedelta(minutes=10)
"""How long both sides together may take."""

MOST_WRONG = 5
"""Wrong codes that an account may give within ``WRONG_WITHIN``."""

WRONG_WITHIN = timedelta(hours=1)
MOST_LINKS = 5
"""Accounts that one may be linked with."""

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: nothing that reads like something else
_LENGTH = 8
_READ_AS = str.maketrans("OIL", "011", " -")


def new_code() -> str:
    """A fresh code, as ``7KQM-3XPD``."""
    drawn = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return f"{drawn[: _LENGTH // 2]}-{drawn[_LENGTH // 2 :]}"


def code_hash(code: str) -> str:
    """What is kept of a code, however it was written."""
    return hashlib.sha256(code.upper().translate(_READ_AS).encode()).hexdigest()
