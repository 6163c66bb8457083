"""A procedure and its versions as rows, and as a hit of a search. Pure.

Invariant: ``procedure_of_row`` gives back what ``row_of_procedure`` was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row

from memory.policy.experience_text import procedure_shown
from memory.records import (
    Difficulty,
    Example,
    HowTo,
    Procedure,
    ProcedureState,
    ProcedureVersion,
    SearchHit,
    Source,
)
from memory.stores.scoped import change_of_row, scope_of_row


def hit_of_procedure(procedure: Procedure, score: float, reason: str) -> SearchHit:
    """A procedure that a message calls for, with its score and the reason."""
    return SearchHit(
        source=Source.PROCEDURE,
        scope=procedure.scope,
        record_id=procedure.id,
        score=score,
        text=procedure_shown(procedure.how_to),
        author=None,
        at=procedure.updated_at,
        reason=reason,
    )


def content_of(how_to: HowTo) -> dict[str, Any]:
    """What a procedure says, as it is stored beside its name."""
    return {
        "description": how_to.description,
        "steps": list(how_to.steps),
        "examples": [{"input": one.input, "output": one.output} for one in how_to.examples],
        "triggers": list(how_to.triggers),
        "difficulty": how_to.difficulty.value,
    }


def _how_to(row: Row[Any]) -> HowTo:
    content = row.content
    return HowTo(
        name=row.name,
        description=content["description"],
        steps=tuple(content["steps"]),
        examples=tuple(Example(input=one["input"], output=one["output"]) for one in content["examples"]),
        triggers=tuple(content["triggers"]),
        difficulty=Difficulty(content["difficulty"]),
    )


def row_of_procedure(procedure: Procedure) -> dict[str, Any]:
    """The values of every column."""
    return {
        "person": procedure.scope.person,
        "audience": procedure.scope.audience,
        "id": procedure.id,
        "name": procedure.how_to.name,
        "content": content_of(procedure.how_to),
        "state": procedure.state.value,
        "version": procedure.version,
        "created_at": procedure.created_at,
        "updated_at": procedure.updated_at,
        "usage_count": procedure.usage_count,
        "success_rate": procedure.success_rate,
    }


def procedure_of_row(row: Row[Any]) -> Procedure:
    """The procedure that a row holds."""
    return Procedure(
        id=row.id,
        scope=scope_of_row(row),
        how_to=_how_to(row),
        state=ProcedureState(row.state),
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        usage_count=row.usage_count,
        success_rate=row.success_rate,
    )


def triggers_of_row(row: Row[Any]) -> Sequence[str]:
    """Its triggers alone, which each message is compared with."""
    triggers: list[str] = row.content["triggers"]
    return triggers


def version_of_row(row: Row[Any]) -> ProcedureVersion:
    """The version that a row holds."""
    return ProcedureVersion(
        procedure_id=row.procedure_id,
        version=row.version,
        action=row.action,
        how_to=_how_to(row),
        state=ProcedureState(row.state),
        changed_at=row.changed_at,
        change=change_of_row(row),
    )
