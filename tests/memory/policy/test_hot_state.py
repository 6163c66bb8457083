"""The hot state stays within its limits, and what matters most is the last to go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.errors import InvalidInput, MemoryRefusal
from memory.policy.hot_state import HotLimits, as_json, as_value, from_value, memory_page, pruned, size_of
from memory.policy.hot_updates import updated
from memory.records import HotItem, HotState
from tests.fakes import START


def lessons(count: int, length: int = 10) -> tuple[HotItem, ...]:
    return tuple(HotItem(text=f"{number} " + "x" * length, importance=number / 100) for number in range(count))


def lines(count: int, length: int = 10, status: str = "") -> tuple[HotItem, ...]:
    return tuple(HotItem(text=f"{number} " + "x" * length, status=status) for number in range(count))


def test_of_21_lessons_the_least_important_goes() -> None:
    kept = pruned(HotState(lessons=lessons(21)), HotLimits()).lessons
    assert len(kept) == 20
    assert min(item.importance for item in kept) == 0.01


def test_of_11_events_and_11_tasks_the_oldest_goes_and_done_tasks_go_first() -> None:
    tasks = (*lines(11, status="pending"), HotItem(text="done", status="done"))
    kept = pruned(HotState(events=lines(11), tasks=tasks, projects=lines(6)), HotLimits())
    assert [item.text[0] for item in kept.events] == [*"123456789", "1"]
    assert len(kept.tasks) == 10
    assert kept.tasks[0].text.startswith("1 ")
    assert len(kept.projects) == 5


def test_what_is_too_large_shrinks_below_the_limit_and_keeps_the_most_important_lesson() -> None:
    state = HotState(lessons=lessons(20, 150), events=lines(10, 150), tasks=lines(10, 150, "pending"))
    assert size_of(state) > 5_120
    kept = pruned(state, HotLimits())
    assert size_of(kept) <= 5_120
    assert kept.lessons[-1] == state.lessons[-1]
    assert kept.events == state.events
    small = pruned(state, HotLimits(max_bytes=600))
    assert small.lessons == state.lessons[-1:]
    assert small.events == ()


def test_a_state_at_its_limit_is_left_alone_and_one_byte_more_is_not() -> None:
    state = HotState(lessons=lessons(3, 50))
    assert pruned(state, HotLimits(max_bytes=size_of(state))) == state
    assert pruned(state, HotLimits(max_bytes=size_of(state) - 1)) != state


def test_what_can_be_pruned_no_further_is_refused() -> None:
    with pytest.raises(MemoryRefusal, match="more than the 20 allowed"):
        pruned(HotState(projects=lines(2)), HotLimits(max_bytes=20))


def test_it_comes_back_as_it_was_kept_and_shows_no_sources() -> None:
    state = replace(HotState(lessons=lessons(2)), topics_loved=(HotItem(text="tea", source="fact:7", message=2**60),))
    assert from_value(as_value(state)) == state
    assert "fact:7" not in as_json(state)


def test_updates_merge_append_and_replace() -> None:
    state = updated(HotState(), "identity", {"owner_name": "Ann", "trust_level": 0.9}, at=START)
    state = updated(state, "owner_profile", {"topics_loved": ["tea"]}, at=START)
    state = updated(state, "owner_profile", {"topics_loved": ["Tea", "boats"], "timezone": "Europe/Oslo"}, at=START)
    state = updated(state, "lesson", {"text": "Be early"}, at=START)
    state = updated(state, "task", {"text": "Buy milk"}, at=START)
    for status in ("active", "paused"):
        state = updated(state, "project", {"name": "Boat", "status": status}, at=START)
    assert [item.text for item in state.topics_loved] == ["tea", "boats"]
    assert (state.lessons[0].importance, state.lessons[0].category) == (0.7, "general")
    assert state.tasks[0].status == "pending"
    assert [item.status for item in state.projects] == ["paused"]
    page = memory_page(state, max_bytes=5_120, generated_at="now")
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Identity",
        "## Owner profile",
        "## Active projects",
        "## Pending tasks",
        "## Critical lessons",
    ]
    assert "Warning" in memory_page(state, max_bytes=10, generated_at="now")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("identity", {"trust_level": 1.5}, "from 0 to 1"),
        ("identity", {"shoe_size": 40}, "no field"),
        ("owner_profile", {"family": "Bob"}, "list of texts"),
        ("lesson", {}, "text is missing"),
        ("nonsense", {}, "no key"),
    ],
)
def test_a_wrong_update_is_a_sentence(key: str, value: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        updated(HotState(), key, value, at=START)
