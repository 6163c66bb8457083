"""The limits of the hot state, how it is pruned, and its three forms: kept, in a prompt, and as a page for people.

Invariant: a state that went through ``pruned`` keeps every limit; the most important lesson is the last to go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from memory.errors import MemoryRefusal
from memory.policy.text import clean
from memory.records import HotItem, HotState

SINGLE = ("owner_name", "owner_preferred_name", "personality", "timezone", "work_hours")
LISTS = ("family", "topics_loved", "topics_avoid", "projects", "events", "tasks", "lessons")
PENDING = "pending"
ACTIVE = "active"

_LONGEST_ITEM = 200  # characters
_LONGEST_PROFILE_ITEM = 80  # characters
_MOST_PROFILE_ITEMS = 10
_PROFILE_LISTS = ("topics_avoid", "topics_loved", "family")


@dataclass(frozen=True, slots=True, kw_only=True)
class HotLimits:
    """How much the hot state holds; ``max_bytes`` of its form in a prompt."""

    max_bytes: int = 5_120
    lessons: int = 20
    events: int = 10
    tasks: int = 10
    projects: int = 5


def items_of(state: HotState) -> Iterator[HotItem]:
    """Every line of a state."""
    for name in (*SINGLE, *LISTS):
        yield from getattr(state, name)


def without(state: HotState, gone: Callable[[HotItem], bool]) -> HotState:
    """The state without some of its lines."""
    left: dict[str, Any] = {
        name: tuple(item for item in getattr(state, name) if not gone(item)) for name in (*SINGLE, *LISTS)
    }
    return replace(state, **left)


def shortened(item: HotItem, name: str) -> HotItem:
    """A line as it is kept: on one line, not longer than its place allows."""
    longest = _LONGEST_ITEM if name in ("projects", "events", "tasks", "lessons") else _LONGEST_PROFILE_ITEM
    return replace(item, text=_line(item.text, longest), description=_line(item.description, longest))


def pruned(state: HotState, limits: HotLimits) -> HotState:
    """The state within its limits.

    First each list is cut to its length: of lessons the least important go, of events and tasks the oldest. Where the
    whole is too large, the least important lessons go but for the last one, then the oldest events, then the oldest
    tasks, then that lesson, then lines of the profile.

    Raises:
        MemoryRefusal: it is too large even then.
    """
    state = _cut_lists(state, limits)
    for shorter in (_without_least_lesson, _without_first("events"), _without_first("tasks"), _without_a_detail):
        while size_of(state) > limits.max_bytes and (smaller := shorter(state)) != state:
            state = smaller
    if size_of(state) > limits.max_bytes:
        raise MemoryRefusal(
            f"The hot state would take {size_of(state):,} bytes, more than the {limits.max_bytes:,} allowed. "
            "Shorten its projects and profile."
        )
    return state


def size_of(state: HotState) -> int:
    """Bytes of its form in a prompt."""
    return len(as_json(state).encode())


def shown_value(state: HotState) -> dict[str, Any]:
    """What people and models are shown, without what is empty."""
    profile = {
        name: [item.text for item in getattr(state, name)] for name in ("family", "topics_loved", "topics_avoid")
    }
    value = {
        "identity": {
            "agent_name": state.agent_name,
            "owner_name": _single(state.owner_name),
            "owner_preferred_name": _single(state.owner_preferred_name),
            "relationship_start": state.relationship_start,
            "trust_level": round(state.trust_level, 2),
        },
        "owner_profile": {
            "personality": _single(state.personality),
            **profile,
            "timezone": _single(state.timezone),
            "work_hours": _single(state.work_hours),
        },
        "active_context": {
            "projects": [
                {"name": item.text, "description": item.description, "status": item.status} for item in state.projects
            ],
            "events": [{"text": item.text, "timestamp": item.timestamp} for item in state.events],
            "tasks": [{"text": item.text, "status": item.status, "timestamp": item.timestamp} for item in state.tasks],
        },
        "critical_lessons": [
            {
                "text": item.text,
                "category": item.category,
                "importance": round(item.importance, 2),
                "timestamp": item.timestamp,
            }
            for item in state.lessons
        ],
    }
    told: dict[str, Any] = _without_empty(value)
    return told


def parts_by_path(state: HotState) -> dict[str, str]:
    """What people and models are shown in parts, such as ``active_context/events``, each as JSON."""
    parts: dict[str, Any] = {}
    for name, value in shown_value(state).items():
        inner = {f"{name}/{key}": one for key, one in value.items()} if name == "active_context" else {name: value}
        parts |= inner
    return {path: json.dumps(value, ensure_ascii=False) for path, value in parts.items()}


def as_json(state: HotState) -> str:
    """Its form in a prompt."""
    return json.dumps(shown_value(state), ensure_ascii=False, separators=(",", ":"))


def as_value(state: HotState) -> dict[str, Any]:
    """Its kept form; the inverse of ``from_value``."""
    value: dict[str, Any] = {
        "agent_name": state.agent_name,
        "relationship_start": state.relationship_start,
        "trust_level": state.trust_level,
    }
    for name in (*SINGLE, *LISTS):
        value[name] = [_item_value(item) for item in getattr(state, name)]
    return value


def from_value(value: Mapping[str, Any]) -> HotState:
    """The state that was kept."""
    lists: dict[str, Any] = {name: tuple(_item(one) for one in value.get(name, ())) for name in (*SINGLE, *LISTS)}
    return HotState(
        agent_name=value.get("agent_name", ""),
        relationship_start=value.get("relationship_start", ""),
        trust_level=value.get("trust_level", 0.5),
        **lists,
    )


def memory_page(state: HotState, *, max_bytes: int, generated_at: str) -> str:
    """The state as a page of Markdown for people; a last line warns where it is larger than allowed."""
    shown = shown_value(state)
    profile, context = shown.get("owner_profile", {}), shown.get("active_context", {})
    pending = [item for item in context.get("tasks", ()) if item.get("status") == PENDING]
    parts = [
        ("Identity", [f"{_title(name)}: {value}" for name, value in shown.get("identity", {}).items()]),
        ("Owner profile", [f"{_title(name)}: {_joined(value)}" for name, value in profile.items()]),
        ("Active projects", [_project_line(item) for item in context.get("projects", ())]),
        ("Pending tasks", [_dated(item) for item in pending]),
        ("Recent events", [_dated(item) for item in context.get("events", ())]),
        (
            "Critical lessons",
            [f"{item['text']} ({item['importance']})" for item in shown.get("critical_lessons", ())],
        ),
    ]
    sections = [f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts if lines]
    size = size_of(state)
    warning = [f"Warning: {size:,} bytes, more than the {max_bytes:,} allowed."] if size > max_bytes else []
    return "\n\n".join(["# Memory", *sections, f"Generated at {generated_at}.", *warning]) + "\n"


def _cut_lists(state: HotState, limits: HotLimits) -> HotState:
    pending = [item for item in state.tasks if item.status == PENDING]
    lists: dict[str, Any] = {
        "lessons": _most_important(state.lessons, limits.lessons),
        "events": _last(state.events, limits.events),
        "tasks": _last(pending, limits.tasks),
        "projects": _last(state.projects, limits.projects),
    }
    lists |= {name: _last(getattr(state, name), _MOST_PROFILE_ITEMS) for name in _PROFILE_LISTS}
    whole = {**{name: _last(getattr(state, name), 1) for name in SINGLE}, **lists}
    short: dict[str, Any] = {name: tuple(shortened(item, name) for item in items) for name, items in whole.items()}
    return replace(state, **short)


def _most_important(lessons: tuple[HotItem, ...], most: int) -> tuple[HotItem, ...]:
    """The most important ones in their order; of equal ones the newest."""
    ranked = sorted(range(len(lessons)), key=lambda place: (lessons[place].importance, place), reverse=True)
    return tuple(lessons[place] for place in sorted(ranked[:most]))


def _last(items: Any, most: int) -> tuple[HotItem, ...]:
    return tuple(items)[-most:] if most else ()


def _without_least_lesson(state: HotState) -> HotState:
    if len(state.lessons) <= 1:
        return state
    return replace(state, lessons=_most_important(state.lessons, len(state.lessons) - 1))


def _without_first(name: str) -> Callable[[HotState], HotState]:
    def shorter(state: HotState) -> HotState:
        return replace(state, **{name: getattr(state, name)[1:]})

    return shorter


def _without_a_detail(state: HotState) -> HotState:
    name = next((name for name in ("lessons", *_PROFILE_LISTS) if getattr(state, name)), None)
    return state if name is None else replace(state, **{name: getattr(state, name)[1:]})


def _line(text: str, longest: int) -> str:
    plain = " ".join(clean(text).split())
    return plain if len(plain) <= longest else plain[: longest - 1].rstrip() + "…"


def _single(items: tuple[HotItem, ...]) -> str:
    return items[-1].text if items else ""


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    filled = {name: _without_empty(part) for name, part in value.items()}
    return {name: part for name, part in filled.items() if part not in ("", [], {})}


def _item_value(item: HotItem) -> dict[str, Any]:
    value = {name: part for name, part in asdict(item).items() if part not in ("", None, 0.0)}
    return {**value, "message": str(item.message)} if item.message is not None else value


def _item(value: Mapping[str, Any]) -> HotItem:
    known = {field.name for field in fields(HotItem)}
    message = value.get("message")
    whole = {name: part for name, part in value.items() if name in known}
    return HotItem(**{**whole, "message": None if message is None else int(message)})


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _joined(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _project_line(item: Mapping[str, str]) -> str:
    told = f": {item['description']}" if item.get("description") else ""
    return f"{item['name']} ({item.get('status') or ACTIVE}){told}"


def _dated(item: Mapping[str, str]) -> str:
    return f"{item['text']} ({item['timestamp'][:10]})" if item.get("timestamp") else item["text"]
