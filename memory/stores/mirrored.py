"""What is mirrored: a row for each store, and the triggers that note its changes.

A trigger notes in the transaction of the change itself that a row is to be mirrored, so that no writer of memory needs
to know of the mirror and none can forget it. It notes the row's identity alone; what the row says is read when it is
mirrored.

Invariant: an identity means the same row on every device, and never changes. Versions are therefore known by when and
in which session they were made, since two devices give out the same numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Table

from memory.policy.export.json_rows import json_ready
from memory.records import Scope, Source
from memory.schema import (
    account_links,
    audit_log,
    block_versions,
    channels,
    closed_scopes,
    community_limits,
    consent,
    entries,
    episodes,
    fact_revisions,
    facts,
    hot_versions,
    journal_entries,
    messages,
    parameter_changes,
    passages,
    preferences,
    procedure_versions,
    procedures,
    reminders,
    sessions,
    summary_versions,
    tree_nodes,
)

CRITICAL = "critical_state"
"""The hot state and the tree of a scope, which are mirrored together and as they are, without their history."""

ERASED = "erased_agents"
COLD = "cold_memories"

NOBODY = Scope(person="", audience="")
"""The scope under which what is about nobody is mirrored: the settings of places and of the installation."""

TRIGGERS = "mirror_"
"""What the names of our triggers begin with."""

_SCOPE = ("person", "audience")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID = re.compile(r"\[-?\d{1,18}\]|\[-?[1-8]\d{18}\]")  # what SQLite takes, and all that are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """A store that is mirrored row by row.

    Attributes:
        name: of the store, as an export calls it.
        table: where its rows are.
        identity: the columns that make a row the same on every device.
        ignored: columns of no importance elsewhere; a change of these alone is not mirrored.
        versions_of: for rows that are versions and have a number: what they are versions of.
        source: as what its rows are searchable.
    """

    name: str
    table: Table
    identity: tuple[str, ...] = ("id",)
    ignored: tuple[str, ...] = ()
    versions_of: tuple[str, ...] | None = None
    source: Source | None = None

    @property
    def remote(self) -> str:
        """The name of its table in the mirror."""
        return f"mirrored_{self.name}"

    @property
    def of_people(self) -> bool:
        """Whether its rows are people's data, and have a scope."""
        return is_of_people(self.table)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are mirrored."""
        return tuple(column.name for column in self.table.columns if column.name not in _SCOPE)

    def record_of(self, row: Mapping[str, Any]) -> str:
        """A row's identity, as the triggers write it; of a row as the database has it, times in milliseconds."""
        return json.dumps([row[name] for name in self.identity], ensure_ascii=False, separators=(",", ":"))

    def knows(self, record: str, row: Mapping[str, Any] | None) -> bool:
        """Whether an identity is one of this store's, and that of a row.

        Args:
            record: the identity.
            row: as ``export`` of the store gives it; None where it was deleted.
        """
        if row is not None:
            times = {name: row[name] for name in self.identity if isinstance(row[name], datetime)}
            raw = {name: (at - _EPOCH) // timedelta(milliseconds=1) for name, at in times.items()}
            return record == self.record_of({**row, **raw})
        return self.identity != ("id",) or _ID.fullmatch(record) is not None

    def values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row as an export has it, ready to be written as JSON."""
        values = {name: row[name] for name in self.columns}
        if self.table is messages:
            values["parts"] = json.loads(values["parts"])
        return json_ready(values)

    def says_the_same(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether two rows differ in nothing that is of importance elsewhere."""
        unimportant = {*self.ignored, *(() if self.versions_of is None else ("version",))}
        return all(other.get(name) == value for name, value in one.items() if name not in unimportant)


STORES: tuple[Mirrored, ...] = (
    Mirrored(name="consent", table=consent, identity=()),
    Mirrored(name="closures", table=closed_scopes, identity=()),
    Mirrored(name="links", table=account_links, identity=("other",)),
    Mirrored(name="preferences", table=preferences, identity=()),
    Mirrored(name="channels", table=channels, identity=("conversation",), ignored=("engaged_at",)),
    Mirrored(name="limits", table=community_limits, identity=("community", "name")),
    Mirrored(name="parameter_changes", table=parameter_changes),
    Mirrored(name="reminders", table=reminders, ignored=("claimed_until", "first_tried_at")),
    Mirrored(name="audit", table=audit_log),
    Mirrored(name="sessions", table=sessions, ignored=("last_activity_at",)),
    Mirrored(
        name="blocks",
        table=block_versions,
        identity=("label", "changed_at", "session_id", "source_message"),
        versions_of=("label",),
    ),
    Mirrored(name="summaries", table=summary_versions, identity=("changed_at", "session_id"), versions_of=()),
    Mirrored(name="facts", table=facts, source=Source.FACT),
    Mirrored(name="fact_revisions", table=fact_revisions),
    Mirrored(name="episodes", table=episodes, source=Source.EPISODE),
    Mirrored(name="procedures", table=procedures, ignored=("version",), source=Source.PROCEDURE),
    Mirrored(
        name="procedure_versions",
        table=procedure_versions,
        identity=("procedure_id", "changed_at", "session_id"),
        versions_of=("procedure_id",),
    ),
    Mirrored(name="archival", table=passages, ignored=("last_accessed_at", "access_count"), source=Source.ARCHIVAL),
    Mirrored(name="journal", table=journal_entries, source=Source.JOURNAL),
    Mirrored(name="entries", table=entries, ignored=("score",), source=Source.ENTRY),
)
"""Every store whose rows are mirrored, in the order in which they come back."""

MESSAGES = Mirrored(name="recall", table=messages, ignored=("tokens",), source=Source.RECALL)
"""What was said, word for word: mirrored only where that is asked for."""


def stores_of(*, with_messages: bool) -> tuple[Mirrored, ...]:
    """The stores that are mirrored."""
    return (*STORES, MESSAGES) if with_messages else STORES


def tables_of(stores: tuple[Mirrored, ...]) -> tuple[str, ...]:
    """The tables of the mirror in the order in which they come back: what matters most first, the archive late."""
    known = {store.name: store.remote for store in stores}
    said = [known.pop(MESSAGES.name)] if MESSAGES.name in known else []
    return (CRITICAL, *known.values(), COLD, *said)


def triggers_of(stores: tuple[Mirrored, ...]) -> dict[str, dict[str, str]]:
    """For each mirrored store, its triggers: SQL by name."""
    wanted: dict[str, dict[str, str]] = {
        store.name: dict(_triggers(store.name, store.table, store.identity, store.ignored)) for store in stores
    }
    of_nodes = dict(_triggers(CRITICAL, tree_nodes, (), ("created_at",)))
    wanted[CRITICAL] = {**dict(_triggers(CRITICAL, hot_versions, (), ())), **of_nodes}
    return wanted


def _triggers(
    name: str, table: Table, identity: tuple[str, ...], ignored: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    watched = [column.name for column in table.columns if column.name not in (*_SCOPE, *identity, *ignored)]
    # An update that changes nothing is no news, and telling it would go to and fro between devices for ever.
    changed = " OR ".join(f'OLD."{column}" IS NOT NEW."{column}"' for column in watched)
    for event, when, row in (("INSERT", "", "NEW"), ("UPDATE", f"WHEN {changed} ", "NEW"), ("DELETE", "", "OLD")):
        trigger = f"{TRIGGERS}{table.name}_{event.lower()}"
        yield (
            trigger,
            f"CREATE TRIGGER {trigger} AFTER {event} ON {table.name} {when}BEGIN "
            "INSERT INTO mirror_changes (person, audience, store, record, stamp, changed_at) VALUES "
            f"({owner_in_sql(table, row)}, '{name}', {record_in_sql(identity, row)}, random(), {NOW_IN_SQL}) "
            "ON CONFLICT DO UPDATE SET stamp = excluded.stamp, changed_at = excluded.changed_at; END",
        )


NOW_IN_SQL = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
"""Milliseconds since 1970."""


def is_of_people(table: Table) -> bool:
    """Whether the rows of a table are people's data, and have a scope."""
    return "person" in table.columns


def owner_in_sql(table: Table, row: str) -> str:
    """The scope of a row in SQL."""
    return f"{row}.person, {row}.audience" if is_of_people(table) else "'', ''"


def record_in_sql(identity: tuple[str, ...], row: str) -> str:
    """``Mirrored.record_of`` in SQL."""
    return f"json_array({', '.join(f'{row}.{name}' for name in identity)})"
