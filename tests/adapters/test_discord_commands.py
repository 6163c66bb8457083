"""Slash commands, with the real discord.py, inside a simulated Discord that enforces what Discord enforces."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import discord
import pytest
from simcord import SetupError
from simcord.env import Env

from bot.chat import Conversation
from bot.commands import Argument, Attachment, Command, CommandReply, Group, Invocation, Kind, Services, Suggestion
from memory.errors import InvalidInput
from tests.adapters.discord_server import Client, server


@dataclass(slots=True, kw_only=True)
class Probe:
    """A table of two commands that answer what a test wants and keep how they were called."""

    reply: Callable[[Invocation], Awaitable[CommandReply]]
    suggestions: Sequence[Suggestion] = ()
    calls: list[Invocation] = field(default_factory=list)

    async def _run(self, services: Services, invocation: Invocation) -> CommandReply:
        self.calls.append(invocation)
        return await self.reply(invocation)

    async def _suggest(self, services: Services, invocation: Invocation) -> Sequence[Suggestion]:
        self.calls.append(invocation)
        return self.suggestions

    @property
    def table(self) -> tuple[Command, ...]:
        note = Argument(name="note", help="What to note.", required=False)
        person = Argument(name="person", help="Whose.", kind=Kind.PERSON)
        version = Argument(
            name="version", help="Which." + " Choose." * 20, kind=Kind.NUMBER, required=False, suggest=self._suggest
        )
        return (
            Command(group=Group.MYDATA, name="show", help="Show it.", run=self._run, arguments=(note,)),
            Command(group=Group.MEMORY, name="roll-back", help="Go back.", run=self._run, arguments=(person, version)),
        )


def answering(text: str, **more: object) -> Probe:
    async def reply(invocation: Invocation) -> CommandReply:
        return CommandReply(text=text, **more)  # type: ignore[arg-type]

    return Probe(reply=reply)


# rendering


async def test_a_command_is_acknowledged_at_once_and_answered_for_its_caller_alone(tmp_path: Path) -> None:
    probe = answering("Only you see this.")
    async with server(tmp_path, probe.table) as place:
        result = await place.ann.slash(place.channel, "mydata show", note="hello")

        assert result.ephemeral
        assert place.seen_by(place.ann)[-1] == "Only you see this."
        assert place.seen_by(place.bob) == []
    [call] = probe.calls
    assert call.arguments == {"note": "hello"}
    assert call.caller.person == f"discord:{place.ann.id}"
    assert call.caller.admin_of == frozenset()
    assert call.conversation.key == f"discord:{place.channel.id}"
    assert call.conversation.audience == f"guild:{place.guild.id}"


async def test_a_slow_command_is_acknowledged_before_it_begins(tmp_path: Path) -> None:
    async def slow(invocation: Invocation) -> CommandReply:
        await asyncio.sleep(600)
        return CommandReply(text="At last.")

    async with server(tmp_path, Probe(reply=slow).table) as place:
        result = await place.ann.slash(place.channel, "mydata show")
        assert result.deferred
        assert result.ephemeral
        await place.env.advance_time(601)

        assert place.seen_by(place.ann) == ["At last."]
        assert place.seen_by(place.bob) == []


async def test_own_data_is_also_reached_in_a_direct_chat_and_admin_commands_are_not(tmp_path: Path) -> None:
    probe = answering("Here.")
    async with server(tmp_path, probe.table) as place:
        carol = place.env.create_user("carol")
        result = await carol.slash("mydata show")
        with pytest.raises(SetupError):
            await carol.slash("memory roll-back", person=carol)

        assert result.response.content == "Here."
        assert carol.dm_channel is not None
    [call] = probe.calls
    assert call.conversation == Conversation(platform="discord", key=f"discord:{carol.dm_channel.id}", audience="dm")


async def test_a_hidden_channel_is_a_place_of_its_own(tmp_path: Path) -> None:
    probe = answering("Here.")
    async with server(tmp_path, probe.table) as place:
        hidden = {
            place.guild.default_role: discord.PermissionOverwrite(view_channel=False),
            place.ann: discord.PermissionOverwrite(view_channel=True),
        }
        den = place.guild.create_text_channel("den", overwrites=hidden)
        await place.ann.slash(den, "mydata show")

    [call] = probe.calls
    assert call.conversation.audience == f"channel:{den.id}"
    assert call.conversation.community == f"guild:{place.guild.id}"


# answers


async def test_a_long_answer_comes_in_parts(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} of the answer" for number in range(200))
    async with server(tmp_path, answering(text).table) as place:
        await place.ann.slash(place.channel, "mydata show")
        parts = place.seen_by(place.ann)
        assert place.seen_by(place.bob) == []

    assert 2 <= len(parts) <= 5
    assert "\n".join(parts) == text


async def test_an_endless_answer_comes_as_its_beginning_and_a_file(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} of the answer" for number in range(2_000))
    file = Attachment(name="more.json", content=b"{}")
    async with server(tmp_path, answering(text, attachment=file).table) as place:
        result = await place.ann.slash(place.channel, "mydata show")
        contents = {found.filename: await found.read() for found in result.response.attachments}

        assert len(place.seen_by(place.ann)) == 1
        assert len(result.response.content) <= 2_000
        assert result.response.content.startswith("line 0 of the answer\nline 1")
        assert "attached" in result.response.content
    assert contents == {"answer.md": text.encode(), "more.json": b"{}"}


async def test_a_file_goes_with_an_answer_that_has_no_text(tmp_path: Path) -> None:
    async with server(tmp_path, answering("", attachment=Attachment(name="a.json", content=b"[1]")).table) as place:
        result = await place.ann.slash(place.channel, "mydata show")
        [found] = result.response.attachments

        assert (found.filename, await found.read()) == ("a.json", b"[1]")


async def test_a_file_too_large_for_discord_is_compressed_or_refused_in_words(tmp_path: Path) -> None:
    megabytes = 26 << 20
    repetitive = Attachment(name="export.json", content=b"[" + b" " * megabytes + b"]")
    noise = Attachment(name="export.json", content=random.Random(1).randbytes(megabytes))
    for attachment, names in ((repetitive, ["export.json.gz"]), (noise, [])):
        async with server(tmp_path, answering("Your data.", attachment=attachment).table) as place:
            result = await place.ann.slash(place.channel, "mydata show")
            files = {found.filename: await found.read() for found in result.response.attachments}
            said = "\n".join(place.seen_by(place.ann))

        assert list(files) == names
        assert all(gzip.decompress(content) == repetitive.content for content in files.values())
        assert ("too large" in said) == (not names)


# who may


async def test_an_admin_is_known_as_such_and_options_are_passed_on(tmp_path: Path) -> None:
    probe = answering("Done.")
    async with server(tmp_path, probe.table) as place:
        await place.admin.slash(place.channel, "memory roll-back", person=place.ann, version=3)

    [call] = probe.calls
    assert call.arguments == {"person": f"discord:{place.ann.id}", "version": "3"}
    assert call.caller.admin_of == {f"guild:{place.guild.id}"}


async def test_a_member_is_not_offered_the_admin_commands(tmp_path: Path) -> None:
    async with server(tmp_path, answering("Done.").table) as place:
        with pytest.raises(SetupError):
            await place.ann.slash(place.channel, "memory roll-back", person=place.bob)


async def test_a_member_let_through_by_the_servers_settings_is_refused_all_the_same(tmp_path: Path) -> None:
    probe = answering("Done.")
    async with server(tmp_path, probe.table) as place:
        await place.open_to_everyone()
        result = await place.ann.slash(place.channel, "memory roll-back", person=place.bob)

        assert result.ephemeral
        assert "Only an admin" in result.response.content
    assert probe.calls == []


async def test_what_a_channel_grants_makes_nobody_an_admin_of_the_server(tmp_path: Path) -> None:
    probe = answering("Done.")
    async with server(tmp_path, probe.table) as place:
        await place.open_to_everyone()
        grant = {place.ann: discord.PermissionOverwrite(manage_guild=True)}
        channel = place.guild.create_text_channel("anns", overwrites=grant)
        await place.ann.slash(channel, "memory roll-back", person=place.bob)

    assert probe.calls == []


# confirmation


def confirming() -> Probe:
    async def reply(invocation: Invocation) -> CommandReply:
        if invocation.confirmed:
            return CommandReply(text="Rolled back.")
        return CommandReply(text="This would change:\n- tea\n+ coffee", confirm="Roll back")

    return Probe(reply=reply)


async def test_a_confirmed_command_runs_again_as_confirmed_and_its_button_disappears(tmp_path: Path) -> None:
    probe = confirming()
    async with server(tmp_path, probe.table) as place:
        asked = await place.admin.slash(place.channel, "memory roll-back", person=place.ann, version=1)
        assert asked.response.message.components
        result = await place.admin.click(asked.response, label="Roll back")

        assert [found.content for found in result.followups] == ["Rolled back."]
        assert all(found.ephemeral for found in result.followups)
        assert asked.response.message.components == []
        assert place.seen_by(place.ann) == []
    first, second = probe.calls
    assert (first.confirmed, second.confirmed) == (False, True)
    assert second.arguments == first.arguments


async def test_a_button_not_pressed_disappears(tmp_path: Path) -> None:
    probe = confirming()
    async with server(tmp_path, probe.table) as place:
        asked = await place.admin.slash(place.channel, "memory roll-back", person=place.ann)
        await place.env.advance_time(601)

        assert asked.response.message.components == []
    assert len(probe.calls) == 1


async def test_who_is_no_admin_any_more_cannot_confirm(tmp_path: Path) -> None:
    probe = confirming()
    async with server(tmp_path, probe.table) as place:
        asked = await place.admin.slash(place.channel, "memory roll-back", person=place.ann)
        [role] = [role for role in place.env.bot.get_guild(place.guild.id).roles if role.name == "Admins"]
        await role.edit(permissions=discord.Permissions.none())
        result = await place.admin.click(asked.response, label="Roll back")

        assert "Only an admin" in result.followups[0].content
    assert len(probe.calls) == 1


# suggestions


async def test_values_are_suggested_that_hold_what_was_typed(tmp_path: Path) -> None:
    probe = answering("")
    probe.suggestions = [
        Suggestion(value="1", label="first " + "x" * 200),
        *(Suggestion(value=str(number), label=f"version {number}") for number in range(2, 60)),
    ]
    async with server(tmp_path, probe.table) as place:
        every = await place.admin.autocomplete(place.channel, "memory roll-back", "version", "", person=place.ann)
        some = await place.admin.autocomplete(place.channel, "memory roll-back", "version", "57", person=place.ann)

    assert len(every) == 25
    assert len(every[0]["name"]) == 100
    assert some == [{"name": "version 57", "value": 57}]
    assert probe.calls[0].arguments == {"person": f"discord:{place.ann.id}"}


async def test_nothing_is_suggested_to_a_member(tmp_path: Path) -> None:
    probe = answering("")
    probe.suggestions = [Suggestion(value="1", label="secret")]
    async with server(tmp_path, probe.table) as place:
        await place.open_to_everyone()
        offered = await place.ann.autocomplete(place.channel, "memory roll-back", "version", "", person=place.bob)

    assert offered == []
    assert probe.calls == []


# what can go wrong


async def test_a_broken_command_is_admitted_to_its_caller_alone(tmp_path: Path) -> None:
    async def broken(invocation: Invocation) -> CommandReply:
        raise RuntimeError("a secret detail")

    async with server(tmp_path, Probe(reply=broken).table) as place:
        result = await place.ann.slash(place.channel, "mydata show")

        assert result.ephemeral
        assert "went wrong" in result.response.content
        assert "secret" not in result.response.content


async def test_an_error_meant_for_people_reaches_the_caller(tmp_path: Path) -> None:
    async def refusing(invocation: Invocation) -> CommandReply:
        raise InvalidInput("There is no version 9.")

    async with server(tmp_path, Probe(reply=refusing).table) as place:
        result = await place.ann.slash(place.channel, "mydata show")

        assert "There is no version 9." in result.response.content


async def test_an_answer_that_discord_refuses_is_admitted(tmp_path: Path) -> None:
    async with server(tmp_path, answering("odd").table) as place:
        place.env.inject_error("POST", "/webhooks/*", status=400, code=50035)
        await place.ann.slash(place.channel, "mydata show")

        assert len(place.env.errors) == 1
        [said] = place.seen_by(place.ann)
    assert "went wrong" in said


async def test_a_command_that_discord_has_forgotten_is_not_run(tmp_path: Path) -> None:
    probe = answering("too late")
    async with server(tmp_path, probe.table) as place:
        place.env.inject_error("POST", "/interactions/*", status=404, code=10062)
        await place.ann.slash(place.channel, "mydata show")

        assert len(place.env.errors) == 1

    assert probe.calls == []


async def test_an_answer_after_fifteen_minutes_goes_into_the_callers_direct_chat(tmp_path: Path) -> None:
    async def late(invocation: Invocation) -> CommandReply:
        await asyncio.sleep(16 * 60)
        return CommandReply(text="At last.", attachment=Attachment(name="a.json", content=b"[1]"))

    async with server(tmp_path, Probe(reply=late).table) as place:
        await place.ann.slash(place.channel, "mydata show")
        await place.env.advance_time(17 * 60)

        assert place.seen_by(place.ann) == [""]
        direct = [request for request in place.env.http_requests if request.path.endswith("/users/@me/channels")]
        assert [request.json["recipient_id"] for request in direct] == [place.ann.id]
        said = [
            request.json["content"]
            for request in place.env.http_requests
            if request.method == "POST" and request.path.endswith("/messages") and request.json.get("content")
        ]
        assert said[-1] == "At last."
        assert place.seen_by(place.bob) == []


async def test_a_command_that_is_gone_asks_to_reload(tmp_path: Path) -> None:
    probe = answering("")
    async with server(tmp_path, probe.table) as place:
        place.env.bot.tree.remove_command("mydata")
        result = await place.ann.slash(place.channel, "mydata show")

        assert len(place.env.errors) == 1
        assert result.ephemeral
        assert "Reload" in result.response.content


# registration


def registrations(env: Env) -> int:
    return sum(request.method == "PUT" and request.path.endswith("/commands") for request in env.http_requests)


async def test_commands_are_registered_only_where_discord_knows_others(tmp_path: Path) -> None:
    probe = answering("")
    async with server(tmp_path, probe.table) as place:
        assert registrations(place.env) == 1
        await place.env.restart_bot(Client(probe.table, place.world))
        assert registrations(place.env) == 1
        await place.env.restart_bot(Client(probe.table[:1], place.world))
        assert registrations(place.env) == 2
        [left] = await place.env.bot.tree.fetch_commands()

    assert left.name == "mydata"


async def test_what_is_registered_is_what_the_table_says(tmp_path: Path) -> None:
    async with server(tmp_path, answering("").table) as place:
        [sent] = [request.json for request in place.env.http_requests if request.method == "PUT"]

    mydata, memory = sent
    assert (mydata["name"], mydata["contexts"], mydata["default_member_permissions"]) == ("mydata", [0, 1], None)
    assert (memory["name"], memory["contexts"], memory["default_member_permissions"]) == ("memory", [0], 1 << 5)
    assert mydata["integration_types"] == memory["integration_types"] == [0]
    [roll_back] = memory["options"]
    assert (roll_back["name"], roll_back["description"]) == ("roll-back", "Go back.")
    assert [(option["name"], option["type"], option["required"]) for option in roll_back["options"]] == [
        ("person", discord.AppCommandOptionType.user.value, True),
        ("version", discord.AppCommandOptionType.integer.value, False),
    ]
