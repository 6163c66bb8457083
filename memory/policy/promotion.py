"""What of facts and entries is worth a line in the hot state, and in which of its places.

What is worth 0.7 or more is copied: a trait of the person into the profile, a decision or lesson into the lessons,
something to do into the tasks, what happened into the events. A copy names its source, with which it goes.

Invariant: nothing is copied twice, whatever its words; a state is only added to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memory.policy.category_tree import home_of, is_within
from memory.policy.decay import score_at
from memory.policy.hot_state import PENDING, items_of, shortened
from memory.policy.tiers import PROMOTED_FROM, current_score
from memory.records import Fact, HotItem, HotState, TierEntry

_PLACES = {
    "name": "owner_name",
    "preferred_name": "owner_preferred_name",
    "nickname": "owner_preferred_name",
    "personality": "personality",
    "timezone": "timezone",
    "time_zone": "timezone",
    "work_hours": "work_hours",
    **dict.fromkeys(("likes", "loves", "prefers", "enjoys", "interested_in", "hobby", "plays"), "topics_loved"),
    **dict.fromkeys(("dislikes", "hates", "avoids", "allergic_to"), "topics_avoid"),
    **dict.fromkeys(("spouse", "partner", "child", "parent", "sibling", "pet"), "family"),
    **dict.fromkeys(("plans", "plans_to", "wants_to", "needs_to", "has_to"), "tasks"),
    **dict.fromkeys(("works_on", "project"), "projects"),
}
_CATEGORIES = {"owner/family": "family", "owner/pets": "family", "lessons": "lessons", "tasks": "tasks"}
_LESSON = re.compile(r"\b(decid\w+|decision|chose|chosen|lesson|learned that|learnt|never again|always|never)\b", re.I)
_TO_DO = re.compile(r"\b(to-?do|needs? to|ha(?:s|ve) to|must|should not forget|remind\w*)\b", re.I)
_ONLY_THE_THING = ("owner_name", "owner_preferred_name", "topics_loved", "topics_avoid", "timezone", "work_hours")


def promoted(
    state: HotState, facts: Iterable[Fact], entries: Iterable[TierEntry], *, now: datetime
) -> tuple[HotState, int]:
    """The state with what is worth it, and how many lines that are; not pruned.

    Args:
        state: as it is.
        facts: those that are true, in the order they were learned.
        entries: the warm ones.
        now: the present moment.
    """
    worth = [(fact_place(fact), _of_fact(fact)) for fact in facts if _is_worth_it(_worth(fact, now))]
    lasting = sorted(entries, key=lambda entry: (entry.created_at, entry.id))
    worth += [(entry_place(one), _of_entry(one)) for one in lasting if _is_worth_it(current_score(one, now))]
    count = 0
    for place, item in worth:
        if place and not _is_there(state, place, item):
            longer: dict[str, Any] = {place: (*getattr(state, place), shortened(item, place))}
            state = replace(state, **longer)
            count += 1
    return state, count


def fact_place(fact: Fact) -> str:
    """The list of the hot state in which a fact belongs; empty where in none."""
    if fact.predicate in _PLACES and fact.subject in ("", "user"):
        return _PLACES[fact.predicate]
    home = home_of(fact.category)
    found = next((place for path, place in _CATEGORIES.items() if is_within(home, path)), "")
    return found or _by_words(fact.text, otherwise="")


def entry_place(entry: TierEntry) -> str:
    """The same of an entry: what is no lesson and nothing to do has happened."""
    if is_within(entry.category, "lessons"):
        return "lessons"
    return _by_words(entry.text, otherwise="events")


def _by_words(text: str, *, otherwise: str) -> str:
    if _LESSON.search(text):
        return "lessons"
    return "tasks" if _TO_DO.search(text) else otherwise


def _is_worth_it(score: float) -> bool:
    """Whether it is, in hundredths: what was just told with an importance of 0.7 is worth a little less by now."""
    return round(score, 2) >= PROMOTED_FROM


def _worth(fact: Fact, now: datetime) -> float:
    return score_at(now, importance=fact.importance, created_at=fact.updated_at, access_count=0)


def _of_fact(fact: Fact) -> HotItem:
    place = fact_place(fact)
    text = fact.object if place in _ONLY_THE_THING and fact.object else fact.text
    item = HotItem(text=text, source=f"fact:{fact.id}", message=fact.source_message)
    return _in_place(item, place, fact.category, fact.importance, fact.created_at)


def _of_entry(entry: TierEntry) -> HotItem:
    item = HotItem(text=entry.text, source=f"entry:{entry.id}", message=entry.source_message)
    return _in_place(item, entry_place(entry), entry.category, entry.importance, entry.created_at)


def _in_place(item: HotItem, place: str, category: str, importance: float, at: datetime) -> HotItem:
    if place not in ("lessons", "tasks", "events"):
        return item
    item = replace(item, timestamp=at.isoformat(timespec="minutes"))
    if place == "lessons":
        return replace(item, category=category or "general", importance=importance)
    return replace(item, status=PENDING) if place == "tasks" else item


def _is_there(state: HotState, place: str, item: HotItem) -> bool:
    known: Sequence[HotItem] = getattr(state, place)
    same_words = shortened(item, place).text.casefold()
    said = any(other.text.casefold() == same_words for other in known)
    return said or any(other.source == item.source for other in items_of(state))
