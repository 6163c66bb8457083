"""Who may hear what: reading goes to audiences at least as public, and never the other way."""

from __future__ import annotations

import pytest

from memory.errors import InvalidInput
from memory.parameters import Sharing
from memory.policy.audience import audience_note, reach_of, reach_of_person, scope_of

ANN = "discord:1"


@pytest.mark.parametrize(
    ("audience", "community", "readable"),
    [
        ("dm", None, None),
        ("guild:1", None, {"guild:1"}),
        ("team:T1", None, {"team:T1"}),
        ("guild:1", "guild:2", {"guild:1"}),
        ("channel:9", None, {"channel:9"}),
        ("channel:9", "guild:1", {"channel:9", "guild:1"}),
        ("channel:9", "team:T1", {"channel:9", "team:T1"}),
    ],
)
def test_a_conversation_reads_audiences_at_least_as_public_as_its_own(
    audience: str, community: str | None, readable: set[str] | None
) -> None:
    reach = reach_of(scope_of(ANN, audience), community)
    assert reach.person == ANN
    assert reach.audiences == (None if readable is None else frozenset(readable))


@pytest.mark.parametrize("audience", ["dm", "guild:1", "channel:9"])
def test_shared_memory_is_one_scope_that_is_read_everywhere(audience: str) -> None:
    scope = scope_of(ANN, audience, Sharing.PERSON)
    assert scope == scope_of(ANN, "team:T1", Sharing.PERSON)
    assert reach_of(scope, None, Sharing.PERSON).audiences is None


def test_memory_shared_once_is_read_only_in_private_after_the_setting_is_turned_back() -> None:
    assert "person" not in (reach_of(scope_of(ANN, "guild:1")).audiences or ())
    assert reach_of(scope_of(ANN, "dm")).audiences is None


def test_a_person_sees_everything_of_their_own() -> None:
    assert reach_of_person(ANN).audiences is None


@pytest.mark.parametrize(("person", "audience"), [("ann", "dm"), (ANN, "all"), ("", "dm")])
def test_a_malformed_person_or_audience_is_refused(person: str, audience: str) -> None:
    with pytest.raises(InvalidInput):
        scope_of(person, audience)


def test_a_malformed_community_is_refused() -> None:
    with pytest.raises(InvalidInput):
        reach_of(scope_of(ANN, "channel:9"), "everyone")


def test_the_model_is_told_who_hears_each_kind_of_conversation() -> None:
    kinds = ("dm", "guild:1", "team:T1", "channel:9", "person")
    assert len({audience_note(audience) for audience in kinds}) == len(kinds)
