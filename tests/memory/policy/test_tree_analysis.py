"""A close look at a tree of categories finds what could be better, and nothing in one that is in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memory.policy.category_tree import TreeLimits, first_tree, with_node
from memory.policy.tree_analysis import findings
from memory.records import ROOT, Tree
from tests.fakes import START

LIMITS = TreeLimits()


def tree_of(warm: Mapping[str, int]) -> Tree:
    """The first tree, with so many entries filed in these categories."""
    tree = first_tree(START)
    for path, count in warm.items():
        tree = with_node(tree, path, "", START)
        tree = Tree(nodes={**tree.nodes, path: replace(tree.nodes[path], warm=count)})
    return tree


def found(warm: Mapping[str, int], *, size: int = 100, limits: TreeLimits = LIMITS) -> tuple[str, ...]:
    return findings(tree_of(warm), limits=limits, size=size)


def test_a_tree_in_order_has_no_findings() -> None:
    assert found({"owner/health": 12, "projects/garden": 15, "lessons": 3, ROOT: 2}) == ()


def test_a_limit_is_near_from_nine_tenths_on() -> None:
    limits = TreeLimits(nodes=10, max_bytes=1_000)
    eight, nine = {"owner/a": 1, "owner/b": 1, "owner/c": 1}, {"owner/a": 1, "owner/b": 1, "owner/c": 1, "owner/d": 1}
    assert found(eight, size=899, limits=limits) == ()
    assert found(nine, size=899, limits=limits) == ("It has 9 of 10 categories: merge or remove some.",)
    [finding] = found(eight, size=900, limits=limits)
    assert finding.startswith("It takes 900 of 1,000 bytes")


def test_a_level_without_room_is_named() -> None:
    assert found({"lessons/a": 1, "lessons/b": 1, "lessons/c": 1}, limits=TreeLimits(children=4)) == (
        "The top level is full, with 4 categories: merge or move some.",
    )
    assert found({"lessons/a": 1, "lessons/b": 1}, limits=TreeLimits(children=5)) == ()


def test_a_category_that_holds_most_of_everything_is_to_be_divided() -> None:
    assert found({"projects": 20, "owner": 19}) == ("projects holds 20 of 39 entries: divide it.",)
    assert found({"projects": 20, "owner": 20}) == ()
    assert found({"projects": 19, "owner": 1}) == ()


def test_what_stands_in_no_category_is_counted() -> None:
    assert found({ROOT: 21, "owner": 19}) == ("21 of 40 entries stand in no category: add some for them.",)
    assert found({ROOT: 20, "owner": 20}) == ()


def test_a_category_that_holds_only_another_is_needless() -> None:
    assert found({"projects/garden/roses": 2, "projects": 1}) == (
        "projects/garden holds nothing but projects/garden/roses: merge the two.",
    )
    assert found({"projects/garden/roses": 2, "projects/garden": 1, "projects": 1}) == ()


def test_names_that_differ_in_number_or_spelling_are_alike() -> None:
    assert found({"lessons/hobby": 1, "lessons/hobbies": 1, "lessons/dress": 1, "lessons/dre": 1}) == (
        "lessons/hobbies and lessons/hobby are called nearly the same: merge the two.",
    )
    assert found({"lessons/to-do": 1, "lessons/todo": 1, "owner/todos": 1, "owner": 1}) == (
        "lessons/to-do and lessons/todo are called nearly the same: merge the two.",
    )
