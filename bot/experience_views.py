"""How episodes, procedures and documents are shown, as Markdown. Pure.

Invariant: remembered text stands in a code block that it cannot close.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zoneinfo import ZoneInfo

from bot.command_views import fenced, moment
from bot.fact_views import in_a_line
from memory.ids import handle_of
from memory.policy.experience_text import editable, episode_shown
from memory.records import Episode, Passage, Procedure, ProcedureVersion

_EXCERPT = 100  # characters of a document


def episode_line(episode: Episode, zone: ZoneInfo, *, blind: bool = False) -> str:
    """An episode in a line: its name, when in which zone, how long, how it ended, what it was about, who heard it."""
    started = episode.started_at.astimezone(zone)
    at = f"{started:%Y-%m-%d %H:%M} {started.tzname()}"
    told = episode.narrative
    text = "" if blind else f"  {in_a_line(told.summary)}"
    forgotten = f", forgotten: {episode.forgotten_reason}" if episode.forgotten_at else ""
    long = f"{episode.duration_minutes:.0f} min, {episode.message_count} messages"
    return f"{handle_of(episode.id)}  {at}, {long}, {told.outcome}{text}  ({episode.scope.audience}{forgotten})"


def episode_list(episodes: Iterable[Episode], zone: ZoneInfo, *, blind: bool = False) -> str:
    """Episodes, in their order."""
    return fenced("\n".join(episode_line(episode, zone, blind=blind) for episode in episodes))


def episode_whole(episode: Episode, zone: ZoneInfo) -> str:
    """Everything that is kept of an episode but its messages."""
    told = episode.narrative
    lines = [
        episode_shown(episode),
        *([f"Way: {'; '.join(told.journey)}"] if told.journey else []),
        f"With: {', '.join(episode.participants)}. Tags: {', '.join(told.tags) or 'none'}. "
        f"Importance: {told.importance:.2f}.",
    ]
    return f"{episode_list([episode], zone)}\n{fenced(chr(10).join(lines))}"


def procedure_line(procedure: Procedure, *, blind: bool = False) -> str:
    """A procedure in a line: its name, whether it is in force, how well it works, what it is for."""
    rate = procedure.success_rate
    works = "" if rate is None else f", {rate:.0%} of {procedure.usage_count} went well"
    text = "" if blind else f"  {procedure.how_to.name}: {in_a_line(procedure.how_to.description)}"
    return f"{handle_of(procedure.id)}  {procedure.state}{works}{text}  ({procedure.scope.audience})"


def procedure_list(procedures: Iterable[Procedure], *, blind: bool = False) -> str:
    """Procedures, in their order."""
    return fenced("\n".join(procedure_line(procedure, blind=blind) for procedure in procedures))


def procedure_whole(procedure: Procedure, versions: Sequence[ProcedureVersion] = ()) -> str:
    """A procedure as it can be edited, and how it came to be."""
    history = [
        f"- version {one.version}, {moment(one.changed_at)}, {one.action}: {one.change.reason} ({one.change.actor})"
        for one in versions
    ]
    return "\n".join([procedure_list([procedure]), fenced(editable(procedure.how_to)), *history])


def document_list(passages: Iterable[Passage], *, blind: bool = False) -> str:
    """Documents, in their order."""
    return fenced("\n".join(document_line(passage, blind=blind) for passage in passages))


def document_line(passage: Passage, *, blind: bool = False) -> str:
    """A document in a line: its name, when it was stored, its worth, its beginning, who heard it."""
    text = in_a_line(passage.content)
    shown = "" if blind else f"  {text[:_EXCERPT]}{'…' if len(text) > _EXCERPT else ''}"
    forgotten = f", forgotten: {passage.forgotten_reason or 'unused'}" if passage.forgotten_at else ""
    return (
        f"{handle_of(passage.id)}  {passage.created_at:%Y-%m-%d}, importance {passage.importance:.2f}, "
        f"read {passage.access_count} times{shown}  ({passage.scope.audience}{forgotten})"
    )
