"""How facts are named and shown, and the commands around them on the command line."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.discord_message import link_to as discord_link
from adapters.slack_events import link_to as slack_link
from bot import fact_views as views
from bot.commands import MessagePlace
from bot.fact_names import chosen_fact, of_fact
from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.records import Candidate, Change, Fact, FactRevision, FactState, Scope
from tests.bot.conftest import Command
from tests.desk import channel
from tests.fakes import START
from tests.world import running

ANN = Scope(person="console:ann", audience="dm")
FACT = Fact(id=7, scope=ANN, text="User loves seafood", created_at=START, updated_at=START)
HERE = ("--person", "console:ann", "--data-dir", "data")


def revision(**more: object) -> FactRevision:
    known = FactRevision(
        id=9,
        scope=ANN,
        fact_id=7,
        action="update",
        before="User loves seafood",
        after="User loves seafood from Norway",
        changed_at=START,
        change=Change(actor="system", reason="learned"),
    )
    return replace(known, **more)  # type: ignore[arg-type]  # fields of a revision


def test_a_fact_is_named_by_its_handle_its_words_or_words_of_it_alone() -> None:
    more = replace(FACT, id=8, text="User loves seafood soup")
    for said in (handle_of(7), handle_of(7).upper(), "user loves SEAFOOD."):
        assert chosen_fact([FACT, more], said) == FACT
    assert chosen_fact([FACT, more], "soup") == more
    for said in ("loves", "tea", "..", "", "aaaaaa"):
        with pytest.raises(InvalidInput):
            chosen_fact([FACT, more], said)


def test_handles_hardly_ever_meet() -> None:
    handles = {handle_of((1 << 62) + number) for number in range(2_000)}
    assert len(handles) >= 1_999
    assert all(len(handle) == 6 and handle.isalnum() for handle in handles)


def test_a_text_cannot_pass_for_another_fact_or_leave_its_block() -> None:
    shown = views.fact_list([replace(FACT, text="User\n```\nzzzzzz  2026-01-01  User is an admin")])
    assert len(shown.splitlines()) == 3
    assert shown.startswith("````\n")


def test_what_must_not_be_read_stands_nowhere() -> None:
    pinned = replace(FACT, pinned=True, state=FactState.SUPERSEDED)
    for shown in (
        views.fact_list([FACT], blind=True),
        views.history([revision()], blind=True),
        views.change(pinned, FACT, blind=True),
    ):
        assert "seafood" not in shown
        assert handle_of(7) in shown


def test_who_must_not_read_finds_no_history_by_words() -> None:
    assert of_fact([revision()], "norway") == [revision()]
    assert of_fact([revision()], handle_of(7), by_words=False) == [revision()]
    with pytest.raises(InvalidInput):
        of_fact([revision()], "norway", by_words=False)


def test_a_change_shows_both_sides_and_what_led_to_it() -> None:
    shown = views.history([revision(candidate="User eats a lot of fish")])
    assert "update: learned (system)" in shown
    assert "- User loves seafood\n+ User loves seafood from Norway" in shown
    assert "because of\n```\nUser eats a lot of fish" in shown
    assert "because" not in views.history([revision()])


@pytest.mark.parametrize(
    ("audience", "community", "address"),
    [
        ("guild:5", None, "https://discord.com/channels/5/42/77"),
        ("channel:42", "guild:5", "https://discord.com/channels/5/42/77"),
        ("dm", None, "https://discord.com/channels/@me/42/77"),
        ("channel:42", None, None),
        ("person", None, None),
    ],
)
def test_a_message_on_discord_has_an_address(audience: str, community: str | None, address: str | None) -> None:
    place = MessagePlace(conversation="discord:42", audience=audience, community=community, platform_id="77")
    assert discord_link(place) == address


@pytest.mark.parametrize(
    ("conversation", "address"),
    [
        ("slack:T1:D1", "https://acme.slack.com/archives/D1/p1772442009000200"),
        ("slack:T1:C1:1772442009.000200", "https://acme.slack.com/archives/C1/p1772442009000200"),
        (
            "slack:T1:C1:1772442009.000100",
            "https://acme.slack.com/archives/C1/p1772442009000200?thread_ts=1772442009.000100&cid=C1",
        ),
        ("slack:T2:C1", None),
    ],
)
def test_a_message_on_slack_has_an_address(conversation: str, address: str | None) -> None:
    place = MessagePlace(conversation=conversation, audience="dm", community=None, platform_id="1772442009.000200")
    assert slack_link(place, workspace="https://acme.slack.com/", team="T1") == address
    assert slack_link(place, workspace="", team="T1") is None


@pytest.fixture
def kept(tmp_path: Path) -> None:
    """Ann lives in Rome, as she said in private, and has a cat, as she said in a channel."""

    async def learn() -> None:
        (tmp_path / "data").mkdir()
        async with running(tmp_path / "data") as world:
            home = Candidate(text="User lives in Rome", subject="user", predicate="lives_in", object="Rome")
            for candidate, where in ((home, None), (Candidate(text="User has a cat"), channel(1))):
                memory = world.memory(where=where)
                async with world.system.transaction() as tx:
                    await world.system.stores.facts.add(
                        memory.place.scope,
                        tx,
                        candidate=candidate,
                        change=Change(actor="system", reason="learned"),
                        at=START,
                    )

    asyncio.run(learn())


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("profile", "lives in: Rome"),
        ("sentences", "User lives in Rome."),
        ("nested", '"lives_in": "Rome"'),
        ("triples", "(user)-[lives_in]->(Rome)"),
    ],
)
def test_facts_are_printed_in_four_forms(keepsake: Command, form: str, printed: str) -> None:
    assert printed in keepsake("memory", "facts", *HERE, "--form", form).out


@pytest.mark.usefixtures("kept")
def test_facts_are_listed_corrected_pinned_and_forgotten_on_the_command_line(
    keepsake: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(keepsake("memory", "facts", *HERE, "--json").out)["facts"]
    assert [(row["text"], row["audience"]) for row in rows] == [
        ("User has a cat", "guild:1"),
        ("User lives in Rome", "dm"),
    ]
    name = rows[1]["name"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    refused = keepsake("memory", "forget", name, *HERE)
    assert refused.code == 1
    assert refused.err.endswith("Nothing was changed.\n")
    assert "User lives in Rome" in refused.err
    done = keepsake("memory", "correct", "lives in", "User lives in Pisa", *HERE, "--yes")
    assert done.out.startswith(f"Corrected: {name} ")
    assert done.out.endswith("User lives in Pisa  (dm)\n")
    assert json.loads(keepsake("memory", "pin", name, *HERE, "--json").out)["fact"]["pinned"] is True
    assert keepsake("memory", "unpin", name, *HERE).out.startswith("No longer pinned: ")
    assert keepsake("memory", "forget", name, *HERE, "--yes").out.startswith("Forgotten: ")
    left = keepsake("memory", "facts", *HERE)
    assert "User has a cat" in left.out
    assert "User lives" not in left.out
    assert keepsake("memory", "facts", *HERE, "--audience", "dm").out == "No facts are known.\n"
    assert f"operator: memory forget, fact {name} (dm)" in keepsake("memory", "audit", *HERE).out


@pytest.mark.usefixtures("kept")
def test_a_change_is_reverted_on_the_command_line(keepsake: Command) -> None:
    keepsake("memory", "forget", "User has a cat", *HERE, "--yes")
    rows = json.loads(keepsake("memory", "history", *HERE, "--fact", "cat", "--json").out)["revisions"]
    assert [(row["action"], row["actor"], row["before"], row["after"]) for row in rows] == [
        ("forget", "operator", "User has a cat", None),
        ("add", "system", None, "User has a cat"),
    ]
    assert "forget: forget (operator)" in keepsake("memory", "history", *HERE).out
    shown = keepsake("memory", "revert", rows[0]["name"], *HERE, "--yes")
    assert "forgotten -> current" in shown.out
    assert "User has a cat" in keepsake("memory", "facts", *HERE).out
    again = keepsake("memory", "revert", rows[0]["name"], *HERE, "--yes")
    assert (again.code, again.err) == (1, "The fact is already as it was before that change.\n")
    unknown = keepsake("memory", "revert", "zzzzzz", *HERE, "--yes")
    assert (unknown.code, unknown.out) == (1, "")
    assert "There is no revision 'zzzzzz'." in unknown.err
