"""What the C library keeps of freed memory, given back to the system.

Loading a model and reading an index leave tens of megabytes of freed blocks that would never be used again.

Invariant: it changes nothing but the size of the process, and does nothing where the C library has no call for it.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back_freed_memory() -> None:
    """Return the freed pages of the heap to the system (``malloc_trim`` of glibc); it takes some milliseconds."""
    with suppress(AttributeError, OSError, TypeError):  # another C library, or a system whose own cannot be named so
        ctypes.CDLL(None).malloc_trim(0)
