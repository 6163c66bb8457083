"""Who, and who may hear it.

Invariant: everything kept about a person carries a ``Scope``; what may be read together is a ``Reach``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.errors import InvalidInput

_PERSON = re.compile(
    r"(discord:[0-9]{1,25}|slack:[A-Za-z0-9]{1,64}:[A-Za-z0-9]{1,64}|console:[^\s:/\\\x00-\x1f\x7f\ud800-\udfff]{1,64})\Z"
)
_AUDIENCE = re.compile(r"(dm|person|(guild|team|channel):[A-Za-z0-9._-]{1,64})\Z")


def check_person(person: str) -> str:
    """Return ``person`` unchanged if it is well formed.

    Raises:
        InvalidInput: it is not ``discord:<user id>``, ``slack:<team id>:<user id>`` or ``console:<name>``.
    """
    if not _PERSON.match(person):
        raise InvalidInput(
            f"{person[:60]!r} names nobody. Write discord:<user id>, slack:<team id>:<user id> or console:<name>, "
            "a name of up to 64 characters without spaces, colons and slashes."
        )
    return person


def check_audience(audience: str) -> str:
    """Return ``audience`` unchanged if it is well formed.

    Raises:
        InvalidInput: it is not ``dm``, ``guild:<id>``, ``team:<id>`` or ``channel:<id>``.
    """
    if not _AUDIENCE.match(audience):
        raise InvalidInput(
            f"{audience[:60]!r} is no audience. Write dm, guild:<id>, team:<id> or channel:<id>, for example guild:42."
        )
    return audience


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who, and who may hear it.

    Attributes:
        person: ``discord:<user id>``, ``slack:<team id>:<user id>`` or ``console:<name>``.
        audience: ``dm``, ``guild:<id>``, ``team:<id>``, ``channel:<id>``, or ``person`` where memory is shared
            over all audiences (MEMORY_SHARING=person).
    """

    person: str
    audience: str

    def __str__(self) -> str:
        return f"{self.person}/{self.audience}"


_SLUG_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def scope_slug(scope: Scope) -> str:
    """The scope as letters, digits, ``-`` and ``_``, reversible: other bytes become ``_xx`` in hexadecimal."""
    raw = f"{scope.person}/{scope.audience}".encode()
    return "".join(chr(byte) if chr(byte) in _SLUG_SAFE else f"_{byte:02x}" for byte in raw)


def scope_from_slug(slug: str) -> Scope:
    """The inverse of ``scope_slug``.

    Raises:
        InvalidInput: the text is no slug.
    """
    try:
        raw = re.sub(rb"_([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), slug.encode()).decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{slug!r} is no scope.") from error
    person, slash, audience = raw.rpartition("/")
    scope = Scope(person=person, audience=audience)
    if not slash or scope_slug(scope) != slug:
        raise InvalidInput(f"{slug!r} is no scope.")
    return scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a conversation may read: one person, and the audiences at least as public as its own.

    Made by ``policy.audience`` alone.

    Attributes:
        person: whose memory.
        audiences: the readable audiences; None for all of this person's.
        linked: other accounts of the same person, of which the same audiences are read.
    """

    person: str
    audiences: frozenset[str] | None
    linked: frozenset[str] = frozenset()

    @property
    def of_each(self) -> tuple[Reach, ...]:
        """What is read of each account, the own one first."""
        if not self.linked:
            return (self,)
        return tuple(Reach(person=person, audiences=self.audiences) for person in (self.person, *sorted(self.linked)))
