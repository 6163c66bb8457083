"""Links two accounts of one person: a code from the first, confirmed on the second, and confirmed again on the first.

So each side has seen which account the other is before anything is linked. A code that was sent to somebody by a
stranger links nothing without that person's own word, and one that was overheard nothing without its owner's.

Invariant: a code lives for minutes, is confirmed by one account only, and is gone with the link; an account that
gives wrong codes has to wait. A link changes what is read alone, so ending it leaves each account as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.policy.audience import SHARED_AUDIENCE
from memory.policy.link_codes import MOST_LINKS, MOST_WRONG, VALID_FOR, WRONG_WITHIN, code_hash, new_code
from memory.ports import Clock
from memory.records import Scope
from memory.stores.audit import AuditStore
from memory.stores.links import Link, LinkRequest, LinkStore

_UNKNOWN = "That code is not valid, or no longer. Call /mydata link on the other account for a new one."


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStatus:
    """How an account stands.

    Attributes:
        links: those that stand.
        claimed_by: the account on which its code was confirmed, where only its own confirmation is missing.
    """

    links: Sequence[Link]
    claimed_by: str | None


class Linking:
    """Links accounts, and ends links.

    Args:
        database: for transactions.
        links: links and requests.
        audit: where both accounts can read of it.
        clock: dates it, and ends codes.
    """

    def __init__(self, *, database: Database, links: LinkStore, audit: AuditStore, clock: Clock) -> None:
        self._database = database
        self._links = links
        self._audit = audit
        self._clock = clock

    async def status(self, scope: Scope) -> LinkStatus:
        """How the scope's person stands."""
        request = await self._links.request(scope)
        claimed_by = request.claimed_by if self._is_alive(request) else None
        return LinkStatus(links=await self._links.all(scope), claimed_by=claimed_by)

    async def offer(self, scope: Scope) -> str:
        """A new code to be confirmed on another account; an earlier one, and what was confirmed of it, is void.

        Raises:
            InvalidInput: the account has as many links as it may have.
        """
        code = new_code()
        async with self._database.transaction() as tx:
            await self._check_room(scope.person)
            request = await self._links.request(scope)
            offered = replace(request, code_hash=code_hash(code), made_at=self._clock.now(), claimed_by=None)
            await self._links.put_request(scope, tx, offered)
        return code

    async def look_up(self, scope: Scope, code: str) -> str:
        """The account that offers a code to this one.

        Raises:
            InvalidInput: the code is unknown, over or used, or this account has given too many wrong ones.
        """
        async with self._database.transaction() as tx:
            own = await self._links.request(scope)
            if self._must_wait(own):
                raise InvalidInput("There were too many wrong codes on this account. Try again in an hour.")
            offering = await self._offering(scope, code)
            if offering is None:
                await self._links.put_request(scope, tx, self._after_wrong_code(own))
        if offering is None:  # said only now, so that the wrong code is counted
            raise InvalidInput(_UNKNOWN)
        if offering == scope.person:
            raise InvalidInput("This is the account that the code was made on. Give it on your other account.")
        return offering

    async def claim(self, scope: Scope, code: str) -> str:
        """Confirm a code on the second account; the account that offers it. Raises InvalidInput as ``look_up``."""
        offering = await self.look_up(scope, code)
        first = Scope(person=offering, audience=scope.audience)
        async with self._database.transaction() as tx:
            request = await self._links.request(first)
            if request.code_hash != code_hash(code) or request.claimed_by not in (None, scope.person):
                raise InvalidInput(_UNKNOWN)
            await self._check_room(scope.person)
            await self._links.put_request(first, tx, replace(request, claimed_by=scope.person))
            # The second account has a row too, so that its erasure finds what it confirmed.
            await self._links.put_request(scope, tx, await self._links.request(scope))
        return offering

    async def confirm(self, scope: Scope, other: str) -> None:
        """Confirm on the first account what was confirmed on the other one. From now on they are linked.

        Raises:
            InvalidInput: nothing of the kind waits any more.
        """
        async with self._database.transaction() as tx:
            request = await self._links.request(scope)
            if request.claimed_by != other or not self._is_alive(request):
                raise InvalidInput("That request is over. Call /mydata link for a new code.")
            await self._check_room(scope.person)
            await self._links.add(scope, tx, other=other, at=self._clock.now())
            await self._links.put_request(scope, tx, replace(request, code_hash=None, made_at=None, claimed_by=None))
            await self._note(tx, (scope.person, other), by=scope.person, action="mydata link")

    async def unlink(self, scope: Scope) -> list[str]:
        """End every link of the scope's person, and void its code; the accounts that were linked with it."""
        async with self._database.transaction() as tx:
            others = [link.other for link in await self._links.all(scope)]
            ended = await self._links.remove(scope, tx, others=others)
            request = await self._links.request(scope)
            if request.code_hash is not None:
                void = replace(request, code_hash=None, made_at=None, claimed_by=None)
                await self._links.put_request(scope, tx, void)
            if ended:
                await self._note(tx, (scope.person, *ended), by=scope.person, action="mydata unlink")
        return ended

    async def _offering(self, scope: Scope, code: str) -> str | None:
        """Who offers a code that this account may confirm, if anybody does."""
        person = await self._links.offered_by(code_hash(code))
        if person is None:
            return None
        request = await self._links.request(Scope(person=person, audience=scope.audience))
        return person if self._is_alive(request) and request.claimed_by in (None, scope.person) else None

    async def _check_room(self, person: str) -> None:
        if len(await self._links.linked_to(person)) >= MOST_LINKS:
            raise InvalidInput(f"This account has {MOST_LINKS} links already. /mydata unlink ends them.")

    async def _note(self, tx: Transaction, persons: Sequence[str], *, by: str, action: str) -> None:
        """Note it on every side; who the other one is stands in the link alone, so that it can be erased with it."""
        for person in persons:
            scope = Scope(person=person, audience=SHARED_AUDIENCE)
            await self._audit.note(scope, tx, actor=by if person == by else "linked account", action=action)

    def _is_alive(self, request: LinkRequest) -> bool:
        return request.made_at is not None and self._clock.now() - request.made_at < VALID_FOR

    def _must_wait(self, request: LinkRequest) -> bool:
        return request.wrong_codes >= MOST_WRONG and not self._is_past(request)

    def _is_past(self, request: LinkRequest) -> bool:
        return request.wrong_since is None or self._clock.now() - request.wrong_since >= WRONG_WITHIN

    def _after_wrong_code(self, request: LinkRequest) -> LinkRequest:
        if self._is_past(request):
            return replace(request, wrong_codes=1, wrong_since=self._clock.now())
        return replace(request, wrong_codes=request.wrong_codes + 1)
