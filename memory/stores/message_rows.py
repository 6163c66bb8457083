"""A message as a row, as an entry of an export, as pieces for the search indexes, and as a hit of a search. Pure.

Invariant: ``message_of_row`` gives back what ``row_of_message`` was given, part by part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from memory.messages import Message, Role, parts_from_json, parts_from_values, parts_to_json
from memory.policy.chunking import pieces
from memory.policy.ranking import RankedEntry, why_found
from memory.policy.text import spoken_date
from memory.records import EvictionReason, Scope, SearchHit, Source, StoredMessage
from memory.schema import messages, moment
from memory.stores.scoped import scope_of

_message = messages.c
SHOWN = (
    _message.id,
    _message.person,
    _message.audience,
    _message.role,
    _message.author,
    _message.parts,
    _message.sent_at,
)
"""What a hit shows of a message, its id first."""


def searchable_pieces(message: StoredMessage) -> list[str]:
    """The texts under which a message is found, speaker and date included; none where it says nothing."""
    text = message.text
    return pieces(text, heading=f"{message.author} ({spoken_date(message.sent_at)})") if text.strip() else []


def hit_of_message(shown: tuple[Any, ...], ranked: RankedEntry) -> SearchHit:
    """A message that a search found, with its rank.

    Args:
        shown: the values of ``SHOWN``, as the table holds them.
    """
    message_id, person, audience, role, author, parts, sent_at = shown
    return SearchHit(
        source=Source.RECALL,
        scope=scope_of(person, audience),
        record_id=message_id,
        score=ranked.score,
        text=Message(role=Role(role), parts=parts_from_json(parts)).text,
        author=author,
        at=moment(sent_at),
        reason=why_found(ranked),
        vector=ranked.entry.vector,
        message_ids=(message_id,),
    )


def row_of_message(message: StoredMessage) -> dict[str, Any]:
    """The values of every column."""
    return {
        "person": message.scope.person,
        "audience": message.scope.audience,
        "id": message.id,
        "conversation": message.conversation,
        "session_id": message.session_id,
        "exchange_id": message.exchange_id,
        "role": message.message.role.value,
        "author": message.author,
        "parts": parts_to_json(message.message.parts),
        "sent_at": message.sent_at,
        "tokens": message.tokens,
        "platform_id": message.platform_id,
        "evicted_at": message.evicted_at,
        "eviction_reason": None if message.eviction_reason is None else message.eviction_reason.value,
        "folded": message.folded,
        "edited_at": message.edited_at,
    }


def message_of_export(scope: Scope, row: Mapping[str, Any]) -> StoredMessage:
    """The message of a row of an export."""
    fields = {name: value for name, value in row.items() if name not in ("role", "parts")}
    message = Message(role=Role(row["role"]), parts=parts_from_values(row["parts"]))
    if row["eviction_reason"] is not None:
        fields["eviction_reason"] = EvictionReason(row["eviction_reason"])
    return StoredMessage(scope=scope, message=message, **fields)


def message_of_row(row: Row[Any]) -> StoredMessage:
    """The message of a row of the table.

    Its columns are read by their places, in half the time that their names take: a turn reads dozens of messages.
    """
    (
        person,
        audience,
        message_id,
        conversation,
        session_id,
        exchange_id,
        role,
        author,
        parts,
        sent_at,
        tokens,
        platform_id,
        evicted_at,
        eviction_reason,
        folded,
        edited_at,
    ) = tuple(row)
    return StoredMessage(
        id=message_id,
        scope=scope_of(person, audience),
        conversation=conversation,
        session_id=session_id,
        exchange_id=exchange_id,
        author=author,
        message=Message(role=Role(role), parts=parts_from_json(parts)),
        sent_at=sent_at,
        tokens=tokens,
        platform_id=platform_id,
        evicted_at=evicted_at,
        eviction_reason=None if eviction_reason is None else EvictionReason(eviction_reason),
        folded=folded,
        edited_at=edited_at,
    )
