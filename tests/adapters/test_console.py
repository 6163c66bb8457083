"""The console: one line, one message, one reply."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.console import ConsoleAdapter, ReplayClock, parse_stamped, pipe_reader
from bot.chat import Conversation, DeliveryFailed, IncomingMessage, OutgoingMessage
from memory.records import Scope
from tests.desk import Desk, summing_up
from tests.fakes import START, FakeClock
from tests.world import World, running

Write = Callable[[str], None]


class Chat:
    """A console over given lines; what comes in is answered by its own text in capitals, unless told otherwise."""

    def __init__(
        self,
        lines: Iterable[str],
        *,
        replay: bool = False,
        answers: bool = True,
        write: Write | None = None,
        tell: Write | None = None,
    ) -> None:
        self.accepted: list[IncomingMessage] = []
        self.arrived = asyncio.Event()
        self.written: list[str] = []
        self.answers = answers
        self.settled = asyncio.Event()
        reading = iter(lines)
        clock = ReplayClock(datetime(1990, 1, 1, tzinfo=UTC)) if replay else None
        self.adapter = ConsoleAdapter(
            name="ann",
            audience="guild:7",
            on_message=self.accept,
            settled=self.settled.wait,
            clock=clock or FakeClock(),
            read_line=lambda: next(reading, None),
            write=write or self.written.append,
            replay=clock,
            tell=tell or self.written.append,
        )

    async def accept(self, message: IncomingMessage) -> bool:
        self.accepted.append(message)
        self.arrived.set()
        if self.answers:
            await self.adapter.send(answer_to(message, message.text.upper()))
        return True


def answer_to(message: IncomingMessage, text: str) -> OutgoingMessage:
    return OutgoingMessage(conversation=message.conversation, text=text, in_reply_to=message.id, delivery_key="k")


async def test_each_line_is_a_message_of_the_person_and_gets_its_reply() -> None:
    chat = Chat(["hello", "", "bye"])
    await chat.adapter.run()
    assert chat.written == ["HELLO", "", "BYE"]
    first = chat.accepted[0]
    assert (first.person, first.author_name, first.sent_at) == ("console:ann", "ann", START)
    assert (first.conversation.key, first.conversation.audience) == ("console:ann:guild:7", "guild:7")
    assert chat.adapter.key == first.conversation.key
    assert len({message.id for message in chat.accepted}) == 3


async def test_the_next_line_waits_for_the_reply_to_its_own_message_not_for_one_still_owed() -> None:
    chat = Chat(["hello"], answers=False)
    running = asyncio.create_task(chat.adapter.run())
    await chat.arrived.wait()
    [asked] = chat.accepted
    await chat.adapter.send(replace(answer_to(asked, "of yesterday"), in_reply_to="an older one"))
    done, _ = await asyncio.wait([running], timeout=0)
    assert not done
    await chat.adapter.send(answer_to(asked, "of today"))
    await running
    assert chat.written == ["of yesterday", "of today"]


async def test_it_ends_with_a_broken_pipe_once_nobody_reads() -> None:
    def gone(text: str) -> None:
        raise BrokenPipeError

    chat = Chat(["one", "two"], answers=False, write=gone)
    running = asyncio.create_task(chat.adapter.run())
    await chat.arrived.wait()
    with pytest.raises(DeliveryFailed):
        await chat.adapter.send(answer_to(chat.accepted[0], "text"))
    with pytest.raises(BrokenPipeError):
        await running
    assert len(chat.accepted) == 1


async def test_a_replayed_line_is_said_at_its_time_and_the_clock_never_goes_back() -> None:
    chat = Chat(
        ["2023-05-08T13:56:00Z one", "no time", "2023-05-08T14:00:00+02:00 two", "2023-05-09T00:00:00Z\tthree 3"],
        replay=True,
    )
    await chat.adapter.run()
    assert [(message.text, message.sent_at) for message in chat.accepted] == [
        ("one", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("two", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("three 3", datetime(2023, 5, 9, tzinfo=UTC)),
    ]
    assert len(chat.written) == 4
    assert "no time with a zone" in chat.written[1]


@pytest.mark.parametrize("line", ["", "Hello there", "2023-05-08 Hello", "2023-05-08T13:56:00 Hello", "13:56Z Hello"])
def test_a_line_without_a_whole_time_is_refused_with_an_example(line: str) -> None:
    with pytest.raises(ValueError, match="2023-05-08T13:56:00Z Hello"):
        parse_stamped(line)


@pytest.mark.parametrize("stamp", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-07-20T20:17:00Z"])
def test_a_line_of_an_age_that_memory_cannot_stand_at_is_refused(stamp: str) -> None:
    with pytest.raises(ValueError, match="too far away"):
        parse_stamped(f"{stamp} Hello")


def test_a_pipe_is_read_line_by_line_whatever_its_bytes() -> None:
    read = pipe_reader(io.TextIOWrapper(io.BytesIO(b"one\ncaf\xe9\n\nlast without an end")))
    assert [read() for _ in range(5)] == ["one", "caf\ufffd", "", "last without an end", None]


async def test_a_terminal_shows_no_typing_and_is_never_written_to_twice() -> None:
    chat = Chat(["hello"])
    await chat.adapter.run()
    [message] = chat.accepted
    async with chat.adapter.typing(message.conversation, "m1"):
        assert await chat.adapter.delivered_as(answer_to(message, "HELLO")) is not None


async def test_a_line_with_a_slash_is_a_command_and_no_message(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        lines = [
            "I like tea",
            "/mydata export",
            "/mydata export",
            "/memory summary console:ann",
            "/hello",
            "/memory silence",
            "Are you there?",
            "/memory unsilence",
            "Are you there now?",
        ]
        written: list[str] = []
        told: list[str] = []
        console = ConsoleAdapter(
            name="ann",
            audience="guild:7",
            on_message=world.listener.guard(world.handler.accept),
            settled=world.handler.idle,
            clock=world.clock,
            read_line=lambda: lines.pop(0) if lines else None,
            write=written.append,
            commands=Desk.of(world).commands,
            tell=told.append,
            downloads=tmp_path,
        )
        world.handler.attach({console.key: console})
        await console.run()
        assert written[0] == "ok"
        assert "Written to" in written[1]
        assert "cannot be written: File exists." in written[2]
        assert written[3] == "There is no summary yet."
        assert "There is no command /hello." in written[4]
        assert [written[5][:11], *written[6:]] == ["I am silent", "I answer in this channel again.", "ok"]
        assert "console:ann" in (tmp_path / "keepsake-console-ann.json").read_text(encoding="utf-8")
        said = [message.text for message in await world.system.stores.recall.window(*window_of(world))]
        assert said == ["I like tea", "ok", "Are you there now?", "ok"]
        assert "/mydata show" in told[0]
        assert "silenced" in told[1]


async def test_what_a_command_asks_to_confirm_is_confirmed_by_writing_it_again(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summing_up("Ann likes tea.")) as world:
        await world.say("I like tea")
        await Desk.of(world).call("/mydata new")
        await world.system.settle()
        lines = ["/memory rollback console:ann 1", "/memory rollback console:ann 1 confirmed:yes"]
        written: list[str] = []
        console = ConsoleAdapter(
            name="ann",
            audience="dm",
            on_message=world.handler.accept,
            settled=world.handler.idle,
            clock=world.clock,
            read_line=lambda: lines.pop(0) if lines else None,
            write=written.append,
            commands=Desk.of(world).commands,
        )
        await console.run()
        assert "confirmed:yes behind it" in written[0]
        assert written[1].startswith("Done: version 2 of the summary")


def window_of(world: World) -> tuple[Scope, str]:
    where = Conversation(platform="console", key="console:ann:guild:7", audience="guild:7")
    return world.memory(where=where).place.scope, where.key


async def test_a_line_that_can_never_be_answered_does_not_hold_up_the_next() -> None:
    notices: list[str] = []
    chat = Chat(["hello", "again"], answers=False, tell=notices.append)
    chat.settled.set()
    await chat.adapter.run()
    assert [message.text for message in chat.accepted] == ["hello", "again"]
    assert len(notices) == 2
    assert chat.written == []
