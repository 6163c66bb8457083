"""The commands around facts, on Slack."""

from __future__ import annotations

import re
from pathlib import Path

from tests.adapters.slack.test_memory import THREAD, text, workspace
from tests.desk import learning
from tests.doubles.slack import SlackDouble

ROME = {"text": "User lives in Rome", "subject": "user", "predicate": "lives_in", "object": "Rome"}


async def test_a_person_sees_facts_asks_why_and_forgets_and_an_admin_reverts(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with workspace(slack, tmp_path) as place:
        place.world.memory_model.default = learning({"live in": [ROME]}).default
        await place.say("U1", "D1", "I live in Rome.")
        listed = await place.call("U1", "D1", "/mydata facts")
        await place.say("U1", "D1", "The user lives where?")
        why = await place.call("U1", "D1", "/mydata why")
        forgotten = await place.call("U1", "D1", "/mydata forget lives in rome")
        empty = await place.call("U1", "D1", "/mydata facts")
        history = await place.call("UADMIN", "C1", "/memory history <@U1> audience:dm")
        [name] = re.findall(r"(\w{6}), [^\n]*forget: forget", text(history))
        asked = await place.call("UADMIN", "C1", f"/memory revert <@U1> {name} audience:dm")
        await place.press("UADMIN", "C1", asked)
        back = await place.call("U1", "D1", "/mydata facts")

    assert "User lives in Rome" in text(listed)
    assert re.search(r"https://double\.slack\.com/archives/D1/p\d{16}", text(why))
    assert "User lives in Rome" in text(why)
    assert "Forgotten" in text(forgotten)
    assert "no facts" in text(empty)
    assert "User lives in Rome" in text(asked)
    assert "User lives in Rome" in text(back)


async def test_why_is_asked_in_the_thread_that_is_meant(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        refused = await place.call("U1", "C1", "/mydata why")
        await place.say("U1", "C1", "Hello", thread_ts=THREAD)
        await place.say("U1", "C1", "!mydata why", thread_ts=THREAD)
        await slack.wait_for(lambda: len(slack.ephemeral) == 1)

    assert "thread" in text(refused)
    assert "was given nothing from memory" in text(slack.ephemeral[0])
