"""Whose memory, and a scope as a slug."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import InvalidInput
from memory.records import Scope, check_audience, check_person, scope_from_slug, scope_slug

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize("person", ["discord:42", "slack:T1:U2", "console:ann", "console:ann.b-c", "console:Zoë"])
def test_a_well_formed_person_is_taken_as_it_is(person: str) -> None:
    assert check_person(person) == person


@pytest.mark.parametrize(
    "person",
    [
        *("", "ann", "irc:ann", "discord:", "discord:ann", "discord:42\n", "slack:U2", "slack:T1:U2:X"),
        *("console:", "console:a b", "console:a/b", "console:a:b", "console:a\n", "console:\udcff"),
        *("console:a\0b", "console:\x1b[31m", "discord:\N{ARABIC-INDIC DIGIT THREE}"),
        *("console:" + "a" * 65, "discord:" + "9" * 26, "slack:T1:" + "U" * 65, f"slack:{'T' * 65}:U1"),
    ],
)
def test_anything_else_names_nobody(person: str) -> None:
    with pytest.raises(InvalidInput, match="names nobody"):
        check_person(person)


@pytest.mark.parametrize("audience", ["dm", "guild:1", "team:T1", "channel:C-1", "person"])
def test_a_well_formed_audience_is_taken_as_it_is(audience: str) -> None:
    assert check_audience(audience) == audience


@pytest.mark.parametrize("audience", ["", "DM", "guild", "guild:", "dm:1", "everyone", "channel:a b", "guild:1\n"])
def test_anything_else_is_no_audience(audience: str) -> None:
    with pytest.raises(InvalidInput, match="no audience"):
        check_audience(audience)


@given(texts, texts.filter(lambda text: "/" not in text))
def test_a_slug_holds_safe_letters_only_and_leads_back_to_its_scope(person: str, audience: str) -> None:
    scope = Scope(person=person, audience=audience)
    slug = scope_slug(scope)
    assert set(slug) <= set(string.ascii_letters + string.digits + "-_")
    assert scope_from_slug(slug) == scope


@pytest.mark.parametrize("slug", ["", "noslash", "_2", "_ff", "../etc", "a_2Fdm"])
def test_what_is_no_slug_is_refused(slug: str) -> None:
    with pytest.raises(InvalidInput, match="is no scope"):
        scope_from_slug(slug)
