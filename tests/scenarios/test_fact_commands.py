"""What people and admins do to facts by command, in a running application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from bot.commands import Caller
from bot.offline import OfflineModel
from memory.ids import handle_of
from memory.records import Fact, Scope
from memory.schema import jobs
from tests.desk import OPERATOR, Desk, admin, channel, learning
from tests.world import World, running

HOME = {"subject": "user", "predicate": "lives_in"}
ROME = {"text": "User lives in Rome", **HOME, "object": "Rome"}
OSLO = {"text": "User lives in Oslo", **HOME, "object": "Oslo"}
CAT = {"text": "User has a cat called Tom"}
ROOT = admin("root", "guild:1")


async def tell(world: World, *texts: str, **place: Any) -> None:
    for text in texts:
        await world.say(text, **place)
        world.clock.advance(minutes=1)


async def known(world: World, audience: str = "dm") -> list[str]:
    return [fact.text for fact in await facts_of(world, audience)]


async def facts_of(world: World, audience: str = "dm") -> list[Fact]:
    return await world.system.stores.facts.current(Scope(person="console:ann", audience=audience))


async def learn_all_again(world: World) -> None:
    """As if every exchange were learned from once more."""
    async with world.system.transaction() as tx:
        again = {"state": "pending", "attempts": 0, "due_at": world.clock.now()}
        await tx.connection.execute(update(jobs).where(jobs.c.kind == "learn").values(again))
    asked = len(world.memory_model.requests)
    await world.system.settle()
    assert len(world.memory_model.requests) > asked


async def revision_of(world: World, text: str) -> str:
    """The name of the change that brought a text."""
    found = await world.system.stores.facts.history(world.memory().place.reach)
    return handle_of(next(one.id for one in found if one.after == text))


# the person's own


async def test_facts_are_listed_newest_first_over_all_audiences_with_a_name_to_use(tmp_path: Path) -> None:
    model = learning({"cat": [CAT], "Rome": [ROME]})
    async with running(tmp_path, memory_model=model) as world:
        desk = Desk.of(world)
        assert (await desk.call("/mydata facts")).text == "I know no facts about you yet."
        await tell(world, "My cat is called Tom")
        await tell(world, "I live in Rome", where=channel(1))
        shown = (await desk.call("/mydata facts", where=channel(2))).text
        [rome], [cat] = await facts_of(world, "guild:1"), await facts_of(world)
        lines = shown.splitlines()
        assert lines[2] == f"{handle_of(rome.id)}  2026-03-02  User lives in Rome  (guild:1)"
        assert lines[3] == f"{handle_of(cat.id)}  2026-03-02  User has a cat called Tom  (dm)"
        best = (await desk.call("/mydata facts the cat called Tom")).text
        assert best.splitlines()[2].startswith(handle_of(cat.id))
        assert (await desk.call("/mydata facts", by="bob")).text == "I know no facts about you yet."


@pytest.mark.parametrize("other_words", [False, True])
async def test_a_forgotten_fact_does_not_come_back_by_learning_everything_again(
    tmp_path: Path, other_words: bool
) -> None:
    taught = {"Rome": [dict(ROME)], "cat": [CAT]}
    async with running(tmp_path, memory_model=learning(taught)) as world:
        await tell(world, "I live in Rome", "My cat is called Tom")
        reply = await Desk.of(world).call("/mydata forget lives in Rome")
        assert reply.succeeded
        world.clock.advance(minutes=1)
        if other_words:
            taught["Rome"] = [{"text": "User's home is Rome, the capital"}, {"text": "User dwells there"}]
        await learn_all_again(world)
        assert await known(world) == ["User has a cat called Tom"]
        await tell(world, "Where is Rome?")
        assert "lives in Rome" not in world.model.requests[-1].messages[-1].text


@pytest.mark.parametrize("other_words", [False, True])
async def test_a_corrected_fact_stays_as_it_was_put_right(tmp_path: Path, other_words: bool) -> None:
    taught = {"Rome": [dict(ROME)]}
    async with running(tmp_path, memory_model=learning(taught)) as world:
        await tell(world, "I live in Rome")
        [fact] = await facts_of(world)
        reply = await Desk.of(world).call(f"/mydata correct {handle_of(fact.id)} User lives in Pisa")
        assert "User lives in Pisa" in reply.text
        world.clock.advance(minutes=1)
        if other_words:
            taught["Rome"] = [{**HOME, "text": "User resides in Rome", "object": "Rome"}]
        await learn_all_again(world)
        assert await known(world) == ["User lives in Pisa"]


async def test_what_was_forgotten_is_learned_anew_when_it_is_said_anew(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"Rome": [ROME]})) as world:
        await tell(world, "I live in Rome")
        await Desk.of(world).call("/mydata forget Rome")
        world.clock.advance(minutes=1)
        await tell(world, "I do live in Rome")
        assert await known(world) == ["User lives in Rome"]
        await learn_all_again(world)
        assert await known(world) == ["User lives in Rome"]


async def test_the_same_said_elsewhere_before_does_not_bring_it_back_either(tmp_path: Path) -> None:
    taught = {"I live": [dict(ROME)], "Now in": []}
    async with running(tmp_path, memory_model=learning(taught)) as world:
        await tell(world, "I live in Rome", "Now in my flat there")
        await Desk.of(world).call("/mydata forget Rome")
        world.clock.advance(minutes=1)
        taught["Now in"] = [{**HOME, "text": "User resides in Rome", "object": "rome"}]
        await learn_all_again(world)
        assert await known(world) == []


async def test_a_correction_takes_out_secrets_and_refuses_what_is_no_fact(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"Rome": [ROME]})) as world:
        await tell(world, "I live in Rome")
        desk = Desk.of(world)
        secret = "AKIA" + "IOSFODNN7EXAMPLQ"
        reply = await desk.call(f"/mydata correct fact:{handle_of((await facts_of(world))[0].id)} My key is {secret}")
        assert reply.succeeded
        assert secret not in reply.text
        assert secret not in str(await known(world))
        long = await desk.call(f"/mydata correct fact:{handle_of((await facts_of(world))[0].id)} {'x' * 600}")
        assert not long.succeeded
        for fact in ("seafood", "...", "zzzzzz"):
            unknown = await desk.call(f"/mydata forget {fact}")
            assert not unknown.succeeded
            assert "There is no fact" in unknown.text


async def test_words_of_several_facts_name_none_of_them(tmp_path: Path) -> None:
    model = learning({"cats": [{"text": "User has a cat called Tom"}, {"text": "User has a cat called Tim"}]})
    async with running(tmp_path, memory_model=model) as world:
        await tell(world, "I have two cats")
        desk = Desk.of(world)
        reply = await desk.call("/mydata forget a cat")
        assert not reply.succeeded
        assert all(handle_of(fact.id) in reply.text for fact in await facts_of(world))
        assert (await desk.call("/mydata forget called Tim")).succeeded
        assert await known(world) == ["User has a cat called Tom"]


async def test_core_memory_says_no_longer_what_was_forgotten_or_corrected(tmp_path: Path) -> None:
    taught = {"tea": [{"text": "User loves tea."}], "Oslo": [{"text": "User lives in Oslo."}]}
    notes = OfflineModel(agent_name="Keepsake")  # which writes every statement into core memory
    async with running(tmp_path, chat_model=notes, memory_model=learning(taught)) as world:
        desk, scope = Desk.of(world), world.memory().place.scope
        await tell(world, "I love tea.", "I live in Oslo.", "My sister Mia is allergic to nuts.")
        await desk.call("/mydata forget tea")
        await desk.call("/mydata correct Oslo I live in Rome")
        human = next(block.value for block in await world.system.stores.blocks.load(scope) if block.label == "human")
        assert human.splitlines() == ["I live in Rome", "Their sister Mia is allergic to nuts."]


async def test_a_pinned_fact_survives_contradictions_until_it_is_unpinned(tmp_path: Path) -> None:
    pisa = {"text": "User lives in Pisa", **HOME, "object": "Pisa"}
    async with running(tmp_path, memory_model=learning({"Rome": [ROME], "Oslo": [OSLO], "Pisa": [pisa]})) as world:
        await tell(world, "I live in Rome")
        desk = Desk.of(world)
        assert "pinned" in (await desk.call("/mydata pin lives in Rome")).text
        await tell(world, "I live in Oslo")
        assert await known(world) == ["User lives in Rome", "User lives in Oslo"]
        await desk.call("/mydata unpin lives in Rome")
        await tell(world, "I live in Pisa")
        assert await known(world) == ["User lives in Pisa"]


async def test_why_names_what_the_last_reply_was_given_with_its_reason_date_and_source(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"cat": [CAT]})) as world:
        desk = Desk.of(world)
        assert (await desk.call("/mydata why")).text == "I have not replied to you here yet."
        await tell(world, "My cat is called Tom")
        await tell(world, "The user has a cat called what?")
        [cat] = await facts_of(world)
        shown = (await desk.call("/mydata why")).text
        assert f"A fact {handle_of(cat.id)} of 2026-03-02 09:00 UTC, heard by dm, because of words in common" in shown
        assert "from a message of 2026-03-02 09:00 UTC\n```\nUser has a cat called Tom\n```" in shown
        elsewhere = await desk.call("/mydata why", where=channel(1))
        assert "not replied" in elsewhere.text
        await desk.call("/mydata forget Tom")
        after = (await desk.call("/mydata why")).text
        assert "A fact " in after
        assert "Tom" not in after
        await tell(world, "Hello")
        assert "was given nothing from memory" in (await desk.call("/mydata why")).text
        await desk.call("/mydata incognito")
        await tell(world, "The user has a cat called what?")
        assert not (await desk.call("/mydata why")).succeeded


# admins


async def test_an_admin_sees_facts_and_their_history_and_reverts_and_the_person_can_read_so(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"Rome": [ROME], "Oslo": [OSLO]})) as world:
        desk, here = Desk.of(world), channel(1)
        await tell(world, "I live in Rome", "I live in Oslo", where=here)
        assert await known(world, "guild:1") == ["User lives in Oslo"]
        listed = await desk.call("/memory facts console:ann", by=ROOT, where=here)
        assert "User lives in Oslo  (guild:1)" in listed.text
        shown = (await desk.call("/memory history console:ann", by=ROOT, where=here)).text
        [line] = [line for line in shown.splitlines() if "supersede" in line]
        assert "learned from what was said (system, job learn:" in line
        assert "- User lives in Rome" in shown
        offered = await desk.suggest("revert", "revision", ROOT, here)
        [choice] = [one for one in offered if "supersede: User lives in Rome" in one.label]
        asked = await desk.call(f"/memory revert console:ann {choice.value}", by=ROOT, where=here)
        assert asked.confirm == "Revert"
        assert "superseded -> current" in asked.text
        assert "+ User lives in Rome" in asked.text
        assert await known(world, "guild:1") == ["User lives in Oslo"]
        done = await desk.call(f"/memory revert console:ann {choice.value} confirmed:yes", by=ROOT, where=here)
        assert done.succeeded
        assert await known(world, "guild:1") == ["User lives in Rome", "User lives in Oslo"]
        await tell(world, "The user lives in Rome?", where=here)
        assert "User lives in Rome" in world.model.requests[-1].messages[-1].text
        log = (await desk.call("/mydata audit")).text
        assert f"console:root: memory revert, revision {choice.value} (guild:1)" in log
        assert "console:root: memory history (guild:1)" in log
        again = await desk.call(f"/memory revert console:ann {choice.value} confirmed:yes", by=ROOT, where=here)
        assert not again.succeeded


async def test_an_admin_reaches_no_facts_of_direct_chats(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"Rome": [ROME], "cat": [CAT]})) as world:
        desk, here = Desk.of(world), channel(1)
        await tell(world, "I live in Rome")
        await tell(world, "My cat is called Tom", where=here)
        for command in ("facts console:ann", "history console:ann"):
            assert "Rome" not in (await desk.call(f"/memory {command}", by=ROOT, where=here)).text
        shown = await desk.call("/memory history console:ann lives", by=ROOT, where=here)
        assert not shown.succeeded
        reverted = await revision_of(world, "User lives in Rome")
        refused = await desk.call(f"/memory revert console:ann {reverted}", by=ROOT, where=here)
        assert "There is no revision" in refused.text
        assert all("Rome" not in one.label for one in await desk.suggest("revert", "revision", ROOT, here))
        member = Caller(person="console:bob", name="bob")
        assert await desk.suggest("revert", "revision", member, here) == ()


async def test_undo_takes_back_the_facts_of_a_session_and_says_what_it_leaves(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"Rome": [ROME], "cat": [CAT]})) as world:
        desk = Desk.of(world)
        await tell(world, "I live in Rome", "My cat is called Tom")
        [session] = await world.system.stores.sessions.recent(world.memory().place.scope, 1)
        rome, cat = await facts_of(world)
        await desk.call(f"/mydata correct {handle_of(cat.id)} User has a cat called Kim")
        asked = await desk.call(f"/memory undo console:ann {session.id}", by=OPERATOR)
        assert f"fact {handle_of(rome.id)}:" in asked.text
        assert "- User lives in Rome" in asked.text
        done = await desk.call(f"/memory undo console:ann {session.id} confirmed:yes", by=OPERATOR)
        assert f"as it is: fact {handle_of(cat.id)}." in done.text
        assert await known(world) == ["User has a cat called Kim"]
        again = await desk.call(f"/memory undo console:ann {session.id} confirmed:yes", by=OPERATOR)
        assert not again.succeeded
        assert "memory undo" in (await desk.call("/mydata audit")).text


async def test_a_learning_job_is_undone_by_its_key(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=learning({"Rome": [ROME], "Oslo": [OSLO]})) as world:
        desk = Desk.of(world)
        await tell(world, "I live in Rome", "I live in Oslo")
        [latest, *_] = await world.system.stores.facts.history(world.memory().place.reach)
        offered = [one.value for one in await desk.suggest("undo", "session", OPERATOR, channel(1))]
        assert latest.change.job in offered
        await desk.call(f"/memory undo console:ann {latest.change.job} confirmed:yes", by=OPERATOR)
        assert await known(world) == ["User lives in Rome"]


# all of it


async def test_facts_leave_with_an_erasure_and_come_along_with_an_export(tmp_path: Path) -> None:
    canary = {"text": "User loves the zyxwvut orchid"}
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    async with running(tmp_path / "old", memory_model=learning({"orchid": [canary]})) as world:
        desk = Desk.of(world)
        await tell(world, "I love one orchid")
        await desk.call("/mydata pin zyxwvut")
        exported = await desk.call("/mydata export")
        assert exported.attachment is not None
        receipt = await desk.call("/mydata erase ERASE")
        assert "facts: 1" in receipt.text
        assert "Nothing is left." in receipt.text
        assert "no facts" in (await desk.call("/mydata facts")).text
        assert (await desk.call("/mydata why")).text == "I have not replied to you here yet."
    for file in (tmp_path / "old").iterdir():
        assert b"zyxwvut" not in file.read_bytes()
    async with running(tmp_path / "new") as world:
        await world.system.importer.run(exported.attachment.content, actor="operator")
        desk = Desk.of(world)
        assert "zyxwvut orchid  (dm, pinned)" in (await desk.call("/mydata facts")).text
        shown = (await desk.call("/memory history console:ann", by=OPERATOR)).text
        assert "pin: pin (person)" in shown
