"""Makes what runs the durable jobs, and what does the work of each kind.

Invariant: every kind of job that may stand in the table has its handler here, also one that nobody adds any more.
"""

from __future__ import annotations

from typing import Any

from memory.opening.ground import Ground
from memory.processes.episode_writer import WRITE_EPISODE, EpisodeWriter
from memory.processes.job_runner import JobRunner
from memory.processes.journaling import DIGEST_JOURNAL, Journaling
from memory.processes.learner import LEARN, Learner
from memory.processes.mirroring import MIRROR, Mirroring, without_mirror
from memory.processes.reconciler import Reconciler
from memory.processes.summarizer import CLOSE_SESSION, Summarizer
from memory.processes.window import FOLD, Window


def open_journaling(ground: Ground) -> Journaling:
    """What writes the journal of the agent's work."""
    return Journaling(**_model_work(ground), journal=ground.stores.journal, in_force=ground.in_force)


def open_window(ground: Ground, *, journaling: Journaling, mirrored: bool) -> Window:
    """What keeps the windows small.

    Args:
        ground: what it rests on.
        journaling: keeps tool results that leave.
        mirrored: whether a mirror is told after each conversation.
    """
    return Window(
        **_model_work(ground),
        **_what_was_said(ground),
        journaling=journaling,
        working=ground.stores.working,
        in_force=ground.in_force,
        follow_ups=(MIRROR,) if mirrored else (),
    )


def open_jobs(ground: Ground, *, window: Window, journaling: Journaling, mirroring: Mirroring | None) -> JobRunner:
    """What runs the jobs.

    Args:
        ground: what it rests on.
        window: folds what was evicted.
        journaling: digests the journal.
        mirroring: is told after each conversation; None for no mirror.
    """
    database, stores, parameters = ground.database, ground.stores, ground.parameters
    reconciler = Reconciler(
        facts=stores.facts, journal=stores.journal, warm=stores.warm, model=ground.model, parameters=parameters
    )
    learner = Learner(
        database=database,
        jobs=stores.jobs,
        recall=stores.recall,
        summaries=stores.summaries,
        reconciler=reconciler,
        model=ground.model,
        counter=ground.counter,
        parameters=parameters,
    )
    summarizer = Summarizer(
        **_model_work(ground), **_what_was_said(ground), summaries=stores.summaries, parameters=parameters
    )
    episode_writer = EpisodeWriter(
        **_model_work(ground),
        **_what_was_said(ground),
        parameters=parameters,
        facts=stores.facts,
        episodes=stores.episodes,
        procedures=stores.procedures,
        reconciler=reconciler,
    )
    return JobRunner(
        database=database,
        jobs=stores.jobs,
        handlers={
            FOLD: window.fold,
            CLOSE_SESSION: summarizer.close_session,
            LEARN: learner.learn,
            DIGEST_JOURNAL: journaling.digest,
            WRITE_EPISODE: episode_writer.write,
            MIRROR: without_mirror(database, stores.jobs) if mirroring is None else mirroring.after_conversation,
        },
        clock=ground.clock,
        attempts=parameters.job_attempts,
        process=ground.process,
    )


def _model_work(ground: Ground) -> dict[str, Any]:
    """What all need that have a model do something for a job."""
    return {
        "database": ground.database,
        "jobs": ground.stores.jobs,
        "model": ground.model,
        "counter": ground.counter,
        "clock": ground.clock,
    }


def _what_was_said(ground: Ground) -> dict[str, Any]:
    """What all need that read what was said."""
    return {"recall": ground.stores.recall, "sessions": ground.stores.sessions}
