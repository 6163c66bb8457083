"""How a command is answered on Discord: in parts, with files, with a button to confirm.

Invariant: whatever is sent here is seen by the caller alone and mentions nobody. A button works once. What comes after
Discord has closed the way back goes into the caller's direct chat.
"""

from __future__ import annotations

import asyncio
import gzip
import io
from collections.abc import Awaitable, Callable

import aiohttp
import discord
import structlog

from adapters.discord_message import MESSAGE_LIMIT
from adapters.text import split
from bot.commands import Attachment, CommandReply

_log = structlog.get_logger(__name__)

_MOST_PARTS = 5
_LABEL_LIMIT = 80
# Discord takes changes of an answer for 15 minutes after the command.
_CONFIRM_WITHIN = 600.0

_CONTINUED = "\n\n*(This is only the beginning; all of it is in the attached file.)*"
_LATE = "This took longer than Discord waits for an answer, so here it is:"
# Unknown webhook, token expired: the way back was closed, and nothing of the answer was taken.
_CLOSED = frozenset({10015, 50027})
_TOO_LARGE = "The file is too large for Discord, even compressed. Whoever runs me can make it for you (`keepsake`)."

OnClick = Callable[[discord.Interaction], Awaitable[None]]
OnFailure = Callable[[discord.Interaction, Exception], Awaitable[None]]


class Confirmation(discord.ui.View):
    """A button that its caller may press once, within ten minutes.

    Args:
        label: what the button says.
        custom_id: its id.
        asked: the command that asks to confirm.
        confirmed: runs after the press, which is acknowledged already.
        failed: told what went wrong in ``confirmed``.
    """

    def __init__(
        self, *, label: str, custom_id: str, asked: discord.Interaction, confirmed: OnClick, failed: OnFailure
    ) -> None:
        super().__init__(timeout=_CONFIRM_WITHIN)
        self._caller = asked.user.id
        self._confirmed = confirmed
        self._failed = failed
        self.shown: discord.WebhookMessage | None = None
        button: discord.ui.Button[Confirmation] = discord.ui.Button(
            label=label[:_LABEL_LIMIT], style=discord.ButtonStyle.danger, custom_id=custom_id
        )
        button.callback = self._pressed  # type: ignore[method-assign]  # discord.py's own way for a button made here
        self.add_item(button)

    async def interaction_check(self, interaction: discord.Interaction, /) -> bool:
        """Whether the button may be pressed: by its caller."""
        return interaction.user.id == self._caller

    async def _pressed(self, interaction: discord.Interaction) -> None:
        if self.is_finished():  # pressed twice, faster than it disappears
            await interaction.response.defer()
            return
        self.stop()
        await interaction.response.edit_message(view=None)
        await self._confirmed(interaction)

    async def on_timeout(self) -> None:
        """Take the button away."""
        if self.shown is None:
            return
        try:
            await self.shown.edit(view=None)
        except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
            _log.info("discord_button_left", error=type(error).__name__)

    async def on_error(
        self, interaction: discord.Interaction, error: Exception, item: discord.ui.Item[Confirmation], /
    ) -> None:
        """Hand on what went wrong."""
        await self._failed(interaction, error)


async def send_reply(interaction: discord.Interaction, reply: CommandReply, below: discord.ui.View | None) -> None:
    """Answer a command that is acknowledged already: up to five parts, or the beginning and a file with all of it.

    Args:
        interaction: the command or the press of a button.
        reply: the answer.
        below: what stands below the answer.

    Raises:
        discord.HTTPException: Discord did not take a part.
    """
    try:
        await _follow_ups(interaction, reply, below)
    except discord.HTTPException as error:
        if error.code not in _CLOSED:
            raise
        await _send_direct(interaction, reply)


async def _follow_ups(interaction: discord.Interaction, reply: CommandReply, below: discord.ui.View | None) -> None:
    texts, files = await _ready(interaction, reply)
    for text in texts[:-1]:
        await _follow_up(interaction, text)
    shown = await _follow_up(interaction, texts[-1] if texts else "", files, below)
    if isinstance(below, Confirmation):
        below.shown = shown


async def _send_direct(interaction: discord.Interaction, reply: CommandReply) -> None:
    texts, files = await _ready(interaction, reply)
    nobody = discord.AllowedMentions.none()
    for text in (_LATE, *texts):
        await interaction.user.send(text, suppress_embeds=True, allowed_mentions=nobody)
    if files:
        await interaction.user.send(files=files)


async def _ready(interaction: discord.Interaction, reply: CommandReply) -> tuple[list[str], list[discord.File]]:
    """The parts of an answer, and its files as far as Discord takes them."""
    texts, attachments = _laid_out(reply)
    files = []
    for attachment in attachments:
        fitting = await asyncio.to_thread(_fitted, attachment, interaction.filesize_limit)
        if fitting is None:
            texts.append(_TOO_LARGE)
        else:
            files.append(discord.File(io.BytesIO(fitting.content), filename=fitting.name))
    return texts, files


async def tell(interaction: discord.Interaction, text: str) -> None:
    """Say one sentence to the caller, whether the interaction is acknowledged or not; never raises."""
    try:
        if interaction.response.is_done():
            await _follow_up(interaction, text)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
        _log.warning("discord_command_unanswered", error=type(error).__name__, interaction_id=interaction.id)


async def _follow_up(
    interaction: discord.Interaction,
    text: str,
    files: list[discord.File] | None = None,
    view: discord.ui.View | None = None,
) -> discord.WebhookMessage:
    return await interaction.followup.send(
        text,
        files=files or [],
        view=discord.utils.MISSING if view is None else view,
        ephemeral=True,
        suppress_embeds=True,
        allowed_mentions=discord.AllowedMentions.none(),
        wait=True,
    )


def _laid_out(reply: CommandReply) -> tuple[list[str], list[Attachment]]:
    attachments = [reply.attachment] if reply.attachment is not None else []
    parts = split(reply.text, MESSAGE_LIMIT)
    if len(parts) <= _MOST_PARTS:
        return parts, attachments
    beginning = split(reply.text, MESSAGE_LIMIT - len(_CONTINUED))[0]
    whole = Attachment(name="answer.md", content=reply.text.encode())
    return [beginning + _CONTINUED], [whole, *attachments]


def _fitted(attachment: Attachment, limit: int) -> Attachment | None:
    """The file, compressed if it has to be; None where that does not help. The limit is in bytes."""
    if len(attachment.content) <= limit:
        return attachment
    packed = gzip.compress(attachment.content, mtime=0)
    return Attachment(name=f"{attachment.name}.gz", content=packed) if len(packed) <= limit else None
