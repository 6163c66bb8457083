"""Which categories a query names, and how a model's choice of them is read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.policy.tree_search import entry_hits, joined, keyword_routes, listed, routes_from
from memory.records import ROOT, Scope, Tier, TierEntry, Tree, TreeNode
from tests.fakes import START

ANN = Scope(person="console:ann", audience="dm")
LONG_AGO = 400


def node(path: str, *, description: str = "", warm: int = 0, cold: int = 0, idle: float = LONG_AGO) -> TreeNode:
    active = START - timedelta(days=idle)
    return TreeNode(path=path, description=description, warm=warm, cold=cold, created_at=active, last_active_at=active)


def tree(*nodes: TreeNode) -> Tree:
    return joined([node(ROOT), *nodes])


def entry(number: int, text: str, *, category: str = "", days: float = 0, tier: Tier = Tier.WARM) -> TierEntry:
    return TierEntry(
        id=number,
        scope=ANN,
        tier=tier,
        text=text,
        category=category,
        importance=0.5,
        created_at=START - timedelta(days=days),
        score=0.5,
    )


@pytest.mark.parametrize(
    ("category", "query", "score"),
    [
        (node("garden"), "garden", 1.0),
        (node("garden"), "garden fence", 0.5),
        (node("garden", description="fence and beds"), "garden fence", 1.0),
        (node("garden", warm=5), "garden", 1.5),
        (node("garden", cold=50), "garden", 1.5),
        (node("garden", warm=5, cold=50), "garden", 2.0),
        (node("garden", warm=90, cold=900), "garden", 2.0),
        (node("garden", idle=30), "garden", 1.0),
        (node("garden", idle=29.9), "garden", 1.2),
        (node("garden", idle=7), "garden", 1.2),
        (node("garden", idle=6.9), "garden", 1.5),
        (node("garden", warm=10, idle=1), "garden fence", 1.5),
    ],
)
def test_a_category_scores_by_its_words_its_size_and_its_last_use(category: TreeNode, query: str, score: float) -> None:
    [route] = keyword_routes(tree(category), query, now=START)
    assert route.relevance == pytest.approx(score)
    assert route.reason.startswith("named by garden")


def test_what_stands_below_a_category_counts_as_its_own() -> None:
    nodes = node("projects"), node("projects/bot", warm=5, idle=1)
    scores = {route.path: route.relevance for route in keyword_routes(tree(*nodes), "projects", now=START)}
    assert scores == {"projects": pytest.approx(2.25), "projects/bot": pytest.approx(2.25)}


def test_the_trees_of_several_audiences_are_one_for_a_search() -> None:
    [route] = keyword_routes(tree(node("garden", warm=2), node("garden", warm=3, idle=1)), "garden", now=START)
    assert route.relevance == pytest.approx(1.5 * 1.5)


@pytest.mark.parametrize("query", ["", "hello there", "thanks!", "2+2?", "what is it that we are", "everything"])
def test_a_greeting_or_a_query_without_content_leads_nowhere(query: str) -> None:
    assert keyword_routes(tree(node("owner", description="who the person is")), query, now=START) == []


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("projects", "How is my project?"),
        ("hobbies/painting", "the paintings"),
        ("健康", "我的健康怎么样"),
        ("wohnung", "Was weißt du über die Wohnung?"),
    ],
)
def test_a_category_is_named_in_whatever_number_and_script(path: str, query: str) -> None:
    assert [route.path for route in keyword_routes(tree(node(path)), query, now=START)] == [path]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("How is my garden?", True),
        ("What did I plant in the garden?", True),
        ("Did I fix the blue fence behind the garden on Monday?", False),
        ("garden?", True),
        ("What is the largest garden in Europe?", False),
    ],
)
def test_unasked_only_a_category_that_is_plainly_meant_is_followed(query: str, meant: bool) -> None:
    found = keyword_routes(tree(node("garden")), query, now=START, unasked=True)
    assert bool(found) is meant


def test_a_model_is_shown_the_fifty_largest_categories_with_their_counts() -> None:
    lines = listed(tree(*(node(f"c{number}", description="x", warm=number) for number in range(60)))).splitlines()
    assert len(lines) == 50
    assert lines[0] == "c59: x (0 facts, 59 warm, 0 cold)"


KNOWN = {"garden", "work/bot", "active_context/events"}


@pytest.mark.parametrize(
    ("answer", "paths"),
    [
        ('[{"path": "garden", "relevance": 0.9, "reason": "plants"}]', ["garden"]),
        ('```json\n[{"path": "garden", "relevance": 0.31}]\n```', ["garden"]),
        ('Sure: [{"path": "garden", "relevance": 0.3}]', []),
        ('[{"path": "nowhere", "relevance": 1}, {"path": "/garden/", "relevance": 1}]', ["garden"]),
        ('{"categories": [{"path": "active_context/events", "relevance": 0.5}]}', ["active_context/events"]),
        ('[{"path": "garden", "relevance": 0.4}, {"path": "work/bot", "relevance": 0.8}]', ["work/bot", "garden"]),
        ('[{"path": "garden", "relevance": true}, {"path": "garden", "relevance": "high"}, 3, {"path": 4}]', []),
        ('[{"path": "garden", "relevance": NaN}]', []),
        ('[{"path": "garden", "relevance": 0.9}, {"path": "garden", "relevance": 0.5}]', ["garden"]),
        ("[]", []),
        ("I cannot help with that.", None),
        ("", None),
    ],
)
def test_of_a_models_answer_what_can_be_used_is_used(answer: str, paths: list[str] | None) -> None:
    routes = routes_from(answer, KNOWN)
    assert (None if routes is None else [route.path for route in routes]) == paths


def test_a_relevance_beyond_one_counts_as_one_and_at_most_five_paths_are_taken() -> None:
    answer = str([{"path": f"c{number}", "relevance": 7, "reason": "a\nb"} for number in range(9)])
    routes = routes_from(answer, {f"c{number}" for number in range(9)})
    assert routes is not None
    assert [(route.relevance, route.reason) for route in routes] == [(1.0, "a b")] * 5


def test_an_entry_that_shares_words_comes_before_one_that_is_only_filed_there() -> None:
    routes = keyword_routes(tree(node("garden", warm=2)), "garden fence", now=START)
    found = [entry(1, "Bought seeds", category="garden/beds"), entry(2, "Painted the fence", category="garden")]
    hits = entry_hits(found, routes, "garden fence", now=START)
    assert [(hit.record_id, hit.reason) for hit in hits] == [
        (2, "words in common and the category garden"),
        (1, "the category garden"),
    ]
    assert all(0 <= hit.score <= 1 for hit in hits)


@pytest.mark.parametrize(("query", "found"), [("When did I sell the boat?", True), ("Who invented the boat?", False)])
def test_unasked_an_entry_outside_of_the_categories_must_be_close(query: str, found: bool) -> None:
    hits = entry_hits([entry(1, "Sold the boat")], [], query, now=START, unasked=True)
    assert bool(hits) is found
