"""The durable inbox: what was accepted from a platform, and how far its answer has come.

A platform may hand the same message over many times; the key (person, conversation, platform's id) accepts it once.
After a crash ``pending`` says what is still owed.

Invariant: an item leaves ``pending`` only by being delivered or dropped. Then its texts go, since the recall log has
them where they are to be kept, and its key stays, so that a message handed over again months later is still known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Row, Update, and_, bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from memory.database import Database, Transaction
from memory.errors import AnsweredElsewhere
from memory.ids import IdSource
from memory.records import EarlyReaction, InboxItem, InboxState, Scope
from memory.schema import inbox
from memory.stores.scoped import as_stored, delete_scope, rows_of_scope, scope_of_row

_DONE = (InboxState.DELIVERED, InboxState.DROPPED)
UNFINISHED = tuple(state.value for state in InboxState if state.value not in _DONE)

# Made once: a turn asks for its item and changes it eight times, and making a statement takes longer than running it.
_THIS = and_(
    inbox.c.person == bindparam("of_person"),
    inbox.c.audience == bindparam("of_audience"),
    inbox.c.conversation == bindparam("of_conversation"),
    inbox.c.platform_id == bindparam("of_message"),
)
_UNFINISHED = and_(_THIS, *(inbox.c.state != state.value for state in _DONE))
_ITEM = select(inbox).where(_THIS)
# By state, since few are unfinished; a person's own may be those of many years.
_DRAFTED = select(inbox).where(inbox.c.state.in_(UNFINISHED), inbox.c.draft.is_not(None))
_ACCEPT = insert(inbox)
_REACTIONS = select(inbox.c.reactions).where(_THIS)
_MOST_REACTIONS = 20  # the latest
_CLAIM = (
    update(inbox)
    .where(
        _UNFINISHED,
        or_(inbox.c.reply.is_(None), inbox.c.reply == bindparam("new_reply")),
        or_(
            inbox.c.claimed_by.is_(None),
            inbox.c.claimed_by == bindparam("new_process"),
            inbox.c.claimed_until.is_(None),
            inbox.c.claimed_until <= bindparam("now"),
        ),
    )
    .values(
        state=InboxState.SENDING.value,
        reply=bindparam("new_reply"),
        claimed_by=bindparam("new_process"),
        claimed_until=bindparam("until"),
    )
)


class InboxStore:
    """The table of accepted messages.

    Args:
        database: where the rows are.
        ids: draws the items' ids.
    """

    name = "inbox"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def accept(
        self, scope: Scope, *, conversation: str, platform_id: str, payload: str, at: datetime
    ) -> InboxItem | None:
        """Store an incoming message in a transaction of its own; None where it was accepted before.

        Args:
            scope: who said it, and who heard it. The same message under another audience is the same message.
            conversation: where it was said.
            platform_id: the platform's id of the message.
            payload: the message as JSON.
            at: when it came.
        """
        item = InboxItem(
            id=self._ids.next(),
            scope=scope,
            conversation=conversation,
            platform_id=platform_id,
            payload=payload,
            accepted_at=as_stored(at),
            state=InboxState.ACCEPTED,
        )
        row = {
            "person": scope.person,
            "audience": scope.audience,
            "conversation": conversation,
            "platform_id": platform_id,
            "id": item.id,
            "payload": payload,
            "accepted_at": at,
            "state": item.state.value,
        }

        async def insert_row(tx: Transaction) -> None:
            await tx.connection.execute(_ACCEPT, row)

        try:
            await self._database.write(insert_row)
        except IntegrityError:  # its key is there: only the database can tell when two processes ask at once
            return None
        return item

    async def owed(
        self, scope: Scope, tx: Transaction, *, item: InboxItem, reply: str | None = None
    ) -> InboxItem | None:
        """The item as it is now, as long as its answer is owed; None once its person was erased.

        So a message is answered once, however many processes have taken it up.

        Args:
            reply: the answer that it may have already, on its way.

        Raises:
            AnsweredElsewhere: it has another answer, or is done with.
        """
        row = (await tx.connection.execute(_ITEM, _key(scope, item))).first()
        if row is not None and (row.state not in UNFINISHED or row.reply not in (None, reply)):
            raise AnsweredElsewhere("The message was answered meanwhile.")
        return None if row is None else item_of_row(row)

    async def begin(self, scope: Scope, tx: Transaction, *, item: InboxItem, message_id: int) -> InboxItem:
        """Note the id of the message's copy in the recall log; the item as it is now."""
        return await self._change(scope, tx, item, message_id=message_id)

    async def mark(self, scope: Scope, tx: Transaction, *, item: InboxItem, state: InboxState) -> InboxItem:
        """Note how far the reply has come; the item as it is now. Of an item that is done only the key is kept."""
        if state in _DONE:
            done: dict[str, Any] = {"state": state, "payload": "", "reply": None, "draft": None, "edited_text": None}
            await self._write(scope, tx, item, reactions=None, **done)
            return replace(item, **done)
        return await self._change(scope, tx, item, state=state)

    async def claim(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        item: InboxItem,
        reply: str,
        process: str,
        now: datetime,
        until: datetime,
    ) -> bool:
        """Keep the reply, and note that it is about to be sent, by which process, and until when no other sends it.

        Args:
            item: the message that is answered.
            reply: the text of its answer.
            process: its name, as ``memory.process_lock`` gives it.
            now: the present moment.
            until: when the claim runs out.

        Returns:
            False, and nothing is noted, where the answer is not owed any more, or another process has a claim on it.
        """
        claim = {"new_reply": reply, "new_process": process, "now": now, "until": until}
        return (await tx.connection.execute(_CLAIM, {**_key(scope, item), **claim})).rowcount == 1

    async def take_over(
        self, scope: Scope, tx: Transaction, *, item: InboxItem, reply: str, process: str, until: datetime
    ) -> None:
        """The same whoever has a claim on it, for one whose process is gone."""
        await self._change(
            scope, tx, item, state=InboxState.SENDING, reply=reply, claimed_by=process, claimed_until=until
        )

    async def note_draft(self, scope: Scope, tx: Transaction, *, item: InboxItem, draft: tuple[str, ...]) -> None:
        """Note where the answer can be seen while it is written: empty before the first message of it is posted."""
        await self._change(scope, tx, item, draft=draft)

    async def reword(self, scope: Scope, tx: Transaction, *, item: InboxItem, text: str, at: datetime) -> None:
        """Note what a message says by now whose turn has not begun."""
        await self._change(scope, tx, item, edited_text=text, edited_at=as_stored(at))

    async def pending(self) -> list[InboxItem]:
        """Every item of everybody that is neither delivered nor dropped, oldest first, for the start."""
        query = select(inbox).where(inbox.c.state.in_(UNFINISHED)).order_by(inbox.c.id)
        async with self._database.read() as connection:
            return [item_of_row(row) for row in await connection.execute(query)]

    async def is_writing(self, person: str, channel: str) -> bool:
        """Whether an answer to a person is being shown while it is written, in a channel or one of its threads."""
        async with self._database.read() as connection:
            return bool(_of_whom(await connection.execute(_DRAFTED), person, channel))

    async def note_reaction(self, person: str, channel: str, tx: Transaction, *, reaction: EarlyReaction) -> None:
        """Keep what a person reacted beside each of their messages whose answer is being shown while it is written.

        Args:
            person: who reacted.
            channel: where; its threads count as part of it.
            tx: the open transaction.
            reaction: what.
        """
        for row in _of_whom(await tx.connection.execute(_DRAFTED), person, channel):
            item = item_of_row(row)
            reactions = [*(row.reactions or ()), asdict(reaction)][-_MOST_REACTIONS:]
            await self._write(item.scope, tx, item, reactions=reactions)

    async def reactions(self, scope: Scope, tx: Transaction, *, item: InboxItem) -> list[EarlyReaction]:
        """What is kept of reactions to the answer to a message that is not done yet, in their order."""
        found = (await tx.connection.execute(_REACTIONS, _key(scope, item))).scalar()
        return [EarlyReaction(**reaction) for reaction in found or ()]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every item of a scope."""
        return await rows_of_scope(self._database, inbox, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every item of a scope, keys included; rows deleted per table."""
        return {inbox.name: await delete_scope(tx, inbox, scope)}

    async def _change(self, scope: Scope, tx: Transaction, item: InboxItem, **changes: Any) -> InboxItem:
        await self._write(scope, tx, item, **changes)
        return replace(item, **changes)

    @staticmethod
    async def _write(scope: Scope, tx: Transaction, item: InboxItem, **changes: Any) -> None:
        values = {f"new_{column}": value for column, value in changes.items()}
        await tx.connection.execute(_change_of(tuple(changes)), {**_key(scope, item), **values})


def _key(scope: Scope, item: InboxItem) -> dict[str, str]:
    """The values of ``_THIS``."""
    return {
        "of_person": scope.person,
        "of_audience": scope.audience,
        "of_conversation": item.conversation,
        "of_message": item.platform_id,
    }


def _of_whom(rows: Iterable[Row[Any]], person: str, channel: str) -> list[Row[Any]]:
    """Those of a person's messages in a channel or one of its threads."""
    return [row for row in rows if row.person == person and f"{row.conversation}:".startswith(f"{channel}:")]


@cache
def _change_of(columns: tuple[str, ...]) -> Update:
    """Changes these columns alone, to ``new_...``: the caller's item may be older than the row."""
    new: dict[Any, Any] = {getattr(inbox.c, column): bindparam(f"new_{column}") for column in columns}
    return update(inbox).where(_UNFINISHED).values(new)


def item_of_row(row: Row[Any]) -> InboxItem:
    """The item that a row holds."""
    return InboxItem(
        id=row.id,
        scope=scope_of_row(row),
        conversation=row.conversation,
        platform_id=row.platform_id,
        payload=row.payload,
        accepted_at=row.accepted_at,
        state=InboxState(row.state),
        message_id=row.message_id,
        reply=row.reply,
        draft=None if row.draft is None else tuple(row.draft),
        edited_text=row.edited_text,
        edited_at=row.edited_at,
        claimed_by=row.claimed_by,
        claimed_until=row.claimed_until,
    )
