"""A thumb below an answer in Slack moves the procedures that the answer was given, over the real client library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory.policy.audience import reach_of_person
from memory.records import Change, HowTo
from tests.adapters.slack.test_memory import Workspace, audience_of, workspace
from tests.doubles.slack import SlackDouble


async def with_a_procedure(place: Workspace, channel: str) -> None:
    """U1 has an approved procedure, and is given an answer with it in a channel."""
    scope = place.world.system.conversation(
        person="slack:T1:U1", audience=audience_of(channel), conversation=f"slack:T1:{channel}"
    ).place.scope
    how_to = HowTo(name="Report", description="Reports.", steps=("Be short.",), triggers=("report",))
    change, at = Change(actor="slack:T1:U1", reason="test"), place.world.clock.now()
    procedures = place.world.system.stores.procedures
    async with place.world.system.transaction() as tx:
        proposed = await procedures.propose(scope, tx, how_to=how_to, change=change, at=at)
        assert proposed is not None
        await procedures.approve(scope, tx, procedure_id=proposed.id, change=change, at=at)
    await place.say("U1", channel, "Please write the report.")


async def rate(place: Workspace) -> float | None:
    [procedure] = await place.world.system.stores.procedures.all(reach_of_person("slack:T1:U1"))
    return procedure.success_rate


async def told(place: Workspace, event: dict[str, Any]) -> None:
    await (await place.slack.deliver(event)).wait()


@pytest.mark.parametrize("channel", ["D1", "C1"])
async def test_a_thumb_on_an_answer_counts_and_can_be_taken_back(
    slack: SlackDouble, tmp_path: Path, channel: str
) -> None:
    async with workspace(slack, tmp_path) as place:
        await with_a_procedure(place, channel)
        answer = slack.posts(channel)[-1]
        for _ in range(2):
            await told(place, slack.react("U1", answer, "+1::skin-tone-2"))
        assert await rate(place) == 1.0
        await told(place, slack.react("U1", answer, "+1::skin-tone-2", taken_back=True))
        assert await rate(place) is None
        await told(place, slack.react("U1", answer, "-1"))
        assert await rate(place) == 0.0


async def test_the_reaction_of_somebody_else_and_one_on_a_file_count_for_nothing(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with workspace(slack, tmp_path) as place:
        await with_a_procedure(place, "C1")
        thumb = slack.react("U2", slack.posts("C1")[-1], "+1")
        await told(place, thumb)
        await told(place, {**thumb, "user": "U1", "item": {"type": "file", "file": "F1"}})
        assert await rate(place) is None
