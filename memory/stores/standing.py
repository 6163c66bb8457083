"""What a prompt of a conversation holds before any message, read together: mostly little, and for every turn.

Invariant: nothing is written here. Each part is what the store that writes it would give.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Select, Table, Text, bindparam, cast, func, literal, null, select, union_all
from sqlalchemy.sql.elements import ColumnElement

from memory.database import Database
from memory.policy.audience import SHARED_AUDIENCE
from memory.policy.working_memory import WorkingMemory
from memory.policy.working_memory import from_value as working_from_value
from memory.records import BLOCK_LABELS, HotState, MemoryBlock, Session
from memory.schema import hot_versions, memory_blocks, preferences, summary_versions, tree_index, working_memory
from memory.stores.hot import still_true, stored_state
from memory.stores.scoped import in_any_scope, scope_values

_SUMMARY, _BLOCK, _ZONE, _HOT, _TREE, _WORKING = "summary", "block", "zone", "hot", "tree", "working"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands in the prompts of a session.

    Attributes:
        summary: the rolling summary; empty for a new person.
        blocks: core memory, in the order of ``BLOCK_LABELS``.
        zone: the time zone of the person.
        hot: the hot state without what has been forgotten since; of version 0 where there is none.
        tree: the index of the tree of categories; empty before the first consolidation.
        working: what the agent is doing just now.
    """

    summary: str
    blocks: tuple[MemoryBlock, ...]
    zone: ZoneInfo
    hot: HotState
    tree: str
    working: WorkingMemory


def _part(
    kind: str,
    text: ColumnElement[str],
    *where: ColumnElement[bool],
    label: ColumnElement[str] | None = None,
    version: ColumnElement[int] | None = None,
    at: ColumnElement[datetime] | None = None,
) -> Select[str, str, int, str, datetime | None]:
    """Rows of one kind of memory, all kinds with the same columns."""
    return select(
        literal(kind).label("kind"),
        (literal("") if label is None else label).label("label"),
        (literal(0) if version is None else version).label("version"),
        text.label("text"),
        (null() if at is None else at).label("at"),
    ).where(*where)


def _newest(table: Table) -> ColumnElement[bool]:
    newest = select(func.max(table.c.version)).where(in_any_scope(table)).scalar_subquery()
    return in_any_scope(table) & (table.c.version == newest)


# Made once, since making a statement takes longer than running it. The first part gives the columns their types.
_STANDING = union_all(
    _part(
        _BLOCK,
        memory_blocks.c.value,
        in_any_scope(memory_blocks),
        label=memory_blocks.c.label,
        version=memory_blocks.c.version,
        at=memory_blocks.c.updated_at,
    ),
    _part(_SUMMARY, summary_versions.c.text, _newest(summary_versions)),
    _part(
        _HOT,
        cast(hot_versions.c.state, Text),
        _newest(hot_versions),
        version=hot_versions.c.version,
        at=hot_versions.c.changed_at,
    ),
    _part(_TREE, tree_index.c.text, in_any_scope(tree_index)),
    _part(
        _WORKING,
        cast(working_memory.c.state, Text),
        in_any_scope(working_memory),
        working_memory.c.conversation == bindparam("of_conversation"),
        working_memory.c.session_id == bindparam("of_session"),
    ),
    _part(
        _ZONE,
        preferences.c.time_zone,
        preferences.c.person == bindparam("of_person"),
        preferences.c.audience == SHARED_AUDIENCE,
    ),
)


class StandingReader:
    """Reads it.

    Args:
        database: where the rows are.
        zone: that of persons who set none.
    """

    def __init__(self, database: Database, *, zone: ZoneInfo) -> None:
        self._database = database
        self._zone = zone

    async def load(self, session: Session) -> Standing:
        """What stands in the prompts of a session."""
        scope = session.scope
        values = {**scope_values(scope), "of_conversation": session.conversation, "of_session": session.id}
        async with self._database.read() as connection:
            rows = (await connection.execute(_STANDING, values)).all()
            single = {row.kind: row for row in rows if row.kind != _BLOCK}
            hot = HotState()
            if (kept := single.get(_HOT)) is not None:
                state = stored_state(json.loads(kept.text), version=kept.version, changed_at=kept.at)
                hot = await still_true(connection, scope, state)
        blocks = {
            row.label: MemoryBlock(label=row.label, value=row.text, version=row.version, updated_at=row.at)
            for row in rows
            if row.kind == _BLOCK
        }
        text = {kind: row.text for kind, row in single.items()}
        return Standing(
            summary=text.get(_SUMMARY, ""),
            blocks=tuple(blocks.get(label, MemoryBlock(label=label, value="", version=0)) for label in BLOCK_LABELS),
            zone=ZoneInfo(text[_ZONE]) if _ZONE in text else self._zone,
            hot=hot,
            tree=text.get(_TREE, ""),
            working=working_from_value(json.loads(text[_WORKING])) if _WORKING in text else WorkingMemory(),
        )
