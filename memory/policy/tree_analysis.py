"""What a close look at a tree of categories finds: limits that are near, and categories that do not divide anything.

Invariant: it names paths and counts alone, and changes nothing.
"""

from __future__ import annotations

from itertools import combinations

from memory.policy.category_tree import Counts, TreeLimits, children_of, inclusive, parent_of
from memory.records import ROOT, Tree

_NEAR = 0.9  # of a limit
_MANY = 20  # entries and facts; fewer need no dividing
_MOST_OF_ALL = 0.5  # of everything, in a category that is not divided


def findings(tree: Tree, *, limits: TreeLimits, size: int) -> tuple[str, ...]:
    """What could be better, each in one sentence; empty where the tree is in order.

    Args:
        tree: what was consolidated.
        limits: how large it may be.
        size: bytes of its compact form.
    """
    totals = inclusive(tree)
    return (*_near_limits(tree, limits, size), *_undivided(tree, totals), *_needless(tree, totals), *_alike(tree))


def _near_limits(tree: Tree, limits: TreeLimits, size: int) -> list[str]:
    found = []
    if len(tree.nodes) >= _NEAR * limits.nodes:
        found.append(f"It has {len(tree.nodes)} of {limits.nodes} categories: merge or remove some.")
    if size >= _NEAR * limits.max_bytes:
        found.append(f"It takes {size:,} of {limits.max_bytes:,} bytes: shorten descriptions, or merge categories.")
    found += [
        f"{path or 'The top level'} is full, with {limits.children} categories: merge or move some."
        for path in sorted(tree.nodes)
        if len(children_of(tree, path)) >= limits.children
    ]
    return found


def _undivided(tree: Tree, totals: dict[str, Counts]) -> list[str]:
    whole = _weight(totals[ROOT])
    root = tree.nodes[ROOT]
    found = []
    own = root.warm + root.cold + root.facts
    if own >= _MANY and own > _MOST_OF_ALL * whole:
        found.append(f"{own} of {whole} entries stand in no category: add some for them.")
    for path in sorted(tree.nodes):
        held = _weight(totals[path])
        if path != ROOT and not children_of(tree, path) and held >= _MANY and held > _MOST_OF_ALL * whole:
            found.append(f"{path} holds {held} of {whole} entries: divide it.")
    return found


def _needless(tree: Tree, totals: dict[str, Counts]) -> list[str]:
    found = []
    for path in sorted(tree.nodes):
        children = children_of(tree, path)
        if "/" in path and tree.nodes[path].is_empty and len(children) == 1 and _weight(totals[path]):
            found.append(f"{path} holds nothing but {children[0]}: merge the two.")
    return found


def _alike(tree: Tree) -> list[str]:
    paths = sorted(path for path in tree.nodes if path != ROOT)
    return [
        f"{one} and {other} are called nearly the same: merge the two."
        for one, other in combinations(paths, 2)
        if parent_of(one) == parent_of(other) and _key(one) == _key(other)
    ]


def _key(path: str) -> str:
    """A name without what tells a plural from its singular, or one spelling from another."""
    letters = "".join(letter for letter in path.rpartition("/")[2] if letter.isalnum())
    if letters.endswith("ies"):
        return letters[:-3] + "y"
    return letters.removesuffix("s") if not letters.endswith("ss") else letters


def _weight(counts: Counts) -> int:
    return counts.warm + counts.cold + counts.facts
