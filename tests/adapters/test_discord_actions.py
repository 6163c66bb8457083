"""Actions on Discord: the menu of a message, and what stands below answers, inside a simulated Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import pytest
from simcord.results import InteractionResult

from adapters.discord_delivery import DiscordDelivery
from bot.action_table import ACTION_TABLE
from bot.actions import Action
from bot.chat import OutgoingMessage
from bot.command_table import COMMAND_TABLE
from bot.commands import Command, CommandReply, Group, Invocation, Services
from tests.adapters.discord_server import Client, Server, server
from tests.desk import learning
from tests.fakes import RecordingChannel

ROME = {"text": "User lives in Rome", "subject": "user", "predicate": "lives_in", "object": "Rome"}
TEA = {"text": "User likes tea", "subject": "user", "predicate": "likes", "object": "tea"}


class Posting(RecordingChannel):
    """Posts answers in the simulated Discord."""

    def __init__(self, place: Server) -> None:
        super().__init__("discord")
        self._delivery = DiscordDelivery(lambda: place.env.bot)

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        return await self._delivery.send(message)


@asynccontextmanager
async def remembering(folder: Path) -> AsyncIterator[Server]:
    """Ann has said where she lives and what she likes."""
    taught = learning({"live in": [ROME], "like": [TEA]})
    async with server(folder, COMMAND_TABLE, memory_model=taught, actions=ACTION_TABLE) as place:
        place.world.handler.attach({"discord": Posting(place)})
        await place.say(place.ann, "I live in Rome.")
        await place.say(place.ann, "I like tea.")
        yield place


def messages(place: Server) -> list[discord.Message]:
    return list(place.channel.history(viewer=place.ann))


def buttons(shown: Any) -> dict[str, str]:
    """The custom ids of an answer's buttons, by their labels."""
    rows = shown.message.components
    return {item.label: item.custom_id for row in rows for item in row.children if isinstance(item, discord.Button)}


def options(shown: Any) -> dict[str, str]:
    """The values of an answer's menu, by their labels."""
    rows = shown.message.components
    menus = [item for row in rows for item in row.children if isinstance(item, discord.SelectMenu)]
    return {option.label: option.value for menu in menus for option in menu.options}


def last(result: InteractionResult) -> Any:
    """What an interaction was answered with in the end."""
    return result.followups[-1] if result.followups else result.response


async def chosen(place: Server, label: str) -> Any:
    """Ann lists her facts and chooses one."""
    listed = await place.ann.slash(place.channel, "mydata facts")
    return last(await place.ann.select(listed.response, [options(listed.response)[label]]))


# the menu of a message


async def test_a_person_asks_of_any_answer_why_it_was_given(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        await place.say(place.ann, "The user lives where?")
        _, _, _, second, _, answer = messages(place)
        why = await place.ann.context_menu(place.channel, "Why this answer?", answer)
        before = await place.ann.context_menu(place.channel, "Why this answer?", second)

        assert why.ephemeral
        assert "User lives in Rome" in last(why).content
        assert "User lives in Rome" in options(last(why))
        assert last(why).content.splitlines()[0] != last(before).content.splitlines()[0]
        assert all("given" not in seen for seen in place.seen_by(place.bob))


async def test_nobody_asks_why_of_an_answer_to_somebody_else(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        for name in ("Why this answer?", "Forget this"):
            result = await place.bob.context_menu(place.channel, name, messages(place)[1])
            if name == "Forget this":
                result = await place.bob.click(result.response, label="Forget this")

            assert "neither an answer to you" in last(result).content
        listed = await place.ann.slash(place.channel, "mydata facts")
        assert "Rome" in listed.response.content


async def test_a_person_forgets_what_was_said_with_its_answer_and_what_it_taught(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        asked = await place.ann.context_menu(place.channel, "Forget this", messages(place)[1])
        assert "Rome" in (await place.ann.slash(place.channel, "mydata facts")).response.content
        done = await place.ann.click(asked.response, label="Forget this")
        listed = await place.ann.slash(place.channel, "mydata facts")
        again = await place.ann.context_menu(place.channel, "Forget this", messages(place)[0])
        again = await place.ann.click(again.response, label="Forget this")

        assert "Forgotten" in last(done).content
        assert buttons(asked.response) == {}
        assert "Rome" not in listed.response.content
        assert "tea" in listed.response.content
        assert "neither" in last(again).content
        audit = await place.ann.slash(place.channel, "mydata audit")
        assert "mydata forget-message" in audit.response.content


# below answers


async def test_a_chosen_fact_is_corrected_in_a_form_that_shows_what_it_says(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        fact = await chosen(place, "User lives in Rome")
        form = await place.ann.click(fact, label="Correct")
        assert form.modal is not None
        assert form.modal["components"][0]["component"]["value"] == "User lives in Rome"
        corrected = await place.ann.submit_modal(form, {"text": "User lives in Bergen"})
        listed = await place.ann.slash(place.channel, "mydata facts")

        assert last(corrected).ephemeral
        assert "Corrected" in last(corrected).content
        assert "Bergen" in listed.response.content
        assert "Rome" not in listed.response.content


async def test_a_chosen_fact_is_pinned_and_unpinned(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        fact = await chosen(place, "User likes tea")
        assert list(buttons(fact)) == ["Correct", "Pin", "Forget"]
        pinned = await place.ann.click(fact, label="Pin")
        assert "pinned" in last(pinned).content
        assert list(buttons(await chosen(place, "User likes tea"))) == ["Correct", "Unpin", "Forget"]


async def test_a_chosen_fact_is_forgotten_once_that_is_confirmed(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        asked = await place.ann.click(await chosen(place, "User likes tea"), label="Forget")
        assert "tea" in (await place.ann.slash(place.channel, "mydata facts")).response.content
        done = await place.ann.click(last(asked), label="Forget")

        assert "Forgotten" in last(done).content
        assert "tea" not in (await place.ann.slash(place.channel, "mydata facts")).response.content


async def test_all_of_a_memory_is_erased_by_a_form_that_wants_the_word(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        shown = await place.ann.slash(place.channel, "mydata show")
        assert list(buttons(shown.response)) == ["What I know", "Pause", "Who looked", "Export", "Erase everything"]
        form = await place.ann.click(shown.response, label="Erase everything")
        refused = await place.ann.submit_modal(form, {"confirm": "yes"})
        form = await place.ann.click(shown.response, label="Erase everything")
        done = await place.ann.submit_modal(form, {"confirm": "ERASE"})

        assert "Nothing was erased" in last(refused).content
        assert "Nothing is left" in last(done).content


async def test_memory_is_paused_and_resumed_with_a_click(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        shown = await place.ann.slash(place.channel, "mydata show")
        await place.ann.click(shown.response, label="Pause")
        shown = await place.ann.slash(place.channel, "mydata show")
        assert "Paused since" in shown.response.content
        resumed = await place.ann.click(shown.response, label="Resume")
        assert "remember again" in last(resumed).content


async def test_many_facts_come_in_pages(tmp_path: Path) -> None:
    facts = [{**TEA, "text": f"User likes tea number {number}", "object": f"tea {number}"} for number in range(27)]
    taught = learning({f"sort {part}": facts[part * 9 : part * 9 + 9] for part in range(3)})
    async with server(tmp_path, COMMAND_TABLE, memory_model=taught, actions=ACTION_TABLE) as place:
        for part in range(3):
            await place.say(place.ann, f"I like the teas of sort {part}.")
        listed = await place.ann.slash(place.channel, "mydata facts")
        older = await place.ann.click(last(listed), label="Older facts")
        newer = await place.ann.click(last(older), label="Newer facts")

        assert len(options(last(listed))) == len(options(last(newer))) == 25
        assert "facts 26 to 27 of 27" in older.response.content
        assert list(buttons(last(older))) == ["Newer facts"]
        assert len(options(last(older))) == 2


# whose, and for how long


async def test_a_button_works_after_a_restart(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        fact = await chosen(place, "User likes tea")
        form = await place.ann.click(fact, label="Correct")
        await place.env.restart_bot(Client(COMMAND_TABLE, place.world, ACTION_TABLE))
        corrected = await place.ann.submit_modal(form, {"text": "User likes coffee"})
        pinned = await place.ann.click(fact, label="Pin")

        assert "Corrected" in last(corrected).content
        assert "User likes coffee" in last(pinned).content


async def test_a_button_of_somebody_else_is_refused(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        fact = await chosen(place, "User likes tea")
        stolen = discord.ui.View(timeout=None)
        stolen.add_item(discord.ui.Button(label="Forget", custom_id=buttons(fact)["Forget"]))
        stolen.stop()
        public = await place.env.bot.get_channel(place.channel.id).send("For everyone.", view=stolen)
        result = await place.bob.click(public, label="Forget")

        assert result.ephemeral
        assert "somebody else" in last(result).content
        assert "tea" in (await place.ann.slash(place.channel, "mydata facts")).response.content


@pytest.mark.parametrize("old", ["keepsake/gone//n/discord:1", "keepsake/", "keepsake/pin/x/n"])
async def test_a_button_of_another_version_says_so(tmp_path: Path, old: str) -> None:
    async with server(tmp_path, COMMAND_TABLE, actions=ACTION_TABLE) as place:
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="Old", custom_id=old))
        view.stop()
        message = await place.env.bot.get_channel(place.channel.id).send("Old.", view=view)
        result = await place.ann.click(message, label="Old")

        assert result.ephemeral
        assert "earlier version" in last(result).content


async def test_what_was_asked_before_a_restart_is_not_confirmed_after_it(tmp_path: Path) -> None:
    calls: list[Invocation] = []

    async def reply(services: Services, call: Invocation) -> CommandReply:
        calls.append(call)
        return CommandReply(text="Really?", confirm="Yes")

    table = (Command(group=Group.MYDATA, name="show", help="Show.", run=reply),)
    async with server(tmp_path, table) as place:
        asked = await place.ann.slash(place.channel, "mydata show")
        await place.env.restart_bot(Client(table, place.world))
        result = await place.ann.click(asked.response, label="Yes")

        assert result.ephemeral
        assert "restarted" in last(result).content
    assert len(calls) == 1


# while the bot stops


def slow(begun: asyncio.Event, gate: asyncio.Event) -> tuple[Action, Command]:
    async def wait(services: Services, call: Invocation) -> CommandReply:
        begun.set()
        await gate.wait()
        return CommandReply(text="Done.")

    command = Command(group=Group.MYDATA, name="show", help="Show.", run=wait)
    return Action(name="why", label="Why this answer?", command=command, place=ACTION_TABLE[0].place), command


async def test_what_runs_when_the_bot_stops_is_finished_and_answered(tmp_path: Path) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    action, command = slow(begun, gate)
    async with server(tmp_path, (command,), actions=(action,)) as place:
        message = await place.ann.send(place.channel, "Hello.")
        calling = asyncio.ensure_future(place.ann.context_menu(place.channel, "Why this answer?", message))
        await begun.wait()
        stopping = asyncio.ensure_future(place.env.bot.tree.stop())
        gate.set()
        await stopping

        assert last(await calling).content == "Done."


async def test_what_does_not_end_is_broken_off_and_its_caller_told(tmp_path: Path) -> None:
    begun = asyncio.Event()
    action, command = slow(begun, asyncio.Event())
    async with server(tmp_path, (command,), actions=(action,)) as place:
        message = await place.ann.send(place.channel, "Hello.")
        calling = asyncio.ensure_future(place.ann.context_menu(place.channel, "Why this answer?", message))
        await begun.wait()
        await place.env.bot.tree.stop()

        assert "I was stopped before this was done" in last(await calling).content


async def test_what_is_called_while_the_bot_stops_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with remembering(tmp_path) as place:
        fact = await chosen(place, "User likes tea")
        await place.env.bot.tree.stop()
        clicked = await place.ann.click(fact, label="Forget")
        called = await place.ann.slash(place.channel, "mydata facts")
        menu = await place.ann.context_menu(place.channel, "Why this answer?", messages(place)[1])

        for result in (clicked, called, menu):
            assert result.ephemeral
            assert "restarted" in last(result).content


# registration


async def test_the_menus_are_registered_once_and_need_no_second_time(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE, actions=ACTION_TABLE) as place:
        await place.env.restart_bot(Client(COMMAND_TABLE, place.world, ACTION_TABLE))
        sent = [request.json for request in place.env.http_requests if request.method == "PUT"]

    [registered] = [commands for commands in sent if commands]
    menus = {command["name"]: command for command in registered if command["type"] == 3}
    assert set(menus) == {"Why this answer?", "Forget this"}
    assert all(command["contexts"] == [0, 1] for command in menus.values())
