"""The commands there really are, called on Discord by members and admins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from simcord import SetupError
from simcord.actors import MemberActor

from bot.command_table import COMMAND_TABLE
from bot.commands import Group
from tests.adapters.discord_server import Server, server
from tests.desk import summing_up
from tests.fakes import ScriptedModel


async def with_two_summaries(place: Server) -> None:
    for said in ("I like tea.", "I like coffee now."):
        await place.say(place.ann, said)
        await place.admin.slash(place.channel, "memory end-session", person=place.ann)
        await place.world.system.settle()


def digests() -> ScriptedModel:
    return summing_up("Ann likes tea.", "Ann likes coffee.")


async def test_discord_takes_the_table_as_it_is(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE) as place:
        offered = {
            f"{command.name} {option.name}"
            for command in await place.env.bot.tree.fetch_commands()
            for option in command.options
        }
    assert offered == {f"{row.group} {row.name}" for row in COMMAND_TABLE}


async def test_an_admin_rolls_a_summary_back_and_the_person_sees_who_did(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE, memory_model=digests()) as place:
        await with_two_summaries(place)
        versions = await place.admin.slash(place.channel, "memory summary", person=place.ann)
        offered = await place.admin.autocomplete(place.channel, "memory rollback", "version", "", person=place.ann)
        asked = await place.admin.slash(place.channel, "memory rollback", person=place.ann, version=1)
        result = await place.admin.click(asked.response, label="Roll back")
        await place.say(place.ann, "What do I like?")
        audit = await place.ann.slash(place.channel, "mydata audit")

        assert "coffee" in versions.response.content
        assert [choice["value"] for choice in offered] == [2, 1]
        assert "-Ann likes coffee." in asked.response.content.replace("- ", "-")
        assert "version 3" in result.followups[0].content
        prompt = str(place.world.model.requests[-1].system)
        assert "Ann likes tea." in prompt
        assert "Ann likes coffee." not in prompt
        assert f"discord:{place.admin.id}" in audit.response.content
        assert "rollback" in audit.response.content
        assert all("Ann likes" not in seen for seen in place.seen_by(place.bob))


async def test_a_member_reads_nobodys_memory(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE, memory_model=digests()) as place:
        await with_two_summaries(place)
        with pytest.raises(SetupError):
            await place.bob.slash(place.channel, "memory summary", person=place.ann)
        await place.open_to_everyone()
        for row in COMMAND_TABLE:
            if row.group is Group.MEMORY and row.name in {"view", "summary", "audit", "end-session"}:
                result = await place.bob.slash(place.channel, f"memory {row.name}", person=place.ann)
                assert "Only an admin" in result.response.content
        offered = await place.bob.autocomplete(place.channel, "memory rollback", "version", "", person=place.ann)

        assert offered == []


async def test_an_admin_of_one_server_reads_nothing_of_another_nor_of_direct_chats(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE, memory_model=digests()) as place:
        await with_two_summaries(place)
        await place.ann.send_dm("I have a secret.")
        await place.world.handler.idle()
        master = place.env.create_user("master")
        elsewhere = place.env.create_guild("Elsewhere", owner=master)
        ann = elsewhere.add_member(place.ann.user)
        channel = elsewhere.create_text_channel("general")
        result = await MemberActor(place.env, elsewhere, master).slash(channel, "memory view", person=ann)
        offered = await place.admin.autocomplete(place.channel, "memory view", "audience", "", person=place.ann)

        assert "Nothing is remembered" in result.response.content
        assert [choice["value"] for choice in offered] == [f"guild:{place.guild.id}"]


async def test_everyone_gets_their_data_as_a_file_also_in_a_direct_chat(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE) as place:
        carol = place.env.create_user("carol")
        await carol.send_dm("I live in Oslo.")
        await place.world.handler.idle()
        result = await carol.slash("mydata export")
        [file] = result.response.attachments
        content = await file.read()

        assert file.filename.endswith(".json")
        assert "I live in Oslo." in content.decode()
        assert isinstance(json.loads(content), dict)


async def test_everything_of_a_person_is_erased_by_their_own_word(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE) as place:
        await place.say(place.ann, "I live in Oslo.")
        refused = await place.ann.slash(place.channel, "mydata erase", confirm="yes")
        await place.ann.slash(place.channel, "mydata erase", confirm="ERASE")
        shown = await place.ann.slash(place.channel, "mydata show")

        assert "Nothing was erased" in refused.response.content
        assert "remember nothing" in shown.response.content
