"""What comes with a message: text files and pictures are read at once, under limits; of others the name is known.

Invariant: no address of a file is ever stored, and what a file holds is no part of what the person said. Whatever
could not be read is said, to the model and to the person.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from bot.chat import AttachedFile, ChannelAdapter, FileUnreadable, IncomingMessage, readable_size
from memory.messages import FilePart, ImagePart
from memory.policy.secrets import redact
from memory.policy.text import clean, cut_middle

_log = structlog.get_logger(__name__)

_MOST_FILES = 10  # of one message; Discord takes as many
_MOST_CHARACTERS = 40_000  # of one file, some 10,000 tokens
_LARGEST_SIDE = 8_000  # pixels; the service refuses a larger picture
_TEXT_TYPES = frozenset(
    {"application/json", "application/xml", "application/x-yaml", "application/yaml", "application/toml"}
    | {"application/javascript", "application/x-sh", "application/sql", "application/x-ndjson"}
)
_TEXT_ENDINGS = frozenset(
    ending
    for line in (
        "txt md rst csv tsv json jsonl yaml yml toml ini cfg conf env log xml html css sql tex srt vtt ics diff patch",
        "sh bat ps1 py pyi js ts jsx tsx java kt c h cpp hpp cs go rs rb php pl lua r swift scala",
    )
    for ending in line.split()
)
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentLimits:
    """How large a file may be to be read, in bytes; with 0 none of its kind is."""

    text: int = 200_000
    image: int = 3_700_000  # in base64 the 5 MB that the service takes


DEFAULT_LIMITS = AttachmentLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """What came with a message, as far as it could be read.

    Attributes:
        files: texts, and what could not be read with the reason.
        images: pictures to look at in this turn.
    """

    files: tuple[FilePart, ...] = ()
    images: tuple[ImagePart, ...] = ()

    @property
    def report(self) -> str:
        """What the person is told below the answer; empty where everything was read."""
        return "\n".join(f"({file.name}: {file.note}.)" for file in self.files if file.note)


async def read_attachments(channel: ChannelAdapter, message: IncomingMessage, limits: AttachmentLimits) -> Attachments:
    """Read what came with a message.

    Args:
        channel: fetches files.
        message: the message.
        limits: what is too large to be read.
    """
    read = [await _read(channel, message, file, limits) for file in message.attachments[:_MOST_FILES]]
    left = [_unread(file, "there were more files than I read at once") for file in message.attachments[_MOST_FILES:]]
    return Attachments(
        files=tuple(part for part in (*read, *left) if isinstance(part, FilePart)),
        images=tuple(part for part in read if isinstance(part, ImagePart)),
    )


async def _read(
    channel: ChannelAdapter, message: IncomingMessage, file: AttachedFile, limits: AttachmentLimits
) -> FilePart | ImagePart:
    picture = file.media_type.startswith("image/")
    limit = limits.image if picture else limits.text
    if reason := _not_worth_fetching(file, picture=picture, limit=limit):
        return _unread(file, reason)
    try:
        content = await channel.fetch_file(message, file, limit=limit)
    except FileUnreadable as error:
        _log.info("attachment_unreadable", file=file.id, reason=str(error))
        return _unread(file, str(error))
    return _picture(file, content) if picture else _text(file, content)


def _not_worth_fetching(file: AttachedFile, *, picture: bool, limit: int) -> str:
    """Why a file is not read, judged by what the platform says of it; empty where it is."""
    if not (picture or _is_text(file)):
        return "I can read text files and pictures only"
    if not limit:
        return "I am not set up to look at pictures" if picture else "I am not set up to read files"
    if file.size > limit:
        return f"at {readable_size(file.size)} it is larger than the {readable_size(limit)} I can read"
    if max(file.width, file.height) > _LARGEST_SIDE:
        return f"it is more than {_LARGEST_SIDE:,} pixels wide or high"
    return ""


def _is_text(file: AttachedFile) -> bool:
    kind = file.media_type.partition(";")[0].strip().lower()
    ending = file.name.rpartition(".")[2].lower()
    return kind.startswith("text/") or kind in _TEXT_TYPES or ending in _TEXT_ENDINGS


def _text(file: AttachedFile, content: bytes) -> FilePart:
    text = _decoded(content)
    if text is None:
        return _unread(file, "it is no text")
    whole = redact(clean(text))
    if not whole:
        return _unread(file, "it is empty")
    shown = cut_middle(whole, _MOST_CHARACTERS)
    note = "" if shown == whole else "it is longer than I can read at once, so I left out its middle"
    return replace(_unread(file, note), text=shown)


def _decoded(content: bytes) -> str | None:
    """The text of a file; None where it holds none."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    if b"\x00" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _picture(file: AttachedFile, content: bytes) -> FilePart | ImagePart:
    kinds = [kind for start, kind in _PICTURES if content.startswith(start)]
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kinds = ["image/webp"]
    if not kinds:
        return _unread(file, "I can look at PNG, JPEG, GIF and WebP pictures only")
    data = base64.b64encode(content).decode("ascii")
    return ImagePart(name=file.name, media_type=kinds[0], data=data, width=file.width, height=file.height)


def _unread(file: AttachedFile, reason: str) -> FilePart:
    return FilePart(name=file.name, media_type=file.media_type, size=file.size, note=reason)


def named(text: str, files: Sequence[AttachedFile]) -> str:
    """A message's words, and below them a line for each file with its name, kind and size.

    Args:
        text: the words.
        files: what came with them.
    """
    return "\n".join([text, *map(_line, files)]).strip()


def _line(file: AttachedFile) -> str:
    facts = [file.name, file.media_type, readable_size(file.size) if file.size else ""]
    return f"[attached: {', '.join(filter(None, facts))}]"
