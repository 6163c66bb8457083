"""What is written into the hot state by hand, under the keys of its sections.

Invariant: what is wrong with an update is one sentence, and the state is as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memory.errors import InvalidInput
from memory.policy.hot_state import ACTIVE, PENDING, shortened
from memory.records import HotItem, HotState

KEYS = ("identity", "owner_profile", "lesson", "event", "task", "project")

_IDENTITY = ("owner_name", "owner_preferred_name")
_PROFILE = ("personality", "timezone", "work_hours")
_PROFILE_LISTS = ("family", "topics_loved", "topics_avoid")


def updated(state: HotState, key: str, value: Mapping[str, Any], *, at: datetime) -> HotState:
    """The state after an update; not pruned.

    Args:
        state: as it is.
        key: ``identity`` and ``owner_profile`` are merged; a ``lesson``, ``event`` or ``task`` is appended; a
            ``project`` takes the place of the one of its name.
        value: a JSON object with the fields of that section.
        at: the time of what has none of its own.

    Raises:
        InvalidInput: the key is unknown, or a field is missing or of the wrong kind.
    """
    match key:
        case "identity":
            return _identity(state, value)
        case "owner_profile":
            return _profile(state, value)
        case "project":
            item = HotItem(
                text=_text(value, "name"),
                description=_text(value, "description", ""),
                status=_text(value, "status", ACTIVE),
            )
            others = tuple(known for known in state.projects if known.text.casefold() != item.text.casefold())
            return replace(state, projects=(*others, shortened(item, "projects")))
        case "lesson" | "event" | "task":
            return _appended(state, key, value, at)
    raise InvalidInput(f"There is no key {key!r}. Choose one of {', '.join(KEYS)}.")


def _appended(state: HotState, key: str, value: Mapping[str, Any], at: datetime) -> HotState:
    item = HotItem(text=_text(value, "text"), timestamp=_text(value, "timestamp", at.isoformat(timespec="minutes")))
    if key == "lesson":
        item = replace(item, category=_text(value, "category", "general"), importance=_share(value, "importance", 0.7))
    if key == "task":
        item = replace(item, status=_text(value, "status", PENDING))
    name = f"{key}s"
    longer: dict[str, Any] = {name: (*getattr(state, name), shortened(item, name))}
    return replace(state, **longer)


def _identity(state: HotState, value: Mapping[str, Any]) -> HotState:
    _check_names(value, ("agent_name", "relationship_start", "trust_level", *_IDENTITY))
    names: dict[str, Any] = {
        name: (shortened(HotItem(text=_text(value, name)), name),) for name in _IDENTITY if name in value
    }
    return replace(
        state,
        agent_name=_text(value, "agent_name", state.agent_name),
        relationship_start=_text(value, "relationship_start", state.relationship_start),
        trust_level=_share(value, "trust_level", state.trust_level),
        **names,
    )


def _profile(state: HotState, value: Mapping[str, Any]) -> HotState:
    _check_names(value, (*_PROFILE, *_PROFILE_LISTS))
    single: dict[str, Any] = {
        name: (shortened(HotItem(text=_text(value, name)), name),) for name in _PROFILE if name in value
    }
    lists: dict[str, Any] = {
        name: _merged(getattr(state, name), value[name], name) for name in _PROFILE_LISTS if name in value
    }
    return replace(state, **single, **lists)


def _merged(known: tuple[HotItem, ...], texts: Any, name: str) -> tuple[HotItem, ...]:
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InvalidInput(f'{name} is a list of texts. Example: {{"{name}": ["tea"]}}')
    there = {item.text.casefold() for item in known}
    new = [shortened(HotItem(text=text), name) for text in texts if text.strip().casefold() not in there]
    return (*known, *new)


def _check_names(value: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise InvalidInput(f"There is no field {unknown[0]!r} there. Choose among {', '.join(known)}.")


def _text(value: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    given = value.get(name, otherwise)
    if not isinstance(given, str) or (otherwise is None and not given.strip()):
        raise InvalidInput(f'{name} is missing or no text. Example: {{"{name}": "..."}}')
    return given.strip()


def _share(value: Mapping[str, Any], name: str, otherwise: float) -> float:
    given = value.get(name, otherwise)
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1:
        raise InvalidInput(f"{name} is a number from 0 to 1.")
    return float(given)
