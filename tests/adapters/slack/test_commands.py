"""Commands on Slack: acknowledged at once, run for whom they are for, answered to the caller alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp
import pytest

from adapters.slack_adapter import SlackAdapter
from bot.chat import Conversation, OutgoingMessage
from bot.commands import (
    Argument,
    Attachment,
    Command,
    CommandReply,
    Commands,
    Group,
    Invocation,
    Services,
)
from bot.web import build_app, serve
from memory.system import MemorySystem
from tests.adapters.slack.running import Inbox, started
from tests.desk import usual_settings
from tests.doubles import slack as double
from tests.doubles.slack import BOT_USER, SIGNING_SECRET, SlackDouble
from tests.fakes import FakeClock

MENTION = f"<@{BOT_USER}>"
THREAD = "1772442009.000100"


class Recorder:
    """The handler of a little table, which keeps what it was called with."""

    def __init__(self) -> None:
        self.calls: list[Invocation] = []
        self.reply = CommandReply(text="Here you are.")
        self.called = asyncio.Event()
        self.gate: asyncio.Event | None = None

    async def __call__(self, services: Services, call: Invocation) -> CommandReply:
        self.calls.append(call)
        self.called.set()
        if self.gate is not None:
            await self.gate.wait()
        return self.reply if not call.confirmed else CommandReply(text="Confirmed.")

    def commands(self, clock: FakeClock) -> Commands:
        person = Argument(name="person", help="Whose.")
        table = (
            Command(group=Group.MYDATA, name="show", help="Shows.", run=self),
            Command(group=Group.MYDATA, name="new", help="Anew.", run=self, in_conversation=True),
            Command(group=Group.MEMORY, name="view", help="Views.", run=self, arguments=(person,)),
        )
        no_memory = cast("MemorySystem", None)  # this table works without
        return Commands(table, Services(system=no_memory, settings=usual_settings(), clock=clock))


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def adapter(slack: SlackDouble, inbox: Inbox, ran: Recorder, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    slack.add_user("UADMIN", "Ada", is_admin=True)
    async with started(slack, inbox, commands=ran.commands(clock), clock=clock) as adapter:
        yield adapter


async def slash(slack: SlackDouble, user: str, channel: str, text: str, **fields: str) -> None:
    await (await slack.deliver_payload("slash_commands", slack.slash(user, channel, text, **fields))).wait()


async def press(slack: SlackDouble, user: str, channel: str, shown: dict[str, Any]) -> None:
    await (await slack.deliver_payload("interactive", slack.press(user, channel, shown))).wait()


async def write(slack: SlackDouble, user: str, channel: str, text: str, **fields: Any) -> dict[str, Any]:
    event = slack.message(user, channel, text, **fields)
    await (await slack.deliver(event)).wait()
    return event


async def responses(slack: SlackDouble, number: int) -> list[str]:
    await slack.wait_for(lambda: len(slack.responses) >= number)
    assert all(response["response_type"] == "ephemeral" for response in slack.responses)
    return [shown(response) for response in slack.responses]


def shown(message: dict[str, Any]) -> str:
    return "\n".join(block["text"]["text"] for block in message["blocks"] if block["type"] == "section")


async def test_a_command_is_acknowledged_before_it_is_done(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    ran.gate = asyncio.Event()
    delivery = await slack.deliver_payload("slash_commands", slack.slash("U1", "D1", "/mydata show"))
    await delivery.wait()
    assert slack.responses == []
    ran.gate.set()
    assert await responses(slack, 1) == ["Here you are."]


async def test_a_call_says_who_called_and_where(slack: SlackDouble, adapter: SlackAdapter, ran: Recorder) -> None:
    for channel in ("D1", "C1", "G1", "C9"):
        await slash(slack, "U1", channel, "/mydata show")
    await responses(slack, 4)
    places = {(call.conversation.key, call.conversation.audience, call.conversation.community) for call in ran.calls}
    assert places == {
        ("slack:T1:D1", "dm", None),
        ("slack:T1:C1", "team:T1", None),
        ("slack:T1:G1", "channel:G1", "team:T1"),
        ("slack:T1:C9", "channel:C9", None),
    }
    assert {(call.caller.person, call.caller.name) for call in ran.calls} == {("slack:T1:U1", "Ann")}


@pytest.mark.parametrize("text", ["/mydata", "/mydata help", "/mydata HELP"])
async def test_help_lists_the_table(slack: SlackDouble, adapter: SlackAdapter, text: str) -> None:
    await slash(slack, "U1", "C1", text)
    [answer] = await responses(slack, 1)
    assert "`/mydata show`: Shows." in answer
    assert "/memory" not in answer


@pytest.mark.parametrize(
    "written",
    ["<@U2>", "<@U2|bea>", "person:<@U2>", "slack:T1:U2"],
)
async def test_a_person_is_named_by_a_mention(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, written: str
) -> None:
    await slash(slack, "UADMIN", "C1", f"/memory view {written}")
    await responses(slack, 1)
    assert [call.arguments for call in ran.calls] == [{"person": "slack:T1:U2"}]


@pytest.mark.parametrize("flag", ["is_admin", "is_owner", "is_primary_owner"])
@pytest.mark.parametrize("channel", ["C1", "G1", "D1"])
async def test_admins_of_the_workspace_may_call_admin_commands(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, flag: str, channel: str
) -> None:
    slack.add_user("U7", "Gil", **{flag: True})
    await slash(slack, "U7", channel, "/memory view <@U1>")
    assert await responses(slack, 1) == ["Here you are."]
    assert ran.calls[0].caller.admin_of == {"team:T1"}


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"is_admin": "yes"},
        {"is_admin": True, "is_restricted": True},
        {"is_admin": True, "is_ultra_restricted": True},
        {"is_admin": True, "is_stranger": True},
        {"is_admin": True, "deleted": True},
        {"is_admin": True, "team_id": "T2"},
    ],
    ids=str,
)
async def test_nobody_else_may(slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, flags: dict[str, Any]) -> None:
    slack.add_user("U7", "Gil", **flags)
    await slash(slack, "U7", "C1", "/memory view <@U1>")
    await write(slack, "U7", "C1", f"{MENTION} !memory view <@U1>", channel_type="channel", thread_ts=THREAD)
    [answer] = await responses(slack, 1)
    await slack.wait_for(lambda: len(slack.ephemeral) == 1)
    assert "Only an admin" in answer
    assert "Only an admin" in shown(slack.ephemeral[0])
    assert ran.calls == []


async def test_an_admin_of_another_workspace_is_none_here(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>", team_id="T2")
    await write(
        slack, "UADMIN", "C1", f"{MENTION} !memory view <@U1>", channel_type="channel", user_team="T2", thread_ts=THREAD
    )
    await slack.wait_for(lambda: len(slack.ephemeral) == 1)
    assert "Only an admin" in (await responses(slack, 1))[0]
    assert ran.calls == []


@pytest.mark.parametrize(
    "trouble",
    [
        [double.error("ratelimited")] * 2,
        [double.rate_limited(5)] * 2,
        [double.server_error()] * 2,
        [double.cut()] * 4,  # what reads only is asked for once more by the client when the connection breaks
    ],
)
async def test_while_slack_cannot_say_who_is_an_admin_nobody_is(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, trouble: list[double.Scripted]
) -> None:
    slack.script("users.info", *trouble)
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    assert "Only an admin" in (await responses(slack, 1))[0]
    assert ran.calls == []
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    assert (await responses(slack, 2))[1] == "Here you are."


async def test_an_admin_is_looked_up_once_a_minute(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, clock: FakeClock
) -> None:
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    await responses(slack, 1)
    asked = len(slack.called("users.info"))
    slack.add_user("UADMIN", "Ada", is_admin=False)
    clock.advance(seconds=59)
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    assert (await responses(slack, 2))[1] == "Here you are."
    assert len(slack.called("users.info")) == asked
    clock.advance(seconds=1)
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    assert "Only an admin" in (await responses(slack, 3))[2]


async def test_in_a_thread_a_command_is_a_message_that_is_not_stored(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, inbox: Inbox
) -> None:
    await write(slack, "U1", "C1", f"{MENTION} !mydata show", channel_type="channel", thread_ts=THREAD)
    await slack.wait_for(lambda: len(slack.ephemeral) == 1)
    [answer] = slack.ephemeral
    assert (answer["channel"], answer["user"], answer["thread_ts"]) == ("C1", "U1", THREAD)
    assert shown(answer) == "Here you are."
    assert ran.calls[0].conversation.key == f"slack:T1:C1:{THREAD}"
    assert inbox.messages == []
    assert slack.posts() == []


async def test_in_a_direct_chat_it_is_answered_like_a_message(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, inbox: Inbox
) -> None:
    await write(slack, "U1", "D1", "!MyData show", channel_type="im")
    [post] = await slack.wait_for_posts(1)
    assert (post["channel"], post["text"]) == ("D1", "Here you are.")
    assert ran.calls[0].conversation.audience == "dm"
    assert inbox.messages == []


@pytest.mark.parametrize("text", ["!memorable day", "! mydata show", "I use !mydata show", "!hello", "mydata show"])
async def test_other_messages_stay_messages(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, inbox: Inbox, text: str
) -> None:
    await write(slack, "U1", "D1", text, channel_type="im")
    assert inbox.texts == [text]
    assert ran.calls == []


async def test_a_written_command_that_comes_twice_is_run_once(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    event = await write(slack, "U1", "G2", f"{MENTION} !mydata show", channel_type="mpim")
    await (await slack.deliver({**event, "type": "app_mention"}, retry_attempt=1)).wait()
    await write(slack, "U1", "D1", "!mydata show", channel_type="im")
    await slack.wait_for_posts(1)
    assert [call.conversation.audience for call in ran.calls] == ["channel:G2", "dm"]


@pytest.mark.parametrize("way", ["slash", "message"])
async def test_what_acts_on_a_conversation_says_where_there_is_none(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, way: str
) -> None:
    if way == "slash":
        await slash(slack, "U1", "C1", "/mydata new")
        [answer] = await responses(slack, 1)
    else:
        await write(slack, "U1", "C1", f"{MENTION} !mydata new", channel_type="channel")
        await slack.wait_for(lambda: len(slack.ephemeral) == 1)
        answer = shown(slack.ephemeral[0])
    assert "`@keepsake !mydata new`" in answer
    assert ran.calls == []


async def test_in_a_thread_and_in_a_direct_chat_there_is_a_conversation(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    await slash(slack, "U1", "D1", "/mydata new")
    await write(slack, "U1", "C1", f"{MENTION} !mydata new", channel_type="channel", thread_ts=THREAD)
    await slack.wait_for(lambda: len(slack.ephemeral) == 1)
    await responses(slack, 1)
    assert {call.conversation.key for call in ran.calls} == {"slack:T1:D1", f"slack:T1:C1:{THREAD}"}


async def test_a_button_confirms_once_and_gives_way_to_the_result(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    ran.reply = CommandReply(text="This changes a lot.", confirm="Do it")
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    await responses(slack, 1)
    [asked] = slack.responses
    await press(slack, "UADMIN", "C1", asked)
    await responses(slack, 2)
    await press(slack, "UADMIN", "C1", asked)
    _, result, again = await responses(slack, 3)
    assert (result, slack.responses[1]["replace_original"]) == ("Confirmed.", True)
    assert "used already" in again
    assert slack.responses[2]["replace_original"] is False
    assert [(call.confirmed, dict(call.arguments)) for call in ran.calls] == [
        (False, {"person": "slack:T1:U1"}),
        (True, {"person": "slack:T1:U1"}),
    ]


async def test_a_button_says_nothing_and_works_for_its_caller_alone(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    ran.reply = CommandReply(text="Sure?", confirm="Do it")
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    await responses(slack, 1)
    [asked] = slack.responses
    assert "U1" not in str(asked["blocks"])
    await press(slack, "U2", "C1", asked)
    assert "Only who called" in (await responses(slack, 2))[1]
    await press(slack, "UADMIN", "C1", asked)
    assert (await responses(slack, 3))[2] == "Confirmed."


async def test_a_button_is_too_old_after_a_quarter_of_an_hour(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, clock: FakeClock
) -> None:
    ran.reply = CommandReply(text="Sure?", confirm="Do it")
    await slash(slack, "U1", "D1", "/mydata show")
    await responses(slack, 1)
    clock.advance(minutes=15)
    await press(slack, "U1", "D1", slack.responses[0])
    assert "too old" in (await responses(slack, 2))[1]
    assert len(ran.calls) == 1


async def test_who_is_no_admin_any_more_cannot_confirm(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, clock: FakeClock
) -> None:
    ran.reply = CommandReply(text="Sure?", confirm="Do it")
    await slash(slack, "UADMIN", "C1", "/memory view <@U1>")
    await responses(slack, 1)
    slack.add_user("UADMIN", "Ada", is_admin=False)
    clock.advance(minutes=2)
    await press(slack, "UADMIN", "C1", slack.responses[0])
    assert "Only an admin" in (await responses(slack, 2))[1]
    assert len(ran.calls) == 1


async def test_a_written_command_can_be_confirmed_too(slack: SlackDouble, adapter: SlackAdapter, ran: Recorder) -> None:
    ran.reply = CommandReply(text="Sure?", confirm="Do it")
    await write(slack, "U1", "C1", f"{MENTION} !mydata show", channel_type="channel", thread_ts=THREAD)
    await slack.wait_for(lambda: len(slack.ephemeral) == 1)
    await press(slack, "U1", "C1", slack.ephemeral[0])
    assert await responses(slack, 1) == ["Confirmed."]
    assert ran.calls[1].conversation.key == f"slack:T1:C1:{THREAD}"


async def test_a_file_goes_into_the_callers_own_direct_chat(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    ran.reply = CommandReply(text="All of it.", attachment=Attachment(name="all.json", content=b'{"a": 1}'))
    await slash(slack, "U1", "C1", "/mydata show")
    [answer] = await responses(slack, 1)
    [file] = slack.files.values()
    assert (file.name, file.content, file.channel) == ("all.json", b'{"a": 1}', "DU1")
    assert "direct messages" in answer


@pytest.mark.parametrize("method", ["conversations.open", "files.getUploadURLExternal"])
async def test_without_the_scope_for_files_it_says_so(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, method: str
) -> None:
    ran.reply = CommandReply(text="All of it.", attachment=Attachment(name="all.json", content=b"{}"))
    slack.script(method, double.error("missing_scope"))
    await slash(slack, "U1", "D1", "/mydata show")
    [answer] = await responses(slack, 1)
    assert "files:write" in answer
    assert all(file.channel is None for file in slack.files.values())


@pytest.mark.parametrize("trouble", [double.error("fatal_error"), double.cut(), double.server_error()])
async def test_a_file_that_slack_does_not_take_is_said_not_to_be_there(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, trouble: double.Scripted
) -> None:
    ran.reply = CommandReply(text="All of it.", attachment=Attachment(name="all.json", content=b"{}"))
    slack.script("files.completeUploadExternal", trouble)
    await slash(slack, "U1", "D1", "/mydata show")
    [answer] = await responses(slack, 1)
    assert "did not take the file `all.json`" in answer


async def test_a_long_answer_comes_in_parts_and_says_what_is_left_out(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    ran.reply = CommandReply(text="A line of words.\n" * 6_000)
    await slash(slack, "U1", "C1", "/mydata show")
    answers = await responses(slack, 4)
    assert "left out" in answers[-1]
    assert len(slack.responses) == 4


@pytest.mark.parametrize("trouble", [double.cut(), double.Scripted(status=404, body="used_url")])
async def test_where_slacks_way_back_is_closed_the_answer_still_comes(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder, trouble: double.Scripted
) -> None:
    slack.script("response_url", trouble)
    await slash(slack, "U1", "C1", "/mydata show")
    await slack.wait_for(lambda: len(slack.ephemeral) == 1)
    assert shown(slack.ephemeral[0]) == "Here you are."
    assert slack.responses == slack.posts() == []


async def test_an_answer_that_slack_does_not_take_harms_nothing(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    slack.script("response_url", double.cut())
    slack.script("chat.postEphemeral", double.error("user_not_in_channel"))
    await slash(slack, "U1", "C1", "/mydata show")
    await slack.wait_for(lambda: len(slack.called("chat.postEphemeral")) == 1)
    await slash(slack, "U1", "C1", "/mydata show")
    assert await responses(slack, 1) == ["Here you are."]


async def test_nothing_that_commands_leave_in_a_direct_chat_is_taken_for_an_answer_to_a_message(
    slack: SlackDouble, adapter: SlackAdapter, ran: Recorder
) -> None:
    ran.reply = CommandReply(text="All of it.", attachment=Attachment(name="all.json", content=b"{}"))
    await write(slack, "U1", "DU1", "!mydata show", channel_type="im", ts="1772442001.000100")
    await slack.wait_for_posts(2)
    chat = Conversation(platform="slack", key="slack:T1:DU1", audience="dm")
    owed = OutgoingMessage(conversation=chat, text="Hello.", in_reply_to="1772442000.000100", delivery_key="1f")
    assert await adapter.delivered_as(owed) is None


async def test_stopping_ends_with_what_runs(
    slack: SlackDouble, inbox: Inbox, ran: Recorder, adapter: SlackAdapter
) -> None:
    ran.gate = asyncio.Event()
    await slash(slack, "U1", "D1", "/mydata show")
    await ran.called.wait()
    stopping = asyncio.create_task(adapter.stop())
    await asyncio.sleep(0)
    ran.gate.set()
    await stopping
    assert [shown(response) for response in slack.responses] == ["Here you are."]


@asynccontextmanager
async def over_http(slack: SlackDouble, inbox: Inbox, commands: Commands) -> AsyncIterator[tuple[SlackAdapter, str]]:
    given = {"app_token": None, "signing_secret": SIGNING_SECRET, "commands": commands}
    async with started(slack, inbox, **given) as adapter:
        server = await serve(build_app(health=dict, slack_events=adapter.http_handler), "127.0.0.1", 0)
        try:
            yield adapter, f"http://127.0.0.1:{server.port}/slack/events"
        finally:
            await server.close()


async def test_a_request_that_is_recorded_and_sent_again_has_one_effect(
    slack: SlackDouble, inbox: Inbox, ran: Recorder, clock: FakeClock
) -> None:
    slack.add_user("U1", "Ann")
    commands = ran.commands(clock)
    given = {"commands": commands, "clock": clock, "app_token": None, "signing_secret": SIGNING_SECRET}
    async with started(slack, inbox, **given) as adapter:
        server = await serve(build_app(health=dict, slack_events=adapter.http_handler), "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.port}/slack/events"
        data = urlencode(slack.slash("U1", "C1", "/mydata show")).encode()
        headers = {**double.signed(data), "Content-Type": "application/x-www-form-urlencoded"}
        async with aiohttp.ClientSession() as session:
            statuses = [(await session.post(url, data=data, headers=headers)).status for _ in range(2)]
        await slack.wait_for(lambda: len(slack.responses) == 1)
        await server.close()

    assert statuses == [200, 200]
    assert len(ran.calls) == 1


async def test_over_http_too(slack: SlackDouble, inbox: Inbox, ran: Recorder, clock: FakeClock) -> None:
    ran.gate = asyncio.Event()
    ran.reply = CommandReply(text="Sure?", confirm="Do it")
    async with over_http(slack, inbox, ran.commands(clock)) as (adapter, url):
        assert await slack.deliver_form(url, slack.slash("U1", "C1", "/mydata show")) == (200, "")
        assert slack.responses == []
        ran.gate.set()
        assert await responses(slack, 1) == ["Sure?"]
        payload = json.dumps(slack.press("U1", "C1", slack.responses[0]))
        assert await slack.deliver_form(url, {"payload": payload}) == (200, "")
        assert (await responses(slack, 2))[1] == "Confirmed."
        await adapter.stop()
        assert (await slack.deliver_form(url, slack.slash("U1", "C1", "/mydata show")))[0] == 503
