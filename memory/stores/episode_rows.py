"""An episode as a row, as pieces for the search indexes, and as a hit of a search. Pure.

Invariant: ``episode_of_row`` gives back what ``row_of_episode`` was given.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from memory.policy.chunking import pieces
from memory.policy.experience_text import episode_searchable, episode_shown
from memory.policy.ranking import RankedEntry, why_found
from memory.policy.text import spoken_date
from memory.records import Episode, KeyMoment, MomentKind, Narrative, Outcome, SearchHit, Source
from memory.stores.scoped import change_columns, change_of_row, scope_of_row

_SHARE_OF_DAY = 0.5  # of the score, where a question names a day: an episode of another day is hardly meant


def searchable_episode(episode: Episode) -> list[tuple[int, str]]:
    """The texts under which an episode is found, with its id; people and date included."""
    heading = f"{', '.join(episode.participants)} ({spoken_date(episode.started_at)})"
    return [(episode.id, text) for text in pieces(episode_searchable(episode.narrative), heading=heading)]


def hit_of_episode(episode: Episode, ranked: RankedEntry | None, *, of_the_day: bool | None) -> SearchHit:
    """An episode that a search found.

    Args:
        episode: which.
        ranked: its rank by words and meaning; None where only its day was asked about.
        of_the_day: whether it is of the times that were asked about; None where none were.
    """
    score = ranked.score if ranked else 0.0
    if of_the_day is not None:
        score = (1.0 - _SHARE_OF_DAY) * score + (_SHARE_OF_DAY if of_the_day else 0.0)
    reasons = (["of the time asked about"] if of_the_day else []) + ([why_found(ranked)] if ranked else [])
    return SearchHit(
        source=Source.EPISODE,
        scope=episode.scope,
        record_id=episode.id,
        score=score,
        text=episode_shown(episode),
        author=None,
        at=episode.started_at,
        reason=" and ".join(reasons),
        message_ids=(episode.first_message, episode.last_message),
        vector=ranked.entry.vector if ranked else None,
    )


def row_of_episode(episode: Episode) -> dict[str, Any]:
    """The values of every column."""
    narrative = episode.narrative
    return {
        "person": episode.scope.person,
        "audience": episode.scope.audience,
        "id": episode.id,
        "conversation": episode.conversation,
        "started_at": episode.started_at,
        "ended_at": episode.ended_at,
        "participants": list(episode.participants),
        "message_count": episode.message_count,
        "first_message": episode.first_message,
        "last_message": episode.last_message,
        "summary": narrative.summary,
        "goal": narrative.goal,
        "journey": list(narrative.journey),
        "outcome": narrative.outcome.value,
        "key_moments": [
            {"kind": one.kind.value, "what": one.what, "why": one.why, "message": one.message}
            for one in narrative.key_moments
        ],
        "lessons": list(narrative.lessons),
        "tags": list(narrative.tags),
        "importance": narrative.importance,
        "made_at": episode.made_at,
        **change_columns(episode.change),
        "forgotten_at": episode.forgotten_at,
        "forgotten_reason": episode.forgotten_reason,
    }


def episode_of_row(row: Row[Any]) -> Episode:
    """The episode that a row holds."""
    return Episode(
        id=row.id,
        scope=scope_of_row(row),
        conversation=row.conversation,
        started_at=row.started_at,
        ended_at=row.ended_at,
        participants=tuple(row.participants),
        message_count=row.message_count,
        first_message=row.first_message,
        last_message=row.last_message,
        narrative=Narrative(
            summary=row.summary,
            goal=row.goal,
            journey=tuple(row.journey),
            outcome=Outcome(row.outcome),
            key_moments=tuple(
                KeyMoment(kind=MomentKind(one["kind"]), what=one["what"], why=one["why"], message=one["message"])
                for one in row.key_moments
            ),
            lessons=tuple(row.lessons),
            tags=tuple(row.tags),
            importance=row.importance,
        ),
        made_at=row.made_at,
        change=change_of_row(row),
        forgotten_at=row.forgotten_at,
        forgotten_reason=row.forgotten_reason,
    )
