"""Actions on Slack: message shortcuts, what stands below answers, forms, and the page of one's own memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.action_table import ACTION_TABLE
from bot.actions import Action, Place
from bot.commands import Command, CommandReply, Group, Invocation, Services
from tests.adapters.slack.test_memory import Workspace, text, workspace
from tests.desk import learning
from tests.doubles import slack as double
from tests.doubles.slack import TEAM, SlackDouble, buttons_of, elements_of, label_of

ROME = {"text": "User lives in Rome", "subject": "user", "predicate": "lives_in", "object": "Rome"}
TEA = {"text": "User likes tea", "subject": "user", "predicate": "likes", "object": "tea"}


@asynccontextmanager
async def remembering(slack: SlackDouble, folder: Path) -> AsyncIterator[Workspace]:
    """Ann has said where she lives and what she likes, in a direct chat."""
    taught = learning({"live in": [ROME], "like": [TEA]})
    async with workspace(slack, folder, memory_model=taught) as place:
        await place.say("U1", "D1", "I live in Rome.")
        await place.say("U1", "D1", "I like tea.")
        yield place


async def shortcut(place: Workspace, name: str, message: Mapping[str, Any], user: str = "U1") -> dict[str, Any]:
    """Somebody chooses a shortcut at a message; what answers it."""
    payload = {
        "type": "message_action",
        "callback_id": name,
        "trigger_id": "1.4",
        "team": {"id": TEAM},
        "user": {"id": user, "team_id": TEAM},
        "channel": {"id": message["channel"]},
        "message": dict(message),
        "response_url": place.slack.press(user, message["channel"], {"blocks": [_a_button()]})["response_url"],
    }
    return await place.answered("interactive", payload)


def _a_button() -> dict[str, Any]:
    return {"type": "actions", "elements": [{"type": "button", "action_id": "any", "value": ""}]}


async def click(place: Workspace, shown: Mapping[str, Any], label: str, user: str = "U1") -> dict[str, Any]:
    return await place.answered("interactive", place.slack.press(user, "D1", shown, label))


async def choose(place: Workspace, shown: Mapping[str, Any], label: str) -> dict[str, Any]:
    payload = place.slack.press("U1", "D1", {"blocks": [_a_button()]})
    return await place.answered("interactive", {**payload, "actions": [_choice(shown, label)]})


def _choice(shown: Mapping[str, Any], label: str) -> dict[str, Any]:
    [menu] = [element for element in elements_of(shown) if element["type"] == "static_select"]
    [option] = [option for option in menu["options"] if label_of(option) == label]
    return {"type": "static_select", "action_id": menu["action_id"], "selected_option": option}


async def open_form(place: Workspace, payload: Mapping[str, Any]) -> dict[str, Any]:
    before = len(place.slack.forms)
    await (await place.slack.deliver_payload("interactive", payload)).wait()
    await place.slack.wait_for(lambda: len(place.slack.forms) > before)
    return place.slack.forms[-1]


def sent(form: Mapping[str, Any], user: str = "U1", **fields: str) -> dict[str, Any]:
    """What Slack sends when somebody sends a form."""
    values = {name: {name: {"type": "plain_text_input", "value": value}} for name, value in fields.items()}
    return {
        "type": "view_submission",
        "team": {"id": TEAM},
        "user": {"id": user, "team_id": TEAM},
        "view": {**form, "state": {"values": values}},
    }


def labels(shown: Mapping[str, Any]) -> list[str]:
    return [label_of(button) for button in buttons_of(shown)]


# at a message


async def test_a_person_asks_of_any_answer_why_it_was_given(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        await place.say("U1", "D1", "The user lives where?")
        first, *_, last = slack.posts("D1")
        why = await shortcut(place, "why", last)
        before = await shortcut(place, "why", first)

    assert why["response_type"] == "ephemeral"
    assert "User lives in Rome" in text(why)
    assert [label_of(option) for option in elements_of(why)[0]["options"]] == ["User lives in Rome", "User likes tea"]
    assert text(why) != text(before)


async def test_nobody_asks_why_of_an_answer_to_somebody_else(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        refused = await shortcut(place, "why", slack.posts("D1")[0], user="U2")

    assert "neither an answer to you" in text(refused)


async def test_a_person_forgets_what_was_said_in_a_thread_with_its_answer(slack: SlackDouble, tmp_path: Path) -> None:
    taught = learning({"live in": [ROME]})
    async with workspace(slack, tmp_path, memory_model=taught) as place:
        await place.say("U1", "C1", "I live in Rome.")
        asked = await shortcut(place, "forget-message", slack.posts("C1")[0])
        assert "Rome" in text(await place.call("U1", "C1", "/mydata facts"))
        done = await place.answered("interactive", slack.press("U1", "C1", asked, "Forget this"))
        listed = await place.call("U1", "C1", "/mydata facts")

    assert "Forgotten" in text(done)
    assert done["replace_original"]
    assert "no facts" in text(listed)


# below answers


async def test_a_chosen_fact_is_corrected_in_a_form_that_shows_what_it_says(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        fact = await choose(place, await place.call("U1", "D1", "/mydata facts"), "User lives in Rome")
        assert labels(fact) == ["Correct", "Pin", "Forget"]
        form = await open_form(place, slack.press("U1", "D1", fact, "Correct"))
        assert form["blocks"][0]["element"]["initial_value"] == "User lives in Rome"
        corrected = await place.answered("interactive", sent(form, text="User lives in Bergen"))
        listed = await place.call("U1", "D1", "/mydata facts")

    assert "Corrected" in text(corrected)
    assert "Bergen" in text(listed)
    assert "Rome" not in text(listed)


async def test_a_form_that_slack_does_not_open_any_more_says_so(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        fact = await choose(place, await place.call("U1", "D1", "/mydata facts"), "User lives in Rome")
        slack.script("views.open", double.error("expired_trigger_id"))
        told = await click(place, fact, "Correct")

    assert "click once more" in text(told)


async def test_a_chosen_fact_is_forgotten_once_that_is_confirmed(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        fact = await choose(place, await place.call("U1", "D1", "/mydata facts"), "User likes tea")
        asked = await click(place, fact, "Forget")
        assert "tea" in text(await place.call("U1", "D1", "/mydata facts"))
        await click(place, asked, "Forget")
        listed = await place.call("U1", "D1", "/mydata facts")

    assert "tea" not in text(listed)
    assert "Rome" in text(listed)


async def test_a_button_of_somebody_else_is_refused(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        fact = await choose(place, await place.call("U1", "D1", "/mydata facts"), "User likes tea")
        clicked = await click(place, fact, "Pin", user="U2")
        form = await open_form(place, slack.press("U1", "D1", fact, "Correct"))
        filled = await place.answered("interactive", sent(form, user="U2", text="User likes coffee"))
        listed = await place.call("U1", "D1", "/mydata facts")

    assert "somebody else" in text(clicked)
    assert "somebody else" in text(filled)
    assert "User likes tea" in text(listed)
    assert "pinned" not in text(listed)


async def test_a_button_works_after_a_restart(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        fact = await choose(place, await place.call("U1", "D1", "/mydata facts"), "User likes tea")
    async with workspace(slack, tmp_path) as place:
        pinned = await click(place, fact, "Pin")

    assert "Pinned" in text(pinned)


# the page of one's own memory


async def opened(place: Workspace, user: str = "U1") -> dict[str, Any]:
    """Somebody opens the page; what it shows."""
    place.slack.homes.pop(user, None)
    event = {"type": "app_home_opened", "user": user, "channel": "D1", "tab": "home", "event_ts": "1.1"}
    await (await place.slack.deliver(event)).wait()
    await place.slack.wait_for(lambda: user in place.slack.homes)
    return place.slack.homes[user]


async def at_home(place: Workspace, payload: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows after a click."""
    before = len(place.slack.called("views.publish"))
    await (await place.slack.deliver_payload("interactive", payload)).wait()
    await place.slack.wait_for(lambda: len(place.slack.called("views.publish")) > before)
    await place.world.system.settle()
    return place.slack.homes["U1"]


def home_click(shown: Mapping[str, Any], action: Mapping[str, Any], user: str = "U1") -> dict[str, Any]:
    return {
        "type": "block_actions",
        "team": {"id": TEAM},
        "user": {"id": user, "team_id": TEAM},
        "container": {"type": "view"},
        "view": dict(shown),
        "actions": [dict(action)],
        "trigger_id": "1.5",
    }


def button(shown: Mapping[str, Any], label: str) -> dict[str, Any]:
    return next(one for one in buttons_of(shown) if label_of(one) == label)


async def test_a_person_sees_their_own_memory_alone_on_a_page(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        hers = await opened(place)
        his = await opened(place, "U2")

    assert "User lives in Rome" in text(hers)
    assert "Heard by dm" in text(hers)
    assert {"Pause", "Export", "Erase everything"} <= set(labels(hers))
    assert "Rome" not in json.dumps(his)
    assert "remember nothing" in text(his)


async def test_the_message_tab_shows_no_page(slack: SlackDouble, tmp_path: Path) -> None:
    async with workspace(slack, tmp_path) as place:
        event = {"type": "app_home_opened", "user": "U1", "channel": "D1", "tab": "messages"}
        await (await slack.deliver(event)).wait()
        await opened(place, "U2")
        assert "U1" not in slack.homes


async def test_a_click_on_the_page_is_answered_on_top_of_it(slack: SlackDouble, tmp_path: Path) -> None:
    async with remembering(slack, tmp_path) as place:
        home = await opened(place)
        home = await at_home(place, home_click(home, _choice(home, "User likes tea")))
        assert "User likes tea" in home["blocks"][0]["text"]["text"]
        home = await at_home(place, home_click(home, button(home, "Forget")))
        assert "do not learn it again" in home["blocks"][0]["text"]["text"]
        home = await at_home(place, home_click(home, button(home, "Forget")))
        assert "Forgotten" in home["blocks"][0]["text"]["text"]
        assert "1 to 1 of 1" in text(home)
        home = await at_home(place, home_click(home, button(home, "Pause")))
        assert "Resume" in labels(home)
        home = await at_home(place, home_click(home, button(home, "Export")))
        assert "is in your direct messages" in home["blocks"][0]["text"]["text"]
    assert slack.posts("DU1")


async def test_all_of_a_memory_is_erased_from_the_page_by_a_form_that_wants_the_word(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with remembering(slack, tmp_path) as place:
        home = await opened(place)
        form = await open_form(place, home_click(home, button(home, "Erase everything")))
        home = await at_home(place, sent(form, confirm="no"))
        assert "Nothing was erased" in home["blocks"][0]["text"]["text"]
        home = await at_home(place, sent(form, confirm="ERASE"))

    assert "was erased" in home["blocks"][0]["text"]["text"]
    assert "remember nothing about you" in text(home)


async def test_a_page_shows_no_more_than_slack_takes(slack: SlackDouble, tmp_path: Path) -> None:
    facts = [{**TEA, "text": f"User likes tea {n} {'very ' * 40}much", "object": f"tea {n}"} for n in range(27)]
    taught = learning({f"sort {part}": facts[part * 9 : part * 9 + 9] for part in range(3)})
    async with workspace(slack, tmp_path, memory_model=taught) as place:
        for part in range(3):
            await place.say("U1", "D1", f"I like the teas of sort {part}.")
        home = await opened(place)
        older = await at_home(place, home_click(home, button(home, "Older facts")))

    assert "1 to 25 of 27" in text(home)
    assert "26 to 27 of 27" in text(older)
    assert all(len(block["text"]["text"]) <= 3_000 for block in older["blocks"] if block["type"] == "section")


# while the bot stops


@pytest.mark.parametrize("called", ["shortcut", "command"])
async def test_what_does_not_end_is_broken_off_and_its_caller_told(
    slack: SlackDouble, tmp_path: Path, called: str
) -> None:
    begun = asyncio.Event()

    async def wait(services: Services, call: Invocation) -> CommandReply:
        begun.set()
        await asyncio.Event().wait()
        return CommandReply(text="Done.")

    command = Command(group=Group.MYDATA, name="show", help="Show.", run=wait)
    action = Action(name="why", label="Why this answer?", command=command, place=Place.MESSAGE)
    async with workspace(slack, tmp_path, actions=(action,), table=(command,)) as place:
        post = slack.message("U1", "D1", "Hello")
        if called == "shortcut":
            calling = asyncio.ensure_future(shortcut(place, "why", post))
        else:
            calling = asyncio.ensure_future(place.call("U1", "D1", "/mydata show"))
        await begun.wait()
        await place.adapter.stop()
        told = await calling

    assert "I was stopped before this was done" in text(told)


def test_every_label_fits_what_slack_and_discord_show() -> None:
    assert all(len(action.label) <= 24 for action in ACTION_TABLE)
