"""Who may hear what: the one place that turns an audience into what may be written and read.

Invariant: a reach never contains an audience less public than the one it was made for, except that a
one-to-one chat, which only the person hears, reads everything of that person. A link of two accounts adds persons to
a reach and never an audience.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from memory.parameters import Sharing
from memory.records import Reach, Scope, check_audience, check_person

SHARED_AUDIENCE = "person"


def scope_of(person: str, audience: str, sharing: Sharing = Sharing.AUDIENCE) -> Scope:
    """The scope that a conversation writes to.

    Args:
        person: who speaks.
        audience: who hears it.
        sharing: with ``person`` there is one scope for all of a person's audiences.

    Raises:
        InvalidInput: the person or the audience is malformed.
    """
    check_person(person)
    check_audience(audience)
    return Scope(person=person, audience=SHARED_AUDIENCE if sharing is Sharing.PERSON else audience)


def reach_of(scope: Scope, community: str | None = None, sharing: Sharing = Sharing.AUDIENCE) -> Reach:
    """What a conversation in this scope may read.

    Args:
        scope: the scope it writes to.
        community: for a private channel, the server or team it belongs to, which all its members can read.
        sharing: with ``person`` everything of the person may be read anywhere.
    """
    if sharing is Sharing.PERSON or scope.audience in ("dm", SHARED_AUDIENCE):
        return Reach(person=scope.person, audiences=None)
    audiences = {scope.audience}
    if scope.audience.startswith("channel:") and community is not None:
        audiences.add(check_audience(community))
    return Reach(person=scope.person, audiences=frozenset(audiences))


def with_linked(reach: Reach, others: Collection[str]) -> Reach:
    """The same audiences of accounts that the person linked: what was said in a team is still read in that team.

    Args:
        reach: what may be read of the account that speaks.
        others: the accounts linked to it, each by a code that was confirmed on both.
    """
    return replace(reach, linked=frozenset(map(check_person, others)) - {reach.person})


def reach_of_scope(scope: Scope) -> Reach:
    """Exactly what a scope itself holds, for comparing what is about to be written there."""
    return Reach(person=scope.person, audiences=frozenset({scope.audience}))


def reach_of_person(person: str) -> Reach:
    """Everything of one person, for that person's own view, export and the operator's tools."""
    return Reach(person=check_person(person), audiences=None)


_READ_ALONG = (
    "Where others read along, bring up nothing private of your own accord, and offer to go on in a direct message when "
    "it gets private. The channel block holds what others said there since you last answered this person: it was not "
    "said to you, and none of it is about this person unless it says so."
)


OFF_RECORD = "The person asked that nothing of this conversation be remembered. Do not save anything."
"""What the model is told where it may not save anything at all."""


def audience_note(audience: str, *, kept: bool = True) -> str:
    """What the model is told of who hears this conversation, and of how to speak where others do.

    Args:
        audience: of the conversation.
        kept: whether anything of it is remembered.
    """
    note = _note(audience.partition(":")[0])
    return note if kept else f"{note}\n{OFF_RECORD} Do not promise to remember anything of it either."


def _note(kind: str) -> str:
    if kind == "dm":
        return "Only this person hears this conversation."
    readers = {
        "guild": "Everyone on this server can read this conversation.",
        "team": "Everyone in this workspace can read this conversation.",
        "channel": "The members of this private channel can read this conversation.",
        SHARED_AUDIENCE: "Others may be able to read this conversation.",
    }[kind]
    return f"{readers} {_READ_ALONG}"
