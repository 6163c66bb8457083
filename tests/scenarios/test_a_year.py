"""A year of sittings: what was planted is reachable, nothing grows but the store, and what fades can come back."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from bot.offline import OfflineModel
from memory.messages import ModelRequest
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_person
from memory.records import Scope
from tests.desk import Desk
from tests.fakes import ScriptedModel
from tests.world import World, running

ANN = reach_of_person("console:ann")
DM = Scope(person="console:ann", audience="dm")
PLANTED = {
    "My sister Marta works as a surveyor in Penryn.": "Where does my sister Marta work?",
    "I am allergic to walnuts.": "Which nuts am I allergic to?",
    "My boat is called Petrel.": "What is my boat called?",
    "I never drink coffee after noon.": "When do I not drink coffee?",
    "My locker in the club has number 4711.": "Which number has my locker in the club?",
    "I am learning Finnish with a teacher called Pekka.": "Who teaches me Finnish?",
    "My birthday is on 14 May.": "When is my birthday?",
    "I sold my old van to Tom in Leeds.": "To whom did I sell my old van?",
}
RULE = "I never drink coffee after noon."


def by_rule() -> ScriptedModel:
    offline = OfflineModel()

    async def answer(request: ModelRequest) -> str:
        return (await offline.complete(request)).message.text

    return ScriptedModel(default=answer)


async def rest(world: World, **span: float) -> None:
    world.clock.advance(**span)
    await world.system.sweep_idle()
    await world.system.settle()


async def test_after_ten_evictions_and_three_sessions_all_that_was_planted_is_reachable(tmp_path: Path) -> None:
    small = MemoryParameters(max_conversation_history=4, history_target=2)
    with capture_logs() as logs:
        async with running(tmp_path, memory_model=by_rule(), parameters=small) as world:
            for text in PLANTED:
                await world.say(text)
            for sitting in range(3):
                for number in range(9):
                    await world.say(f"Today I sanded plank {sitting}{number} of the deck and swept the shed.")
                await rest(world, minutes=31)
            for text, question in PLANTED.items():
                await world.say(question)
                told = text.strip(".").split()[-1]
                assert told in str(world.model.requests[-1]), question
            summary = await world.system.stores.summaries.latest(DM)
    evictions = [entry for entry in logs if entry["event"] == "eviction" and entry["reason"] != "session_end"]
    assert len(evictions) >= 10
    assert summary is not None
    assert RULE in summary.text


async def test_over_a_year_prompts_and_retrieval_stay_as_they_were(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with running(tmp_path, memory_model=by_rule()) as world:
            quarters: list[int] = []
            for week in range(36):
                if week % 9 == 0:
                    quarters.append(len(logs))
                await world.say(f"We decided in week {week} to order sail number {week} from Leeds.")
                await world.say(f"The sail maker in Leeds wanted {100 + week} pounds for sail number {week}.")
                await world.say("What did we decide about the sail from Leeds?")
                await rest(world, days=10)
            stored = len(await world.system.stores.episodes.history(ANN, limit=1_000))
    first, *_, last = [logs[start:end] for start, end in zip(quarters, [*quarters[1:], None], strict=True)]
    sizes = [
        max(entry["tokens"] for entry in part if entry["event"] == "model_answered")
        for part in (logs[: quarters[2]], last)
    ]
    found = [max(entry["hits"] for entry in part if entry["event"] == "memory_retrieval") for part in (first, last)]
    most = MemoryParameters()
    assert stored == 36
    assert sizes[1] <= 1.1 * sizes[0]
    limit = most.retrieved_hits + most.retrieved_facts + most.retrieved_episodes + most.retrieved_procedures
    assert max(found) <= limit


async def test_a_document_fades_by_the_stated_rule_and_comes_back_by_command(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        archival, texts = world.system.stores.archival, {}
        for text, importance in (("The plan of the shed.", 0.2), ("The deeds of the house.", 0.9)):
            async with world.system.transaction() as tx:
                texts[text] = await archival.insert(DM, tx, content=text, importance=importance)
        world.clock.advance(days=90)
        await world.system.tidy()
        assert len(await archival.all(DM)) == 2
        world.clock.advance(days=1)
        await world.system.tidy()
        assert [one.content for one in await archival.all(DM)] == ["The deeds of the house."]
        desk = Desk.of(world)
        listed = (await desk.call("/mydata documents")).text
        assert "forgotten: old, unimportant and hardly read" in listed
        [name] = [line.split()[0] for line in listed.splitlines() if "The plan of the shed." in line]
        assert (await desk.call(f"/mydata documents restore:{name}")).succeeded
        await world.system.tidy()
        assert len(await archival.all(DM)) == 2
        hits = await archival.search(DM, ANN, "plan of the shed", limit=1)
        assert [hit.text for hit in hits] == ["The plan of the shed."]
