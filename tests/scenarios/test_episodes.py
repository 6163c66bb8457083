"""What happened in a session is told once it ends, part by part, and can be recalled by likeness and by day."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.offline import OfflineModel
from memory.errors import ModelOverloaded
from memory.messages import ModelRequest
from memory.parameters import MemoryParameters, Preset
from memory.policy.audience import reach_of_person
from memory.records import Episode, MomentKind, Outcome, ProcedureState
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running

ANN = reach_of_person("console:ann")
SAID = ("We decided to move the launch to Friday.", "The mast came late, so Friday it is.")
STORY: dict[str, Any] = {
    "summary": "Ann and the bot moved the launch to Friday.",
    "goal": "To fix a new date.",
    "journey": ["The mast was late.", "Friday was free."],
    "outcome": "success",
    "key_moments": [{"kind": "decision", "what": "Friday was chosen.", "why": "The mast was late.", "message": 0}],
    "lessons": ["Ask the yard before fixing a date."],
    "tags": ["Launch", "launch"],
    "importance": 0.7,
    "facts": [],
    "procedures": [],
}


def telling(story: object) -> ScriptedModel:
    """A memory model whose stories are all the same."""
    text = story if isinstance(story, str) else json.dumps(story)
    return ScriptedModel(only="write_episode", default=text)


async def sit(world: World, *texts: str) -> None:
    """One sitting, up to the silence that ends it."""
    for text in texts:
        await world.say(text)
        world.clock.advance(minutes=2)
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()


async def episodes(world: World, **wanted: Any) -> list[Episode]:
    return await world.system.stores.episodes.history(ANN, **wanted)


async def test_a_session_that_ended_is_told_with_all_its_parts(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path, clock=clock, memory_model=telling(STORY)) as world:
        started = clock.now()
        await sit(world, *SAID)
        [episode] = await episodes(world)
        messages = await world.system.stores.recall.log(world.memory().place.scope, [episode.change.session_id or 0])
    told = episode.narrative
    assert told.summary == STORY["summary"]
    assert (told.goal, told.outcome, told.journey) == (STORY["goal"], Outcome.SUCCESS, tuple(STORY["journey"]))
    [moment] = told.key_moments
    assert (moment.kind, moment.what, moment.message) == (MomentKind.DECISION, "Friday was chosen.", 0)
    assert (told.lessons, told.tags, told.importance) == (tuple(STORY["lessons"]), ("launch",), 0.7)
    assert episode.participants == ("Ann", "Keepsake")
    assert (episode.message_count, episode.started_at, episode.duration_minutes) == (4, started, 2)
    assert (episode.first_message, episode.last_message) == (messages[0].id, messages[-1].id)


async def test_the_messages_are_shown_numbered_and_shortened(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=telling(STORY)) as world:
        await sit(world, SAID[0], "A long story. " * 100)
        [request] = world.memory_model.requests
    shown = request.messages[0].text
    assert "0. [2026-03-02 09:00] Ann: We decided" in shown
    assert "2. [2026-03-02 09:02] Ann: A long story." in shown
    assert max(len(line) for line in shown.splitlines()) < 400


@pytest.mark.parametrize(
    ("part", "bad"),
    [
        ("key_moments", "none at all"),
        ("key_moments", [{"what": 3}]),
        ("lessons", {"a": 1}),
        ("journey", None),
        ("tags", 7),
        ("outcome", "splendid"),
        ("importance", "very"),
        ("facts", ["x"]),
        ("procedures", [{"name": "Half a procedure"}]),
    ],
)
async def test_a_part_that_cannot_be_used_costs_only_itself(tmp_path: Path, part: str, bad: object) -> None:
    async with running(tmp_path, memory_model=telling({**STORY, part: bad})) as world:
        await sit(world, *SAID)
        [episode] = await episodes(world)
    told = episode.narrative
    assert told.summary == STORY["summary"]
    assert (told.outcome is Outcome.PARTIAL) is (part == "outcome")
    assert bool(told.key_moments) is (part != "key_moments")
    assert bool(told.lessons) is (part != "lessons")
    assert 0 < told.importance <= 1


async def test_an_answer_that_cannot_be_read_is_asked_for_once_more_then_left(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with running(tmp_path, memory_model=telling("I would rather not.")) as world:
            await sit(world, *SAID)
            assert await episodes(world, forgotten=True) == []
            assert len(world.memory_model.requests) == 2
    assert [entry["event"] for entry in logs].count("episode_unreadable") == 1


async def test_a_failing_model_only_delays_the_episode(tmp_path: Path) -> None:
    model = telling(STORY)
    model.answers = [ModelOverloaded("overloaded")]
    async with running(tmp_path, memory_model=model) as world:
        await sit(world, *SAID)
        assert await episodes(world) == []
        world.clock.advance(minutes=1)
        await world.system.sweep_idle()
        await world.system.settle()
        assert len(await episodes(world)) == 1


@pytest.mark.parametrize("texts", [("Hi!", "Thanks", "ok"), ("What is 2+2?",), ("My cat is called Tom.",)])
async def test_a_tiny_session_makes_no_episode_and_costs_no_call(tmp_path: Path, texts: tuple[str, ...]) -> None:
    async with running(tmp_path, memory_model=telling(STORY)) as world:
        await sit(world, *texts)
        assert await episodes(world) == []
        assert world.memory_model.requests == []


@pytest.mark.parametrize("preset", [Preset.PAGING, Preset.ROLLING, Preset.FACTS])
async def test_only_the_full_preset_tells_sessions(tmp_path: Path, preset: Preset) -> None:
    async with running(tmp_path, memory_model=telling(STORY), parameters=MemoryParameters(preset=preset)) as world:
        await sit(world, *SAID)
        assert await episodes(world) == []


async def test_the_whole_session_teaches_what_single_exchanges_could_not_show(tmp_path: Path) -> None:
    fact = {
        "text": "User is building a boat.",
        "message": 2,
        "subject": "user",
        "predicate": "builds",
        "object": "boat",
    }
    guess = {"text": "User is rich.", "message": 1}
    async with running(tmp_path, memory_model=telling({**STORY, "facts": [fact, guess, {"text": "No message."}]})) as w:
        await sit(w, *SAID)
        [learned] = await w.system.stores.facts.within(ANN)
        [source] = await w.system.stores.recall.get(ANN, [learned.source_message or 0])
        [revision] = await w.system.stores.facts.history(ANN)
    assert learned.text == "User is building a boat."
    assert source.text == SAID[1]
    assert (revision.change.job or "").startswith("write_episode:")


async def test_a_procedure_that_a_session_teaches_is_only_proposed(tmp_path: Path) -> None:
    how = {"name": "Launch report", "description": "For launches.", "steps": ["Begin with the date."], "triggers": []}
    async with running(tmp_path, memory_model=telling({**STORY, "procedures": [how]})) as world:
        await sit(world, *SAID)
        [procedure] = await world.system.stores.procedures.all(ANN)
        assert procedure.state is ProcedureState.PROPOSED
        await world.say("Write me a launch report for launches, please.")
        assert "Begin with the date." not in str(world.model.requests[-1])


async def test_a_session_off_the_record_is_not_told(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=telling(STORY)) as world:
        place = world.memory().place
        await world.system.oversight.sittings.off_record(
            place.scope, conversation=place.conversation, community=place.community
        )
        await sit(world, *SAID)
        assert await episodes(world, forgotten=True) == []


async def test_a_new_session_does_not_wait_for_the_story_of_the_last(tmp_path: Path) -> None:
    """Waiting for it would hang here: the story comes only after the reply."""
    async with running(tmp_path) as world:
        replied = world.channel.delivered

        async def slow(request: ModelRequest) -> str:
            if request.system[0].name == "write_episode":
                replied.clear()
                await replied.wait()
                return json.dumps(STORY)
            return '{"candidates": []}'

        world.memory_model.default = slow
        for text in SAID:
            await world.say(text)
        world.clock.advance(minutes=31)
        await world.say("And now to something else entirely.")
        assert len(await episodes(world)) == 1


async def test_without_a_key_a_session_is_told_in_the_persons_words(tmp_path: Path) -> None:
    offline = OfflineModel()

    async def by_rule(request: ModelRequest) -> str:
        return (await offline.complete(request)).message.text

    async with running(tmp_path, memory_model=ScriptedModel(default=by_rule)) as world:
        await sit(world, *SAID, "Whenever I ask for a status report, start with the date. Perfect, thanks!")
        [episode] = await episodes(world)
        [procedure] = await world.system.stores.procedures.all(ANN)
    assert "Friday" in episode.narrative.summary
    assert episode.narrative.outcome is Outcome.SUCCESS
    assert episode.narrative.key_moments[0].kind is MomentKind.DECISION
    assert (procedure.how_to.name, procedure.how_to.triggers) == ("status report", ("status report",))


async def test_episodes_are_found_between_two_moments_both_included(tmp_path: Path) -> None:
    async with running(
        tmp_path, clock=FakeClock(datetime(2026, 3, 10, 9, tzinfo=UTC)), memory_model=telling(STORY)
    ) as w:
        await sit(w, *SAID)
        [episode] = await episodes(w)
        store = w.system.stores.episodes
        for start, end, found in (
            (episode.started_at - timedelta(days=1), episode.started_at, True),
            (episode.ended_at, episode.ended_at + timedelta(days=1), True),
            (episode.started_at - timedelta(days=1), episode.started_at - timedelta(milliseconds=1), False),
            (episode.ended_at + timedelta(milliseconds=1), episode.ended_at + timedelta(days=1), False),
        ):
            assert bool(await store.between(ANN, start, end)) is found


async def test_a_forgotten_episode_is_found_no_more_and_can_be_brought_back(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=telling(STORY)) as world:
        await sit(world, *SAID)
        [episode] = await episodes(world)
        store = world.system.stores.episodes
        at = world.clock.now()
        async with world.system.transaction() as tx:
            await store.forget(episode.scope, tx, episode_id=episode.id, reason="tried", at=at)
        assert await store.search(ANN, "launch Friday") == []
        assert [one.forgotten_reason for one in await episodes(world, forgotten=True)] == ["tried"]
        async with world.system.transaction() as tx:
            await store.reinstate(episode.scope, tx, episode_id=episode.id, at=at)
        [hit] = await store.search(ANN, "launch Friday")
        assert hit.record_id == episode.id
        assert await episodes(world) == [episode]


async def test_where_a_message_is_deleted_its_session_is_told_anew_without_it(tmp_path: Path) -> None:
    def quoting(request: ModelRequest) -> str:
        log = request.messages[0].text.split("<session_log>")[1]
        how = {"name": "Launches", "description": log[:200], "steps": ["Ask."], "triggers": []}
        return json.dumps({**STORY, "summary": log, "procedures": [how]})

    async with running(tmp_path, memory_model=ScriptedModel(only="write_episode", default=quoting)) as world:
        await sit(world, *SAID, "The password of the yard gate is a swan.", "The yard is open on Mondays only.")
        [episode] = await episodes(world)
        assert "swan" in episode.narrative.summary
        [said] = [
            message
            for message in await world.system.stores.recall.log(episode.scope, [episode.change.session_id or 0])
            if "swan" in message.text and message.platform_id
        ]
        await world.system.retraction.deleted(episode.conversation, [said.platform_id or ""])
        await world.system.settle()
        [again] = await episodes(world, forgotten=True)
        everything = json.dumps(await world.system.privacy.export("console:ann"))
    assert again.id != episode.id
    assert "Mondays" in again.narrative.summary
    assert "swan" not in everything
