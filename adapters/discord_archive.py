"""A channel as DiscordChatExporter writes it down in JSON: what people said in it, as the adapter would have heard it.

Invariant: who could read the channel does not stand in such a file, so it counts as private unless the operator says
otherwise; a private thread always does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from bot.attachments import named
from bot.chat import AttachedFile
from memory.errors import InvalidInput
from memory.records import EARLIEST, LATEST, Archive, PastMessage

_LARGEST = 1 << 30  # bytes; larger ones are to be exported in parts
_SPOKEN = ("Default", "Reply")
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\"guild\"\s*:")
_PRIVATE_THREAD = "GuildPrivateThread"
_THREADS = ("GuildPublicThread", "GuildNewsThread", _PRIVATE_THREAD)
_DIRECT = "DirectTextChat"

Snowflake = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]
_Moment = Annotated[AwareDatetime, Field(ge=EARLIEST, le=LATEST)]


class _Author(BaseModel):
    id: Snowflake
    name: str
    nickname: str | None = None
    is_bot: bool = Field(default=False, alias="isBot")


class _Attachment(BaseModel):
    id: str = ""
    file_name: str = Field(default="file", alias="fileName")


class _Message(BaseModel):
    id: Snowflake
    type: str
    timestamp: _Moment
    edited: _Moment | None = Field(default=None, alias="timestampEdited")
    content: str
    author: _Author
    attachments: tuple[_Attachment, ...] = ()

    @property
    def text(self) -> str:
        files = tuple(AttachedFile(id=file.id, name=file.file_name) for file in self.attachments)
        return named(self.content.strip(), files)

    @property
    def is_said(self) -> bool:
        """Whether a person says something with it."""
        return self.type in _SPOKEN and not self.author.is_bot and bool(self.text.strip())


class _Guild(BaseModel):
    id: Snowflake
    name: str


class _Channel(BaseModel):
    id: Snowflake
    type: str
    name: str
    parent: Snowflake | None = Field(default=None, alias="categoryId")


class _Export(BaseModel):
    guild: _Guild
    channel: _Channel
    messages: tuple[_Message, ...]


def is_discord_archive(beginning: bytes) -> bool:
    """Whether a file that begins like this is to be read as an export of a channel."""
    return _BEGINNING.match(beginning) is not None


def discord_archive(path: Path, *, public: bool) -> Archive:
    """Check an export of one channel, as a whole.

    Args:
        path: the JSON file.
        public: whether everyone on the server can read the channel.

    Raises:
        InvalidInput: it is no such file, or damaged.
    """
    if path.stat().st_size > _LARGEST:
        raise InvalidInput(f"{path.name} is larger than a gigabyte. Export the channel in parts, as with --partition.")
    try:
        export = _Export.model_validate_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"])) or "its beginning"
        raise InvalidInput(
            f"{path.name} is no export of DiscordChatExporter, or damaged at {where}. Export the channel as JSON once "
            "more. Nothing was imported."
        ) from error
    said = sorted((message for message in export.messages if message.is_said), key=lambda message: int(message.id))
    audience, community = _audience(export, public=public)

    def read() -> Iterator[PastMessage]:
        key = f"discord:{export.channel.id}"
        for message in said:
            yield PastMessage(
                person=f"discord:{message.author.id}",
                author=message.author.nickname or message.author.name,
                audience=audience,
                community=community,
                conversation=key,
                channel=key,
                platform_id=message.id,
                text=message.text,
                sent_at=message.timestamp,
                edited_at=message.edited,
            )

    return Archive(
        title=f"#{export.channel.name} of {export.guild.name}",
        messages=len(said),
        left_out=len(export.messages) - len(said),
        read=read,
    )


def _audience(export: _Export, *, public: bool) -> tuple[str, str | None]:
    """Who could hear the channel, and the server it belongs to where that is not the same."""
    channel = export.channel
    if channel.type == _DIRECT:
        people = {message.author.id for message in export.messages if not message.author.is_bot}
        with_bot = any(message.author.is_bot for message in export.messages)
        return ("dm" if with_bot and len(people) == 1 else f"channel:{channel.id}"), None
    if export.guild.id == "0":  # a group chat
        return f"channel:{channel.id}", None
    community = f"guild:{export.guild.id}"
    if public and channel.type != _PRIVATE_THREAD:
        return community, None
    of_parent = channel.type in _THREADS and channel.type != _PRIVATE_THREAD and channel.parent is not None
    return f"channel:{channel.parent if of_parent else channel.id}", community
