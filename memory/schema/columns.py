"""What every table is made with: the time type, the registry, and the scope that a person's rows lead with.

Also what every statement about several values of a column is made with.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Dialect,
    MetaData,
    Select,
    String,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    func,
    select,
)

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, kept as UTC milliseconds since 1970. Naive datetimes are refused."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Datetime to milliseconds."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime cannot be stored")
        return (value - _UNIX_EPOCH) // _MILLISECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Milliseconds to datetime."""
        return None if value is None else moment(value)


def moment(stored: int) -> datetime:
    """The time that a column of this type holds as so many milliseconds since 1970."""
    return _UNIX_EPOCH + stored * _MILLISECOND


metadata = MetaData()


def _scope() -> tuple[Column[Any], Column[Any]]:
    return (
        Column("person", String(128), primary_key=True),
        Column("audience", String(80), primary_key=True),
    )


def personal(name: str, *columns: Any) -> Table:
    """A table of people's data: the scope (person, audience) leads its primary key, ``columns`` follow."""
    return Table(name, metadata, *_scope(), *columns, info={"personal": True})


def cause() -> tuple[Column[Any], ...]:
    """By whom and why a row was written, and from which message, session and job: the columns of a ``Change``."""
    return (
        Column("actor", String(200), nullable=False),
        Column("reason", Text, nullable=False),
        Column("source_message", BigInteger),
        Column("session_id", BigInteger),
        Column("job", String(200)),
    )


def listed(name: str) -> Select[Any]:
    """The values of the list that a statement is run with under this name, for ``column.in_``.

    The list is one value, a JSON text. Were each element a parameter of its own, the statement would be written anew
    for each run, which takes longer than most of them do.
    """
    return select(func.json_each(bindparam(name, type_=JSON)).table_valued("value").c.value)
