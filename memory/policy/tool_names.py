"""The two names that some memory tools have: ours, after MemGPT, and Letta's.

Invariant: texts for the model are written with our names, and pass here before a model sees them.
"""

from __future__ import annotations

from collections.abc import Collection

_LETTAS = (
    ("core_memory_append", "memory_insert"),
    ("core_memory_replace", "memory_replace"),
    ("archival_insert", "archival_memory_insert"),
    ("archival_search", "archival_memory_search"),
)


def in_offered_names(text: str, offered: Collection[str]) -> str:
    """The text with the names of the tools that are offered.

    Args:
        text: names tools as we do.
        offered: names of the tools that the model is shown.
    """
    for ours, lettas in _LETTAS:
        if lettas in offered and ours not in offered:
            text = text.replace(ours, lettas)
    return text
