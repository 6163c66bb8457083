"""What one session or one job changed is taken back, and what others changed stays."""

from __future__ import annotations

from pathlib import Path

from memory.messages import ToolCall
from memory.records import Change, Scope
from tests.desk import OPERATOR, Desk, summing_up
from tests.fakes import ScriptedModel
from tests.world import World, running


def saving(text: str) -> list[ToolCall]:
    return [ToolCall(id="1", name="core_memory_append", arguments={"block": "human", "text": text})]


async def sit(world: World, text: str) -> int:
    """One session in which one thing is said; its number."""
    await world.say(text)
    world.clock.advance(minutes=30)
    await world.system.sweep_idle()
    await world.system.settle()
    [session] = await world.system.stores.sessions.recent(scope_of(world), 1)
    return session.id


def scope_of(world: World) -> Scope:
    return world.memory().place.scope


async def human(world: World) -> str:
    return (await world.system.stores.blocks.load(scope_of(world)))[1].value


async def summary(world: World) -> tuple[int, str]:
    latest = await world.system.stores.summaries.latest(scope_of(world))
    assert latest is not None
    return latest.version, latest.text


def two_sessions() -> tuple[ScriptedModel, ScriptedModel]:
    model = ScriptedModel(saving("Likes tea."), "Noted.", saving("Has a cat."), "Noted.")
    return model, summing_up("Ann likes tea.", "Ann likes tea and has a cat.")


async def test_everything_that_the_latest_session_changed_is_taken_back(tmp_path: Path) -> None:
    model, memory_model = two_sessions()
    async with running(tmp_path, model=model, memory_model=memory_model) as world:
        desk = Desk.of(world)
        await sit(world, "I like tea")
        second = await sit(world, "I have a cat")
        asked = await desk.call(f"/memory undo console:ann {second}", by=OPERATOR)
        assert asked.confirm is not None
        assert "- Has a cat." in asked.text
        assert await human(world) == "Likes tea.\nHas a cat."
        done = await desk.call(f"/memory undo console:ann {second} confirmed:yes", by=OPERATOR)
        assert done.text.startswith("Taken back, as new versions: human, summary.")
        assert await human(world) == "Likes tea."
        assert await summary(world) == (3, "Ann likes tea.")
        await world.say("Hello")
        prompt = str(model.requests[-1].system)
        assert "Likes tea." in prompt
        assert "a cat" not in prompt
        [entry, *_] = [
            entry
            for entry in await world.system.stores.audit.export(scope_of(world))
            if entry["action"] == "memory undo"
        ]
        assert entry["detail"] == f"session {second}"
        assert entry["actor"] == "operator"


async def test_an_earlier_sessions_lines_go_and_later_ones_stay_and_the_summary_says_what_to_do(tmp_path: Path) -> None:
    model, memory_model = two_sessions()
    async with running(tmp_path, model=model, memory_model=memory_model) as world:
        first = await sit(world, "I like tea")
        await sit(world, "I have a cat")
        done = await Desk.of(world).call(f"/memory undo console:ann {first} confirmed:yes", by=OPERATOR)
        assert "The summary was written anew since (version 2 after 1)" in done.text
        assert await human(world) == "Has a cat."
        assert await summary(world) == (2, "Ann likes tea and has a cat.")


async def test_a_jobs_summary_is_taken_back_to_nothing_where_it_was_the_first(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summing_up("Ann likes tea.")) as world:
        session = await sit(world, "I like tea")
        desk = Desk.of(world)
        await desk.call(f"/memory undo console:ann close_session:{session} confirmed:yes", by=OPERATOR)
        assert await summary(world) == (2, "")
        again = await desk.call(f"/memory undo console:ann close_session:{session} confirmed:yes", by=OPERATOR)
        assert not again.succeeded
        assert "written anew since" in again.text


async def test_undoing_twice_changes_nothing_more_and_an_undo_can_be_rolled_back(tmp_path: Path) -> None:
    model, memory_model = two_sessions()
    async with running(tmp_path, model=model, memory_model=memory_model) as world:
        desk = Desk.of(world)
        first = await sit(world, "I like tea")
        for _ in range(2):
            await desk.call(f"/memory undo console:ann {first} confirmed:yes", by=OPERATOR)
        versions = await world.system.stores.blocks.versions(scope_of(world), "human")
        assert [version.value for version in versions] == ["", "Likes tea."]
        reply = await desk.call("/memory rollback console:ann 1 human confirmed:yes", by=OPERATOR)
        assert reply.succeeded
        assert await human(world) == "Likes tea."


async def test_a_line_that_was_corrected_since_is_not_touched(tmp_path: Path) -> None:
    async with running(tmp_path, model=ScriptedModel(saving("Lives in Oslo."), "Noted.")) as world:
        session = await sit(world, "I live in Oslo")
        async with world.system.transaction() as tx:
            await world.system.stores.blocks.rewrite(
                scope_of(world),
                tx,
                label="human",
                value="Lives in Rome.",
                change=Change(actor="person", reason="correct"),
                at=world.clock.now(),
            )
        await Desk.of(world).call(f"/memory undo console:ann {session} confirmed:yes", by=OPERATOR)
        assert await human(world) == "Lives in Rome."


async def test_what_never_changed_anything_is_said_to_be_unknown(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("Hello")
        desk = Desk.of(world)
        for target, sentence in (
            ("17", "Nothing that is kept here was changed by session 17."),
            ("fold:17", "Nothing that is kept here was changed by job fold:17."),
            ("yesterday", "'yesterday' is neither a session's number nor a job's key"),
        ):
            reply = await desk.call(f"/memory undo console:ann {target} confirmed:yes", by=OPERATOR)
            assert not reply.succeeded
            assert sentence in reply.text


async def test_a_rollback_to_no_version_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summing_up("Ann likes tea.")) as world:
        await sit(world, "I like tea")
        desk = Desk.of(world)
        for command in ("console:ann 7", "console:ann x", "console:ann 7 human", "console:ann 1 nose"):
            for confirmed in ("", " confirmed:yes"):
                reply = await desk.call(f"/memory rollback {command}{confirmed}", by=OPERATOR)
                assert not reply.succeeded, command
        assert await summary(world) == (1, "Ann likes tea.")


async def test_core_memory_goes_back_to_before_its_first_line(tmp_path: Path) -> None:
    async with running(tmp_path, model=ScriptedModel(saving("Likes tea."), "Noted.")) as world:
        await world.say("I like tea")
        reply = await Desk.of(world).call("/memory rollback console:ann 0 human confirmed:yes", by=OPERATOR)
        assert "version 2 of human" in reply.text
        assert await human(world) == ""


async def test_an_ended_conversation_is_summed_up(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summing_up("Ann likes tea.")) as world:
        desk = Desk.of(world)
        await world.say("I like tea")
        other = await desk.call("/memory end-session console:ann 17", by=OPERATOR)
        assert other.text == "There is no such open session."
        assert (await desk.call("/memory end-session console:ann", by=OPERATOR)).succeeded
        await world.system.settle()
        assert await summary(world) == (1, "Ann likes tea.")
        assert "memory end-session" in (await desk.call("/mydata audit")).text
