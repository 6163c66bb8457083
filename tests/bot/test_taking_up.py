"""Messages are taken up once and in order, whatever happens at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.world import running

PEOPLE = 8
EACH = 3


async def test_looking_for_what_is_left_while_people_write_answers_nothing_twice(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        finished = asyncio.Event()

        async def look_all_the_time() -> None:
            while not finished.is_set():
                await world.handler.recover()

        looking = [asyncio.create_task(look_all_the_time()) for _ in range(4)]
        said = [
            world.incoming(f"message {number}", who=f"person{who}") for number in range(EACH) for who in range(PEOPLE)
        ]
        await asyncio.gather(*map(world.handler.accept, said))
        await world.handler.idle()
        finished.set()
        await asyncio.gather(*looking)
        await world.handler.idle()

        assert sorted(sent.in_reply_to for sent in world.channel.sent) == sorted(message.id for message in said)


async def test_messages_that_come_all_at_once_are_answered_in_the_order_they_came(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        said = [world.incoming(f"message {number}") for number in range(30)]
        await asyncio.gather(*map(world.handler.accept, said))
        await world.handler.idle()

        assert [sent.in_reply_to for sent in world.channel.sent] == [message.id for message in said]
