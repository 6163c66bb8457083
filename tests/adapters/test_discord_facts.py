"""The commands around facts, on Discord."""

from __future__ import annotations

from pathlib import Path

from bot.command_table import COMMAND_TABLE
from tests.adapters.discord_server import server
from tests.desk import learning

ROME = {"text": "User lives in Rome", "subject": "user", "predicate": "lives_in", "object": "Rome"}


async def test_a_person_sees_facts_asks_why_and_forgets_and_an_admin_reverts(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE, memory_model=learning({"live in": [ROME]})) as place:
        await place.say(place.ann, "I live in Rome.")
        said = place.channel.history(viewer=place.ann)[0].id
        listed = await place.ann.slash(place.channel, "mydata facts")
        await place.say(place.ann, "The user lives where?")
        why = await place.ann.slash(place.channel, "mydata why")
        [offered] = await place.ann.autocomplete(place.channel, "mydata forget", "fact", "rome")
        forgotten = await place.ann.slash(place.channel, "mydata forget", fact=offered["value"])
        empty = await place.ann.slash(place.channel, "mydata facts")
        changes = await place.admin.autocomplete(place.channel, "memory revert", "revision", "", person=place.ann)
        revision = changes[0]["value"]
        asked = await place.admin.slash(place.channel, "memory revert", person=place.ann, revision=revision)
        await place.admin.click(asked.response, label="Revert")
        back = await place.ann.slash(place.channel, "mydata facts")

        assert "User lives in Rome" in listed.response.content
        assert f"https://discord.com/channels/{place.guild.id}/{place.channel.id}/{said}" in why.response.content
        assert "User lives in Rome" in why.response.content
        assert offered["name"] == "User lives in Rome"
        assert "Forgotten" in forgotten.response.content
        assert "no facts" in empty.response.content
        assert "forget: User lives in Rome" in changes[0]["name"]
        assert "forgotten -> current" in asked.response.content
        assert "User lives in Rome" in back.response.content
        assert all("User lives" not in seen for seen in place.seen_by(place.bob))
