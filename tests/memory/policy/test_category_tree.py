"""The tree of categories keeps its limits at their edges."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memory.policy.category_tree import (
    TreeLimits,
    compact,
    filed,
    first_tree,
    home_of,
    inclusive,
    index_of,
    path_of,
    pretty,
    prunable,
    why_not_added,
    with_node,
)
from memory.records import ROOT, Scope, Tier, TierEntry, Tree, TreeNode
from tests.fakes import START

LIMITS = TreeLimits()


def refused(tree: Tree, path: str, description: str = "") -> str:
    return why_not_added(tree, path, description, LIMITS, START)


def full_tree() -> Tree:
    """One of 50 nodes: the root, 7 at the top, 6 below each."""
    tree = Tree(nodes={ROOT: first_tree(START).nodes[ROOT]})
    for top in range(7):
        for below in range(6):
            tree = with_node(tree, f"t{top}/b{below}", "", START)
    return tree


def test_the_51st_node_is_refused_and_the_50th_is_not() -> None:
    tree = full_tree()
    assert len(tree.nodes) == 50
    assert "at most 50" in refused(tree, "t7")
    without = Tree(nodes={path: node for path, node in tree.nodes.items() if path != "t6/b5"})
    assert refused(without, "t6/b5") == ""


def test_the_fifth_level_is_refused_and_the_fourth_is_not() -> None:
    assert refused(first_tree(START), "a/b/c/d") == ""
    assert "4 levels" in refused(first_tree(START), "a/b/c/d/e")


def test_the_11th_child_is_refused_and_the_10th_is_not() -> None:
    tree = first_tree(START)
    for number in range(9):
        tree = with_node(tree, f"projects/p{number}", "", START)
    assert refused(tree, "projects/p9") == ""
    assert "10 categories" in refused(with_node(tree, "projects/p9", "", START), "projects/p10")


def test_a_node_that_would_take_the_tree_past_2048_bytes_is_refused() -> None:
    tree = first_tree(START)
    number = 0
    while not refused(tree, f"owner/n{number}" if number < 10 else f"projects/n{number}", "d" * 90):
        tree = with_node(tree, f"owner/n{number}" if number < 10 else f"projects/n{number}", "d" * 90, START)
        number += 1
        if number == 20:
            break
    left = 2_048 - len(compact(tree, max_bytes=10_000, now=START).encode())
    line = len("\n  x 0/0/0: ")
    assert refused(tree, "lessons/x", "d" * (left - line)) == ""
    assert "2,048 bytes" in refused(tree, "lessons/x", "d" * (left - line + 1))


def test_what_does_not_fit_is_written_without_descriptions_and_then_without_what_is_worth_least() -> None:
    tree = full_tree()
    busy = replace(tree.nodes["t3/b3"], warm=9_999, description="d" * 100)
    tree = Tree(nodes={**tree.nodes, "t3/b3": busy})
    shown = compact(tree, max_bytes=300, now=START)
    assert len(shown.encode()) <= 300
    assert "b3 0/9999/0" in shown
    assert "ddd" not in shown


def test_counts_include_what_is_below() -> None:
    tree = with_node(first_tree(START), "work/oslo", "", START)
    tree = Tree(
        nodes={
            **tree.nodes,
            "work/oslo": replace(tree.nodes["work/oslo"], warm=2, cold=3, facts=1),
            "work": replace(tree.nodes["work"], warm=1),
        }
    )
    totals = inclusive(tree)
    assert (totals["work"].warm, totals["work"].cold, totals["work"].facts) == (3, 3, 1)
    assert totals[ROOT] == totals["work"]
    shown = pretty(tree, limits=LIMITS, now=START)
    assert "  work (1 facts, 3 warm, 3 cold)" in shown
    assert "Nodes: 7/50" in shown
    assert "/ 2,048 bytes" in shown


@pytest.mark.parametrize(
    ("category", "path"),
    [
        ("personal/home", "owner/home"),
        ("Personal / Home ", "owner/home"),
        ("work//projects", "work/projects"),
        ("general", ROOT),
        ("a/b/c/d", "a/b/c/d"),
        ("personal/a/b/c/d", "owner/a/b/c"),
        ("", ROOT),
    ],
)
def test_something_is_filed_as_near_to_its_category_as_there_is_room(category: str, path: str) -> None:
    assert filed(first_tree(START), category, LIMITS, START).path == path


def test_in_a_full_tree_something_is_filed_in_the_nearest_category_above() -> None:
    assert filed(full_tree(), "t1/new/one", LIMITS, START).path == "t1"
    assert filed(full_tree(), "other", LIMITS, START).path == ROOT


def test_a_path_is_tidied_and_never_ill_formed() -> None:
    assert path_of("  /Work / The  Office\n/ ") == "work/the office"
    assert len(path_of("x" * 300)) == 40
    assert home_of("health") == "owner/health"


def test_empty_nodes_idle_for_longer_are_pruned_with_the_parents_they_leave_empty() -> None:
    tree = with_node(Tree(nodes={ROOT: first_tree(START).nodes[ROOT]}), "a/b", "", START)
    tree = Tree(
        nodes={**tree.nodes, "c": TreeNode(path="c", description="", created_at=START, last_active_at=START, cold=1)}
    )
    assert prunable(tree, START) == []
    assert prunable(tree, START + timedelta(milliseconds=1)) == ["a/b", "a"]


def entry(number: int, category: str, core: object) -> TierEntry:
    return TierEntry(
        id=number,
        scope=Scope(person="console:ann", audience="dm"),
        tier=Tier.WARM,
        text="Something happened.",
        category=category,
        importance=0.5,
        created_at=START,
        score=0.5,
        metadata={"core": core},
    )


def test_the_index_tells_the_core_of_the_best_entry_of_a_category_that_has_no_description() -> None:
    tree = with_node(first_tree(START), "work/travel", "", START)
    entries = [
        entry(1, "work/travel", "ferry Oslo"),
        entry(2, "work/travel", "worse"),
        entry(3, "lessons", "never shown"),
        entry(4, "work", "two\nlines" + "x" * 40),
        entry(5, ROOT, "nor this"),
        entry(6, "gone", "nor that"),
        entry(7, "owner/none", 7),
    ]
    shown = index_of(tree, entries, max_bytes=2_048, now=START).splitlines()
    assert "  travel 0/0/0: ferry Oslo" in shown
    assert " lessons 0/0/0: decisions and lessons" in shown
    assert f" work 0/0/0: two lines{'x' * 20}" in shown
    assert not any("nor" in line for line in shown)


def test_where_there_is_no_room_for_cores_the_index_is_the_compact_form() -> None:
    tree = with_node(first_tree(START), "work/travel", "", START)
    plain = compact(tree, max_bytes=2_048, now=START)
    room = len(plain.encode()) + len(": ferry Oslo")
    found = [entry(1, "work/travel", "ferry Oslo")]
    assert len(index_of(tree, found, max_bytes=room, now=START).encode()) == room
    assert index_of(tree, found, max_bytes=room - 1, now=START) == plain
