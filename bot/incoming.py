"""From an incoming message to the memory it belongs to, and to the form in which it is kept there."""

from __future__ import annotations

from dataclasses import replace

from bot.chat import IncomingMessage
from memory.messages import FilePart, user_message
from memory.person import PersonMemory
from memory.records import NewMessage
from memory.system import MemorySystem


def memory_of(system: MemorySystem, incoming: IncomingMessage) -> PersonMemory:
    """The memory of the conversation in which a message was said."""
    where = incoming.conversation
    return system.conversation(
        person=incoming.person, audience=where.audience, conversation=where.key, community=where.community
    )


def stored_form(incoming: IncomingMessage, files: tuple[FilePart, ...] = ()) -> NewMessage:
    """A message as memory keeps it, with the text of its files."""
    spoken = user_message(incoming.text)
    return NewMessage(
        message=replace(spoken, parts=(*files, *spoken.parts)),
        author=incoming.author_name,
        sent_at=incoming.sent_at,
        platform_id=incoming.id,
    )
