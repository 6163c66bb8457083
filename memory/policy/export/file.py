"""The file that an export writes and an import reads: its version, and what every row of it may hold.

Invariant: a file is sound as a whole, or it is refused with one sentence that says where it is not. The sentence
shows no text of the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from memory.errors import InvalidInput
from memory.policy.export.choices import AuditRow, ConsentRow, PreferencesRow
from memory.policy.export.conversations import MessageRow, SessionRow, SummaryVersionRow
from memory.policy.export.experience import EpisodeRow, ProcedureRow, ProcedureVersionRow
from memory.policy.export.knowledge import BlockVersionRow, FactRevisionRow, FactRow, PassageRow
from memory.policy.export.tiers import ConsolidationRow, EntryRow, HotVersionRow, TreeChangeRow, TreeNodeRow
from memory.policy.export.values import Audience, Moment, Person, Strict
from memory.policy.export.work import JournalRow, ReminderRow, WorkingRow

FORMAT = "keepsake/1"

_SHOWN_OF_A_NAME = 40


def read_export(data: bytes, *, newest_id: int) -> Export:
    """What a file holds, checked. Takes about half a second for 20,000 messages.

    Args:
        data: the bytes of the file.
        newest_id: no id of the file may be larger; an id says when its row was made.

    Raises:
        InvalidInput: it is no export of this format, or damaged.
    """
    try:
        return Export.model_validate_json(data, context=newest_id)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        # Of a file in another format all else that is wrong is a consequence.
        first = min(problems, key=lambda problem: problem["loc"] != ("format",))
        raise InvalidInput(
            f"This file cannot be imported: {_where(first['loc'])}{_what(first)}. Nothing was imported."
        ) from error


def _where(loc: Sequence[int | str]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_printable(step)}" for step in loc)
    return f"{path.removeprefix('.')}: " if path else ""


def _printable(name: str) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in name[:_SHOWN_OF_A_NAME])
    return shown + ("…" if len(name) > _SHOWN_OF_A_NAME else "")


def _what(problem: Any) -> str:
    sentences = {"missing": "it is missing", "extra_forbidden": f"{FORMAT} knows nothing of that name"}
    told: str = sentences.get(problem["type"], problem["msg"].removeprefix("Value error, ").rstrip("."))
    return told


def _known_format(name: str) -> str:
    if name != FORMAT:
        raise ValueError(f"it is {_printable(name)!r}, and this version of the program reads {FORMAT!r}")
    return name


class KeptInScope(Strict):
    """What one audience's memory holds, by store."""

    sessions: tuple[SessionRow, ...] = ()
    recall: tuple[MessageRow, ...] = ()
    blocks: tuple[BlockVersionRow, ...] = ()
    archival: tuple[PassageRow, ...] = ()
    facts: tuple[FactRow, ...] = ()
    fact_revisions: tuple[FactRevisionRow, ...] = ()
    journal: tuple[JournalRow, ...] = ()
    working: tuple[WorkingRow, ...] = ()
    hot: tuple[HotVersionRow, ...] = ()
    entries: tuple[EntryRow, ...] = ()
    tree: tuple[TreeNodeRow, ...] = ()
    tree_changes: tuple[TreeChangeRow, ...] = ()
    consolidations: tuple[ConsolidationRow, ...] = ()
    episodes: tuple[EpisodeRow, ...] = ()
    procedures: tuple[ProcedureRow, ...] = ()
    procedure_versions: tuple[ProcedureVersionRow, ...] = ()
    reminders: tuple[ReminderRow, ...] = ()
    preferences: Annotated[tuple[PreferencesRow, ...], Field(max_length=1)] = ()
    summaries: tuple[SummaryVersionRow, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    consent: Annotated[tuple[ConsentRow, ...], Field(max_length=1)] = ()
    # Work in flight, what the last replies were given, which posts show answers, which places the bot has left, which
    # files it has read and how often it did what: of no use to another installation, and not looked at. Links are made
    # by both accounts alone, never by a file.
    inbox: tuple[Any, ...] = ()
    jobs: tuple[Any, ...] = ()
    reply_sources: tuple[Any, ...] = ()
    answer_posts: tuple[Any, ...] = ()
    closures: tuple[Any, ...] = ()
    usage: tuple[Any, ...] = ()
    notes_read: tuple[Any, ...] = ()
    tier_days: tuple[Any, ...] = ()
    links: tuple[Any, ...] = ()
    mirror: tuple[Any, ...] = ()


class Export(Strict):
    """A whole file."""

    format: Annotated[str, AfterValidator(_known_format)]
    person: Person
    exported_at: Moment
    scopes: dict[Audience, KeptInScope]


def as_exported(rows: Sequence[BaseModel]) -> list[dict[str, Any]]:
    """Rows as the ``export`` of their store gave them."""
    # Only what was set: a part of a message leaves some fields out.
    return [row.model_dump(exclude_unset=True) for row in rows]
