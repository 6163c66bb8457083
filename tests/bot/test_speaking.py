"""When the bot speaks, as one table over everything that decides it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat import Conversation, IncomingMessage
from bot.speaking import Access, Addressed, Heard, Listed, Speaker, SpeakingRules, Verdict, check_ids, verdict
from memory.records import ChannelMode, ChannelState
from tests.fakes import START

DM = Conversation(platform="slack", key="slack:T1:D1", audience="dm")
CHANNEL = Conversation(platform="slack", key="slack:T1:C1", audience="team:T1")
ENGAGED = ChannelState(engaged_at=START)


def heard(where: Conversation = CHANNEL, **fields: Any) -> Heard:
    message = IncomingMessage(
        id="1", conversation=where, person="slack:T1:U1", author_name="Ann", text="hello", sent_at=START
    )
    place = {"server": "T1", "channels": frozenset({"C1"})}
    return Heard(message=message, **{**place, **fields})


def mode(chosen: str, **state: Any) -> ChannelState:
    return ChannelState(mode=ChannelMode(chosen), **state)


@pytest.mark.parametrize(
    ("said", "state", "expected"),
    [
        (heard(DM), ChannelState(), Verdict.ANSWER),
        (heard(DM, addressed=Addressed.OTHERS), ChannelState(), Verdict.ANSWER),
        (heard(), ChannelState(), Verdict.OVERHEAR),
        (heard(addressed=Addressed.US), ChannelState(), Verdict.ANSWER),
        (heard(addressed=Addressed.US), mode("mention"), Verdict.ANSWER),
        (heard(addressed=Addressed.OTHERS), mode("open"), Verdict.OVERHEAR),
        (heard(), mode("open"), Verdict.ANSWER),
        (heard(in_thread=True), ChannelState(), Verdict.OVERHEAR),
        (heard(in_thread=True), ENGAGED, Verdict.ANSWER),
        (heard(in_thread=True, addressed=Addressed.OTHERS), ENGAGED, Verdict.OVERHEAR),
        (heard(in_thread=True), mode("mention", engaged_at=START), Verdict.OVERHEAR),
        (heard(in_thread=False), ENGAGED, Verdict.OVERHEAR),
        (heard(addressed=Addressed.US), ChannelState(silenced=True), Verdict.IGNORE),
        (heard(), ChannelState(silenced=True), Verdict.IGNORE),
        (heard(addressed=Addressed.US, speaker=Speaker.BOT), ChannelState(), Verdict.IGNORE),
        (heard(addressed=Addressed.US, speaker=Speaker.WEBHOOK), mode("open"), Verdict.IGNORE),
        (heard(addressed=Addressed.US, speaker=Speaker.OURSELVES), mode("open"), Verdict.IGNORE),
    ],
)
def test_it_answers_what_is_for_it_and_overhears_the_rest(said: Heard, state: ChannelState, expected: Verdict) -> None:
    assert verdict(said, state, SpeakingRules()) is expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (heard(speaker=Speaker.BOT, addressed=Addressed.US), Verdict.ANSWER),
        (heard(speaker=Speaker.BOT), Verdict.OVERHEAR),
        (heard(speaker=Speaker.WEBHOOK, addressed=Addressed.US), Verdict.IGNORE),
        (heard(speaker=Speaker.OURSELVES, addressed=Addressed.US), Verdict.IGNORE),
    ],
)
def test_bots_are_answered_only_where_that_is_allowed_and_only_when_they_name_us(
    said: Heard, expected: Verdict
) -> None:
    assert verdict(said, mode("open"), SpeakingRules(answer_bots=True)) is expected


def test_the_mode_of_the_installation_holds_where_no_admin_chose() -> None:
    rules = SpeakingRules(mode=ChannelMode.OPEN)
    assert verdict(heard(), ChannelState(), rules) is Verdict.ANSWER
    assert verdict(heard(), mode("mention"), rules) is Verdict.OVERHEAR


@pytest.mark.parametrize(
    ("lists", "admitted"),
    [
        ({}, True),
        ({"servers": Listed(allow=frozenset({"T1"}))}, True),
        ({"servers": Listed(allow=frozenset({"T2"}))}, False),
        ({"servers": Listed(allow=frozenset({"T1"}), deny=frozenset({"T1"}))}, False),
        ({"channels": Listed(allow=frozenset({"C1"}))}, True),
        ({"channels": Listed(allow=frozenset({"C2"}))}, False),
        ({"channels": Listed(deny=frozenset({"C1"}))}, False),
        ({"users": Listed(deny=frozenset({"U1"}))}, False),
        ({"users": Listed(deny=frozenset({"slack:T1:U1"}))}, False),
        ({"users": Listed(deny=frozenset({"slack:T2:U1"}))}, True),
        ({"users": Listed(allow=frozenset({"U2"}))}, False),
        ({"users": Listed(allow=frozenset({"U2"})), "roles": Listed(allow=frozenset({"R1"}))}, True),
        ({"users": Listed(allow=frozenset({"U1"})), "roles": Listed(deny=frozenset({"R1"}))}, False),
        ({"servers": Listed(allow=frozenset({"T1"})), "channels": Listed(allow=frozenset({"C2"}))}, False),
    ],
)
def test_lists_say_where_and_to_whom_and_a_denial_wins(lists: dict[str, Listed], admitted: bool) -> None:
    said = heard(addressed=Addressed.US, roles=frozenset({"R1"}))
    expected = Verdict.ANSWER if admitted else Verdict.IGNORE
    assert verdict(said, ChannelState(), SpeakingRules(access=Access(**lists))) is expected


@pytest.mark.parametrize(
    ("lists", "admitted"),
    [
        ({"channels": Listed(allow=frozenset({"C2"}))}, True),
        ({"servers": Listed(allow=frozenset({"1001"}))}, True),
        ({"users": Listed(deny=frozenset({"U1"}))}, False),
        ({"roles": Listed(allow=frozenset({"R1"}))}, False),
        ({"roles": Listed(allow=frozenset({"R1"})), "users": Listed(allow=frozenset({"U1"}))}, True),
    ],
)
def test_in_a_direct_chat_only_lists_of_people_count(lists: dict[str, Listed], admitted: bool) -> None:
    said = heard(DM, server=None, channels=frozenset({"D1"}))
    assert Access(**lists).admits(said) is admitted


def test_a_thread_counts_as_the_channel_it_hangs_on() -> None:
    said = replace(heard(addressed=Addressed.US), channels=frozenset({"thread", "C1"}))
    assert Access(channels=Listed(allow=frozenset({"C1"}))).admits(said)
    assert not Access(channels=Listed(deny=frozenset({"C1"}))).admits(said)


def test_a_list_is_ids_between_commas() -> None:
    assert Listed.of(" 1001, T024BE7LD ,", None).allow == {"1001", "T024BE7LD"}
    assert check_ids("1001,slack:T1:U1,discord:7") == "1001,slack:T1:U1,discord:7"
    with pytest.raises(ValueError, match="'general' is no id"):
        check_ids("1001,general")
