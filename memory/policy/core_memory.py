"""What a write makes of core memory, and what it must not make of it.

Invariant: a block's value has single spaces and no blank lines; a refusal tells the model what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memory.errors import CoreMemoryFull, MemoryRefusal, TextNotFound, UnknownBlock
from memory.policy.fact_text import normalised
from memory.records import BLOCK_LABELS, MemoryBlock

Blocks = Mapping[str, MemoryBlock]
"""Every block of a scope by its label."""

_WORD = re.compile(r"[^\W_]+")
# What one says of oneself, or of "the user", and how: two lines that differ only in these say the same.
_FORM_WORDS = "user users the their they s is are am was i my me he his she her it its a an has have"
_FORM = frozenset(_FORM_WORDS.split())


def check_label(label: str) -> None:
    """Raises UnknownBlock where there is no block of that label."""
    if label not in BLOCK_LABELS:
        raise UnknownBlock(f"There is no core memory block {label!r}. The blocks are {' and '.join(BLOCK_LABELS)}.")


def block_of(blocks: Blocks, label: str) -> MemoryBlock:
    """The block of a label. Raises UnknownBlock."""
    check_label(label)
    return blocks[label]


def tidied(text: str) -> str:
    """Single spaces, no blank lines."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def characters(blocks: Blocks) -> int:
    """How many characters all blocks hold together."""
    return sum(len(block.value) for block in blocks.values())


def check_limit(before: Blocks, after: Blocks, *, limit: int) -> None:
    """Whether a write fits.

    Args:
        before, after: all blocks on both sides of it.
        limit: characters that they may hold together. Blocks that shrink may be over it: it may have been lowered.

    Raises:
        CoreMemoryFull: it does not fit; the message names both remedies.
    """
    used, wanted = characters(before), characters(after)
    if wanted > limit and wanted > used:
        raise CoreMemoryFull(
            f"Core memory is full: {used:,} of {limit:,} characters are used and this write would make "
            f"it {wanted:,}. Nothing was written. Move older facts out with archival_insert and delete them "
            "here, or shorten what is here with core_memory_replace, then try again."
        )


def with_lines(value: str, text: str) -> str:
    """A block's value with lines added at its end; unchanged where they stand there already.

    Raises:
        MemoryRefusal: there is nothing but whitespace in ``text``.
    """
    lines = tidied(text)
    if not lines:
        raise MemoryRefusal("There is no text to append. Say what to remember in one short line.")
    return value if f"\n{lines}\n" in f"\n{value}\n" else f"{value}\n{lines}"


def holding(blocks: Blocks, label: str | None, old: str) -> MemoryBlock:
    """The block of that label, or the first of all where it is None, that holds a text.

    Raises:
        TextNotFound: it stands in none.
        UnknownBlock: there is no such block.
    """
    candidates = list(blocks.values()) if label is None else [block_of(blocks, label)]
    found = next((block for block in candidates if old.strip() and old in block.value), None)
    if found is None:
        where = "core memory" if label is None else f"the {label} block"
        raise TextNotFound(
            f"That text does not stand in {where}. Give the old text exactly as it stands there, "
            "or add a new line with core_memory_append."
        )
    return found


def with_replacement(block: MemoryBlock, old: str, new: str) -> str:
    """A block's value with a text in place of another; unchanged where that was done already.

    Raises:
        MemoryRefusal: the old text stands there more than once.
    """
    made = tidied(new)
    if old in made and old not in block.value.replace(made, ""):
        return block.value
    if (times := block.value.count(old)) > 1:
        raise MemoryRefusal(f"That text stands {times} times in the {block.label} block. Give more of its line.")
    return block.value.replace(old, new)


def restated(value: str, fact: str, new: str) -> str:
    """A block's value with other words in place of the lines that say the same as a fact.

    Args:
        value: the block's value.
        fact: the fact's text, for example ``User's sister is called Mia.``; a line ``Their sister is called Mia.``
            says the same.
        new: what is right; empty to leave the lines out.
    """
    said = _content(fact)
    lines = (new if said and _content(line) == said else line for line in value.splitlines())
    return tidied("\n".join(lines))


def _content(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(normalised(text))) - _FORM
