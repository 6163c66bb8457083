"""How the context window is shared between the parts of a request.

Sizes are *estimated* tokens, sums of ``TokenCounter.count``; limits are tokens as the service counts them.
``estimated_room`` is the one bridge between the two.

Invariant: what these functions hand out never sums to more than the room they were given.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from memory.errors import InvalidInput
from memory.parameters import MemoryParameters
from memory.policy.text import cut_middle

SHORTEST_CUT = 32
"""Estimated tokens below which a cut text says nothing any more: the note of the cut and some words."""

LEAST_TURN = 4 * SHORTEST_CUT
"""Estimated tokens that the newest turn needs at the very least: the time, and a cut message."""


def input_budget(parameters: MemoryParameters) -> int:
    """Tokens that a request may take, the answer's room left out."""
    return parameters.context_window_tokens - parameters.max_output_tokens


def estimated_room(tokens: int, calibrated: Callable[[int], int]) -> int:
    """The largest estimate whose calibrated size is at most ``tokens``.

    Args:
        tokens: a limit as the service counts.
        calibrated: turns estimated tokens into tokens; rising. A factor below 1/8 is taken for 1/8.
    """
    return max(0, bisect_right(range(8 * max(0, tokens) + 1), tokens, key=calibrated) - 1)


def room_for_turn(fixed: int, parameters: MemoryParameters, calibrated: Callable[[int], int]) -> int:
    """Estimated tokens left for the conversation beside the fixed parts of the prompt.

    Args:
        fixed: estimated tokens of the system prompt and the tools.
        parameters: the window and what of it is kept for the answer.
        calibrated: turns estimated tokens into those that the model's service counts.

    Raises:
        InvalidInput: the fixed parts leave no room; the message says which setting to change.
    """
    room = estimated_room(input_budget(parameters), calibrated) - fixed
    if room < LEAST_TURN:
        raise InvalidInput(
            f"The fixed parts of the prompt need {calibrated(fixed + LEAST_TURN):,} tokens. That does not fit a "
            f"context window of {parameters.context_window_tokens:,} of which {parameters.max_output_tokens:,} are "
            "kept for the answer. Raise CONTEXT_WINDOW_TOKENS or lower MAX_OUTPUT_TOKENS."
        )
    return room


def newest_that_fit(sizes: Sequence[int], room: int) -> int:
    """How many of the newest (the last) sizes fit into ``room`` together, without a gap."""
    fitting = 0
    for size in reversed(sizes):
        room -= size
        if room < 0:
            break
        fitting += 1
    return fitting


def fair_cap(sizes: Sequence[int], room: int) -> int:
    """The largest size that all may have so that they fit together: only those above it are cut.

    Max-min fairness: sum(min(size, cap)) <= room. Where all fit, the cap is the largest of them.
    """
    for place, size in enumerate(sorted(sizes)):
        share = max(0, room) // (len(sizes) - place)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def cut_to_tokens(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """``text``, cut in the middle until it has at most ``max_tokens``; at least one character stays.

    Args:
        text: any text.
        max_tokens: in estimated tokens.
        count: the estimate of a text, as ``TokenCounter.count``.
    """
    kept, length = text, len(text)
    if length <= max_tokens and len(text.encode(errors="surrogatepass")) <= max_tokens:
        return text  # not counted, which takes a hundred times as long: no text has more tokens than bytes
    while (tokens := count(kept)) > max_tokens and length > 1:
        # A little less than the proportion: the note of the cut counts too, and few rounds are wanted.
        length = max(1, int(0.95 * length * max(0, max_tokens) / tokens))
        kept = cut_middle(text, length)
    return kept
