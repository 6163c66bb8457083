"""``/memory silence``, ``unsilence`` and ``channel``: when the bot speaks in the channel that they are called in.

Invariant: a direct chat has nothing to choose; whoever writes there wants an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat import Conversation
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Services, Suggestion
from memory.errors import InvalidInput
from memory.records import ChannelMode

MODES = {
    ChannelMode.MENTION: "when somebody mentions me or replies to me",
    ChannelMode.THREADS: "when somebody mentions me or replies to me, and in threads I take part in",
    ChannelMode.OPEN: "whatever is said, unless it is addressed to somebody else",
}


async def _silence(services: Services, call: Invocation) -> CommandReply:
    where = _channel_of(call)
    async with services.system.transaction() as tx:
        await services.system.stores.channels.silence(
            tx, conversation=where.key, community=_community(where), at=services.clock.now()
        )
    return CommandReply(
        text="I am silent in this channel: I neither answer nor keep anything that is said here, until "
        "`/memory unsilence`."
    )


async def _unsilence(services: Services, call: Invocation) -> CommandReply:
    where, channels = call.conversation, services.system.stores.channels
    if not (await channels.load(where.key, where.parent)).silenced:
        return CommandReply(text="I am not silenced here.", succeeded=False)
    async with services.system.transaction() as tx:
        await channels.unsilence(tx, conversation=where.key, parent=where.parent)
    return CommandReply(text="I answer in this channel again.")


async def _channel(services: Services, call: Invocation) -> CommandReply:
    where, wanted = _channel_of(call), call.arguments.get("mode")
    channels = services.system.stores.channels
    if wanted is None:
        mode = (await channels.load(where.key, where.parent)).mode or services.channel_mode
        return CommandReply(text=f"{mode}: in this channel I answer {MODES[mode]}.")
    mode = _mode(wanted)
    async with services.system.transaction() as tx:
        await channels.choose(tx, conversation=where.key, community=_community(where), mode=mode)
    return CommandReply(text=f"From now on I answer in this channel {MODES[mode]}.")


def _mode(wanted: str) -> ChannelMode:
    try:
        return ChannelMode(wanted.lower())
    except ValueError as error:
        raise InvalidInput(
            f"{wanted[:40]!r} is none of {', '.join(ChannelMode)}. Write: /memory channel open"
        ) from error


def _channel_of(call: Invocation) -> Conversation:
    if call.conversation.is_direct:
        raise InvalidInput("In a direct chat I always answer. Use this in a channel.")
    return call.conversation


def _community(where: Conversation) -> str:
    return where.community or where.audience


async def _suggest_modes(services: Services, call: Invocation) -> Sequence[Suggestion]:
    return [Suggestion(value=mode, label=f"{mode}: {when}") for mode, when in MODES.items()]


CHANNEL_COMMANDS: tuple[Command, ...] = (
    Command(group=Group.MEMORY, name="silence", help="Neither answer nor keep anything in this channel.", run=_silence),
    Command(group=Group.MEMORY, name="unsilence", help="Answer in this channel again.", run=_unsilence),
    Command(
        group=Group.MEMORY,
        name="channel",
        help="When I answer in this channel.",
        run=_channel,
        arguments=(Argument(name="mode", help="mention, threads or open.", required=False, suggest=_suggest_modes),),
    ),
)
