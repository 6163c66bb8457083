"""An answer grows where people see it, at a gentle pace, and is there once whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot import replies
from bot.changes import Reaction
from bot.chat import DeliveryFailed, DeliveryRefused, OutgoingMessage
from bot.fair_slots import HearsWaiting
from bot.reply_stream import ReplyStream
from memory.errors import ModelUnavailable
from memory.messages import TextPart, ToolCall
from tests.fakes import FakeClock, Pauses, RecordingChannel, ScriptedModel, WritingModel
from tests.scenarios.test_procedures import judged, saving, with_a_report_written
from tests.world import World, running


class Page(RecordingChannel):
    """A channel on which one text stands, and a test waits for it."""

    def __init__(self) -> None:
        super().__init__(shows_drafts=True)
        self._changed = asyncio.Condition()

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        try:
            return await super().draft(message)
        finally:
            async with self._changed:
                self._changed.notify_all()

    async def shows(self, text: str) -> None:
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: bool(self.drafts) and self.drafts[-1].text == text)


@asynccontextmanager
async def writing(
    folder: Path, *answers: object, page: Page, clock: FakeClock | None = None
) -> AsyncIterator[tuple[World, WritingModel, Pauses]]:
    model, pauses = WritingModel(*answers), Pauses()  # type: ignore[arg-type]  # Scripts
    async with running(folder, chat_model=model, channel=page, sleep=pauses, clock=clock) as world:
        yield world, model, pauses


@pytest.fixture
def page() -> Page:
    return Page()


async def test_an_answer_grows_at_the_pace_and_its_draft_becomes_the_answer(tmp_path: Path, page: Page) -> None:
    async with writing(tmp_path, "One |two |three.", page=page) as (world, model, pauses):
        await world.handler.accept(world.incoming("Count", message_id="m1"))
        await model.wrote.wait()
        assert page.drafts == []
        await pauses.end_one()
        await page.shows("One")
        model.go_on()
        await pauses.end_one()
        await page.shows("One two")
        model.go_on()
        model.go_on()
        await world.handler.idle()

        [sent] = page.sent
        assert sent.text == "One two three."
        assert sent.draft == (f"draft-{sent.delivery_key}",)
        assert sent.recipient == "console:ann"
        assert set(pauses.asked) == {1.0}


async def test_an_answer_that_is_whole_within_the_pace_is_sent_in_one_piece(tmp_path: Path, page: Page) -> None:
    async with running(tmp_path, channel=page, sleep=Pauses()) as world:
        assert await world.say("Hello") == "ok"
        assert page.drafts == []
        assert page.sent[0].draft is None


async def test_the_words_after_a_tool_take_the_place_of_those_before(tmp_path: Path, page: Page) -> None:
    search = [TextPart(text="Let me look."), ToolCall(id="c1", name="recall_search", arguments={"query": "tea"})]
    async with writing(tmp_path, search, "Green tea, |I think.", page=page) as (world, model, pauses):
        await world.handler.accept(world.incoming("What do I drink?"))
        await pauses.end_one()
        await page.shows("Let me look.")
        model.go_on()
        await pauses.end_one()
        await page.shows("Green tea,")
        model.go_on()
        model.go_on()
        await world.handler.idle()
        assert page.texts == ["Green tea, I think."]


async def test_it_slows_down_where_the_platform_takes_no_more_and_the_answer_arrives(
    tmp_path: Path, page: Page
) -> None:
    page.failures = [DeliveryFailed("no network"), DeliveryFailed("429", retry_after=7.0)]
    async with writing(tmp_path, "One |two.", page=page) as (world, model, pauses):
        await world.handler.accept(world.incoming("Count"))
        for _ in range(3):
            await pauses.end_one()
        await page.shows("One")
        model.go_on()
        model.go_on()
        await world.handler.idle()
        assert pauses.asked[:3] == [1.0, 2.0, 7.0]
        assert page.texts == ["One two."]


async def test_where_drafts_are_refused_the_answer_is_sent_as_a_whole(tmp_path: Path, page: Page) -> None:
    page.failures = [DeliveryRefused("no drafts here")]
    async with writing(tmp_path, "One |two.", page=page) as (world, model, pauses):
        await world.handler.accept(world.incoming("Count"))
        await pauses.end_one()
        model.go_on()
        model.go_on()
        await world.handler.idle()
        assert page.drafts == []
        assert page.texts == ["One two."]


async def test_a_model_that_fails_in_the_middle_leaves_a_sentence_in_place_of_its_words(
    tmp_path: Path, page: Page
) -> None:
    async def fail(request: object) -> str:
        raise ModelUnavailable("gone")

    look = [TextPart(text="Let me look."), ToolCall(id="c1", name="recall_search", arguments={"query": "tea"})]
    async with writing(tmp_path, look, fail, page=page) as (world, model, pauses):
        await world.handler.accept(world.incoming("What do I drink?"))
        await pauses.end_one()
        await page.shows("Let me look.")
        model.go_on()
        await world.handler.idle()
        assert "can't reach my model" in page.texts[0]
        assert page.sent[0].draft == (f"draft-{page.sent[0].delivery_key}",)


async def broken_off(
    folder: Path, page: Page, clock: FakeClock, *, asked: str = "Count", reaction: Reaction | None = None
) -> None:
    """A process that stops while a draft is on the page, on which somebody has reacted."""
    async with writing(folder, "One |two.", page=page, clock=clock) as (world, _, pauses):
        await world.handler.accept(world.incoming(asked))
        await pauses.end_one()
        await page.shows("One")
        [item] = await world.system.stores.inbox.pending()
        while item.draft != (f"draft-{item.id:x}",):  # noted once it is shown
            await asyncio.sleep(0)
            [item] = await world.system.stores.inbox.pending()
        if reaction is not None:
            await world.following.apply(replace(reaction, id=f"draft-{item.id:x}"))
        await world.handler.drain(0)


async def test_after_a_crash_the_draft_becomes_the_answer_and_no_second_is_begun(tmp_path: Path, page: Page) -> None:
    clock = FakeClock()
    await broken_off(tmp_path, page, clock)
    async with running(tmp_path, channel=page, clock=clock, model=ScriptedModel("All of it.")) as world:
        await world.handler.idle()
        [sent] = page.sent
        assert (sent.text, sent.draft) == ("All of it.", (f"draft-{sent.delivery_key}",))
        assert len(page.drafts) == 1
        assert await world.system.stores.inbox.pending() == []


async def test_a_draft_that_is_too_old_to_be_answered_is_closed_with_a_sentence(tmp_path: Path, page: Page) -> None:
    clock = FakeClock()
    await broken_off(tmp_path, page, clock)
    clock.advance(minutes=16)
    async with running(tmp_path, channel=page, clock=clock) as world:
        await world.handler.idle()
        assert page.texts == [replies.BROKEN_OFF]
        assert page.sent[0].draft == (f"draft-{page.sent[0].delivery_key}",)


async def test_before_the_first_draft_is_shown_the_inbox_says_that_one_may_be_there(tmp_path: Path) -> None:
    class Looking(Page):
        world: World

        async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
            [item] = await self.world.system.stores.inbox.pending()
            self.noted = item.draft
            return await super().draft(message)

    page = Looking()
    async with writing(tmp_path, "One |two.", page=page) as (world, model, pauses):
        page.world = world
        await world.handler.accept(world.incoming("Count"))
        await pauses.end_one()
        await page.shows("One")
        assert page.noted == ()
        model.go_on()
        model.go_on()
        await world.handler.idle()


async def test_nothing_is_shown_before_the_end_where_streaming_is_switched_off(tmp_path: Path, page: Page) -> None:
    model, pauses = WritingModel("One |two."), Pauses()
    async with running(tmp_path, chat_model=model, channel=page, sleep=pauses, drafts=False) as world:
        await world.handler.accept(world.incoming("Count"))
        model.go_on()
        model.go_on()
        await world.handler.idle()
        assert (page.texts, page.drafts, pauses.asked) == (["One two."], [], [])


async def test_who_has_to_wait_for_the_model_sees_the_place_in_line_until_the_answer_comes() -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()
    pauses = Pauses()

    stream = ReplyStream(shown.put, sleep=pauses)
    async with stream.growing():
        call = stream.begin_call()
        assert isinstance(call, HearsWaiting)
        await call.waits(3)
        await pauses.end_one()
        assert await shown.get() == "(Many people are asking me at once. You are number 3 in line.)"
        await call("Hello.")
        await pauses.end_one()
        assert await shown.get() == "Hello."


async def test_the_place_in_line_never_takes_the_place_of_what_is_written_already() -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()
    pauses = Pauses()

    stream = ReplyStream(shown.put, sleep=pauses)
    async with stream.growing():
        await stream.begin_call()("Let me see. ")
        again = stream.begin_call()
        assert isinstance(again, HearsWaiting)
        await again.waits(2)
        await pauses.end_one()
        assert await shown.get() == "Let me see."


async def test_a_thumb_on_an_answer_that_is_still_being_written_counts_once_it_is_there(
    tmp_path: Path, page: Page
) -> None:
    async with running(tmp_path, model=saving()) as world:
        thumb = await with_a_report_written(world)
    async with writing(tmp_path, "The |report.", page=page) as (world, model, pauses):
        await world.handler.accept(world.incoming("Please write the weekly report again.", message_id="again"))
        await pauses.end_one()
        await page.shows("The")
        up = replace(thumb, id=f"draft-{page.drafts[0].delivery_key}")
        down = replace(up, sign="👎")
        for reaction in (down, replace(down, taken_back=True), up, replace(down, person="console:bob")):
            await world.following.apply(reaction)
        assert await judged(world) == (0, None)
        model.go_on()
        model.go_on()
        await world.handler.idle()
        assert await judged(world) == (1, 1.0)


@pytest.mark.parametrize("arrived", [False, True])
async def test_a_thumb_on_a_draft_counts_after_a_crash_too_and_so_does_one_that_comes_later(
    tmp_path: Path, page: Page, arrived: bool
) -> None:
    clock = FakeClock()
    async with running(tmp_path, model=saving(), clock=clock) as world:
        thumb = await with_a_report_written(world)
    clock.advance(minutes=1)
    await broken_off(tmp_path, page, clock, asked="Please write the weekly report again.", reaction=thumb)
    draft = f"draft-{page.drafts[0].delivery_key}"
    if arrived:  # and the process died before it could note that
        page.there.add(page.drafts[0].delivery_key)
    async with running(tmp_path, channel=page, clock=clock) as world:
        await world.handler.idle()
        assert len(page.sent) == (not arrived)
        assert await judged(world) == (1, 1.0)
        for sign in ("👍", "👎"):
            await world.following.apply(replace(thumb, id=draft, sign=sign, taken_back=sign == "👍"))
        assert await judged(world) == (1, 0.0)
