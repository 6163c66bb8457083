"""What every store says the same way: which rows are a scope's, which are within reach, and all rows of a scope.

Invariant: a statement on a table of people's data carries one of these conditions. The few sweeps over everybody
say so in their docstring.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    FromClause,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    tuple_,
)

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.records import Change, EntryScore, Origin, Reach, Scope
from memory.schema import closed_scopes, listed

_SCOPE_COLUMNS = ("person", "audience")
_SCOPES_KEPT = 512
_CONDITIONS_KEPT = 2_048  # by the scopes they are about: making one takes longer than running a statement with it
_KEYS_PER_STATEMENT = 1_000  # SQLite takes 32,766 variables at most


@lru_cache(_CONDITIONS_KEPT)
def in_scope(table: Table, scope: Scope) -> ColumnElement[bool]:
    """The rows of exactly this scope."""
    return and_(table.c.person == scope.person, table.c.audience == scope.audience)


def in_any_scope(table: Table) -> ColumnElement[bool]:
    """The rows of the scope whose ``scope_values`` a statement is run with: for one that is made once."""
    return and_(table.c.person == bindparam("of_person"), table.c.audience == bindparam("of_audience"))


def scope_values(scope: Scope) -> dict[str, Any]:
    """What a statement with ``in_any_scope`` is run with."""
    return {"of_person": scope.person, "of_audience": scope.audience}


def in_any_reach(table: FromClause, *, in_audiences: bool) -> ColumnElement[bool]:
    """The rows within the reach whose ``reach_values`` a statement is run with: for one that is made once.

    Such a statement reads of one account, so it is run for ``Reach.of_each``.

    Args:
        in_audiences: whether the reach names its audiences.
    """
    person: BindParameter[str] = bindparam("of_person")
    mine = and_(table.c.person == person, table.c.audience.not_in(closed_audiences(person)))
    return and_(mine, table.c.audience.in_(listed("of_audiences"))) if in_audiences else mine


def in_any_reach_by_key(table: FromClause, *, in_audiences: bool) -> ColumnElement[bool]:
    """The same for a statement that goes on to ask for what follows the scope in a key, such as an id.

    Of a reach over every audience ``in_any_reach`` names none, and SQLite would then walk all rows of the person.
    """
    within = in_any_reach(table, in_audiences=in_audiences)
    return within if in_audiences else and_(within, _named_audiences(table, bindparam("of_person")))


def reach_values(reach: Reach) -> dict[str, Any]:
    """What a statement with ``in_any_reach`` is run with."""
    if reach.audiences is None:
        return {"of_person": reach.person}
    return {"of_person": reach.person, "of_audiences": sorted(reach.audiences)}


@lru_cache(_CONDITIONS_KEPT)
def in_reach(table: FromClause, reach: Reach) -> ColumnElement[bool]:
    """The rows that a conversation of this reach may read: of closed scopes none."""
    return or_(*(_of_account(table, own) for own in reach.of_each))


def _named_audiences(table: FromClause, person: BindParameter[str]) -> ColumnElement[bool]:
    """The audiences under which there are rows of an account, one after the other by the key (a loose index scan)."""
    other = table.alias()
    first = select(func.min(other.c.audience).label("audience")).where(other.c.person == person)
    seen = first.cte("seen_audiences", recursive=True)
    after = table.alias()
    following = select(func.min(after.c.audience)).where(after.c.person == person, after.c.audience > seen.c.audience)
    seen = seen.union_all(select(following.scalar_subquery()).where(seen.c.audience.is_not(None)))
    return table.c.audience.in_(select(seen.c.audience))


def _of_account(table: FromClause, reach: Reach) -> ColumnElement[bool]:
    mine = and_(table.c.person == reach.person, table.c.audience.not_in(closed_audiences(reach.person)))
    return mine if reach.audiences is None else and_(mine, table.c.audience.in_(sorted(reach.audiences)))


def closed_audiences(person: str | BindParameter[str]) -> Select[str]:
    """The audiences whose scopes are closed for a person."""
    return select(closed_scopes.c.audience).where(closed_scopes.c.person == person)


def with_keys(table: Table, keys: Collection[tuple[Scope, int]]) -> ColumnElement[bool]:
    """The rows of these ids by their whole primary key: an id without its scope would walk all of a person's rows."""
    ids_of: defaultdict[Scope, list[int]] = defaultdict(list)
    for scope, record_id in keys:
        ids_of[scope].append(record_id)
    return or_(false(), *(and_(in_scope(table, scope), table.c.id.in_(ids)) for scope, ids in ids_of.items()))


def by_keys(table: Table) -> Select[Any]:
    """The same rows as a statement to be made once, since making one takes longer than running it.

    Run it with ``key_values``.
    """
    return select(table).where(
        table.c.person.in_(listed("persons")),
        table.c.audience.in_(listed("audiences")),
        table.c.id.in_(listed("ids")),
    )


def key_values(scopes: Collection[Scope], ids: Collection[int]) -> dict[str, Any]:
    """What ``by_keys`` is run with: the ids of rows, and the scopes that these are of."""
    return {
        "persons": sorted({scope.person for scope in scopes}),
        "audiences": sorted({scope.audience for scope in scopes}),
        "ids": sorted(ids),
    }


def keys_of(entries: Iterable[EntryScore]) -> dict[str, Any]:
    """The same for the records that a search found."""
    found = list(entries)
    return key_values(scopes_of(found), {entry.record_id for entry in found})


def scopes_of(entries: Iterable[EntryScore]) -> Collection[Scope]:
    """The scopes of these. Nearly all share a few values, so hardly any has to be hashed."""
    return set({id(entry.scope): entry.scope for entry in entries}.values())


def id_batches(ids: Collection[int]) -> Iterator[Sequence[int]]:
    """The ids in rising order, as many at a time as a statement may name."""
    rising = sorted(ids)
    for start in range(0, len(rising), _KEYS_PER_STATEMENT):
        yield rising[start : start + _KEYS_PER_STATEMENT]


def scope_of_row(row: Row[Any]) -> Scope:
    """The scope that a row belongs to."""
    return scope_of(row.person, row.audience)


@lru_cache(_SCOPES_KEPT)
def scope_of(person: str, audience: str) -> Scope:
    """The scope of these two, made once: a search reads hundreds of rows of a few scopes."""
    return Scope(person=person, audience=audience)


def change_columns(change: Change) -> dict[str, Any]:
    """Who changed something and why, as the columns of a version."""
    return {
        "actor": change.actor,
        "reason": change.reason,
        "source_message": change.source_message,
        "session_id": change.session_id,
        "job": change.job,
    }


def change_of_row(row: Row[Any]) -> Change:
    """The inverse of ``change_columns``."""
    return Change(
        actor=row.actor,
        reason=row.reason,
        source_message=row.source_message,
        session_id=row.session_id,
        job=row.job,
    )


def as_stored(moment: datetime) -> datetime:
    """The moment as the database gives it back: in whole milliseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


async def rows_of_scope(database: Database, table: Table, scope: Scope) -> list[dict[str, Any]]:
    """Every row of a scope without the scope's own columns, in the order of the primary key, for an export."""
    async with database.read() as connection:
        return [dict(row) for row in (await connection.execute(_rows(table), scope_values(scope))).mappings()]


@cache
def _rows(table: Table) -> Select[Any]:
    columns = [column for column in table.c if column.name not in _SCOPE_COLUMNS]
    return select(*columns).where(in_any_scope(table)).order_by(*table.primary_key.columns)


async def restore_rows(
    tx: Transaction,
    table: Table,
    scope: Scope,
    rows: Sequence[Mapping[str, Any]],
    *,
    changing: Collection[str] = (),
) -> list[Mapping[str, Any]]:
    """Insert those rows of an export that are not there yet, and return them.

    Args:
        tx: the open transaction.
        table: where they belong; its key must have columns besides the scope's.
        scope: whose they are.
        rows: values of every column but the scope's.
        changing: columns that go on changing while a row stays the same; a difference there is none.

    Raises:
        InvalidInput: another row has the key of one of them.
    """
    key = [column for column in table.primary_key if column.name not in _SCOPE_COLUMNS]
    keys = [tuple(row[column.name] for column in key) for row in rows]
    there: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for start in range(0, len(keys), _KEYS_PER_STATEMENT):
        some = tuple_(*key).in_(keys[start : start + _KEYS_PER_STATEMENT])
        for found in (await tx.connection.execute(select(table).where(in_scope(table, scope), some))).mappings():
            there[tuple(found[column.name] for column in key)] = dict(found)
    new = []
    for place, row in zip(keys, rows, strict=True):
        known = there.setdefault(place, row)
        if known is row:
            new.append(row)
        elif any(known[name] != value for name, value in row.items() if name not in changing):
            raise InvalidInput(
                f"Something else is kept under {' '.join(map(str, place))} in {table.name} of {scope} already. "
                "Nothing was imported. Import into an empty database, or erase this person here first."
            )
    if new:
        owner = {"person": scope.person, "audience": scope.audience}
        await tx.connection.execute(insert(table), [{**owner, **row} for row in new])
    return new


async def delete_scope(tx: Transaction, table: Table, scope: Scope) -> int:
    """Delete every row of a scope; how many there were."""
    return (await tx.connection.execute(_deletion(table), scope_values(scope))).rowcount


@cache
def _deletion(table: Table) -> Delete:
    return delete(table).where(in_any_scope(table))


def made_by(table: Table, origin: Origin) -> ColumnElement[bool]:
    """The rows that a session or a job wrote."""
    return table.c.job == origin.job if origin.session_id is None else table.c.session_id == origin.session_id
