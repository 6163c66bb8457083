"""The hot state: what must be before the agent in every conversation, as a small structured value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from memory.records.versions import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class HotItem:
    """One line of the hot state.

    Attributes:
        text: what it says; of a project, its name.
        source: ``fact:<id>`` or ``entry:<id>``, whose words it repeats and with which it goes; empty for none.
        message: the message that taught it.
        timestamp: when it was learned or happened, an ISO 8601 date or time; empty where that does not matter.
        importance: 0 to 1, of a lesson.
        category: of a lesson.
        description: of a project.
        status: of a task (``pending`` or ``done``) or a project (``active`` or another word).
    """

    text: str
    source: str = ""
    message: int | None = None
    timestamp: str = ""
    importance: float = 0.0
    category: str = ""
    description: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HotState:
    """Who the two are to each other, what the person is like, what is going on, and what was learned for good.

    Attributes:
        agent_name, owner_name, owner_preferred_name: names, each at most one.
        relationship_start: a date.
        trust_level: 0 to 1.
        personality, timezone, work_hours: of the person, at most one line of each.
        family, topics_loved, topics_avoid: of the person.
        projects, events, tasks: what is going on; events and tasks the oldest first.
        lessons: what was decided or learned.
        version, last_updated: of the version that was read.
    """

    agent_name: str = ""
    owner_name: tuple[HotItem, ...] = ()
    owner_preferred_name: tuple[HotItem, ...] = ()
    relationship_start: str = ""
    trust_level: float = 0.5
    personality: tuple[HotItem, ...] = ()
    family: tuple[HotItem, ...] = ()
    topics_loved: tuple[HotItem, ...] = ()
    topics_avoid: tuple[HotItem, ...] = ()
    timezone: tuple[HotItem, ...] = ()
    work_hours: tuple[HotItem, ...] = ()
    projects: tuple[HotItem, ...] = ()
    events: tuple[HotItem, ...] = ()
    tasks: tuple[HotItem, ...] = ()
    lessons: tuple[HotItem, ...] = ()
    version: int = field(default=0, compare=False)
    last_updated: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotVersion:
    """One version of a hot state; the newest one is the state."""

    version: int
    state: HotState
    changed_at: datetime
    change: Change
