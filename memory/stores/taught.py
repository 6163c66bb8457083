"""What was learned from messages: the facts true now, and the messages that said what took the place of others.

Invariant: a fact is looked up in its message's own scope, and so is as much within reach as the message is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import FromClause, Select, and_, case, exists, select
from sqlalchemy.engine import Connection

from memory.policy.fact_changes import confirmed_by
from memory.prepared import Prepared, Row
from memory.records import FactState, Scope, Source
from memory.schema import fact_revisions, facts, listed, search_entries
from memory.stores.excerpts import Embedded
from memory.stores.scoped import id_batches, key_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What messages taught, each by the message's id.

    Attributes:
        entries: the search entries, with token vectors, of the facts learned from it that are true now.
        later: the messages that said what took the place of something learned from it.
        corrected: those of which the person corrected what was learned.
        forgotten: those that said what is to be forgotten, and of which nothing else that was learned is true now.
    """

    entries: Mapping[int, Sequence[Embedded]]
    later: Mapping[int, frozenset[int]]
    corrected: frozenset[int]
    forgotten: frozenset[int]


def taught_by(connection: Connection, scopes: Collection[Scope], message_ids: Collection[int]) -> Taught:
    """What messages taught, and what those taught that said what took its place.

    Args:
        connection: where to read.
        scopes: the messages' own.
        message_ids: the messages.
    """
    entries: defaultdict[int, list[Embedded]] = defaultdict(list)
    later: defaultdict[int, set[int]] = defaultdict(set)
    corrected: set[int] = set()
    forgotten: set[int] = set()
    true_now: set[int] = set()
    known: set[int] = set()
    while unknown := {*message_ids, *(one for those in later.values() for one in those)} - known:
        for row in _rows(connection, scopes, unknown):
            message_id, taken_by, was_corrected, unwanted, *entry = row
            entry_id = entry[0]
            if was_corrected:
                corrected.add(message_id)
            elif entry_id is not None:
                entries[message_id].append(tuple(entry))
            if entry_id is not None:
                true_now.add(message_id)
            if unwanted is not None:
                forgotten.update((message_id, *confirmed_by(json.loads(unwanted))))
            if taken_by is not None and taken_by != message_id:
                later[message_id].add(taken_by)
        known |= unknown
    return Taught(
        entries=dict(entries),
        later={message_id: frozenset(those) for message_id, those in later.items()},
        corrected=frozenset(corrected),
        forgotten=frozenset(forgotten - true_now),
    )


def _rows(connection: Connection, scopes: Collection[Scope], message_ids: Collection[int]) -> Iterator[Row]:
    for some_ids in id_batches(message_ids):
        yield from _TAUGHT.rows(connection, key_values(scopes, some_ids))


def _taught() -> Select[Any]:
    entry, successor, revision = search_entries, facts.alias("successor"), fact_revisions
    corrected = exists().where(_same_scope(revision), revision.c.fact_id == facts.c.id, revision.c.action == "correct")
    of_fact = and_(_same_scope(entry), entry.c.source == Source.FACT.value, entry.c.record_id == facts.c.id)
    replaced = and_(_same_scope(successor), successor.c.id == facts.c.superseded_by)
    unwanted = case((facts.c.state == FactState.FORGOTTEN.value, facts.c.metadata))  # says who else said it
    return (
        select(facts.c.source_message, successor.c.source_message.label("later"), corrected.label("corrected"))
        .add_columns(unwanted.label("unwanted"))
        .add_columns(entry.c.id, entry.c.embedder, entry.c.vector, entry.c.tokens)
        .select_from(facts.outerjoin(entry, of_fact).outerjoin(successor, replaced))
        .where(
            facts.c.person.in_(listed("persons")),
            facts.c.audience.in_(listed("audiences")),
            facts.c.source_message.in_(listed("ids")),
        )
    )


def _same_scope(table: FromClause) -> Any:
    return and_(table.c.person == facts.c.person, table.c.audience == facts.c.audience)


_TAUGHT = Prepared(_taught())
