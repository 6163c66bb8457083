"""``/mydata``: what everyone may do with their own memory.

Invariant: nothing here takes a person as an argument; it is always the caller's own memory.
"""

from __future__ import annotations

import json
from zoneinfo import available_timezones

from bot import command_views as views
from bot.commands import Argument, Attachment, Command, CommandReply, Group, Invocation, Offer, Services
from memory.errors import InvalidInput
from memory.policy.audience import reach_of_person, scope_of
from memory.records import Scope

_AUDIT_ENTRIES = 30
_ERASE = "ERASE"
_DEFAULT_ZONE = "default"


async def _show(services: Services, call: Invocation) -> CommandReply:
    oversight = services.system.oversight
    found = [await oversight.overview(scope) for scope in await oversight.scopes_of(call.caller.person)]
    if not found:
        return CommandReply(text="I remember nothing about you.")
    shown = "\n\n".join(views.overview(one) for one in found)
    paused = (await services.system.stores.consent.load(_scope(services, call))).paused_at
    note = f"\n\nPaused since {views.moment(paused)}: nothing new is remembered." if paused else ""
    return CommandReply(text=shown + note, offers=own_offers(paused=paused is not None))


def own_offers(*, paused: bool) -> tuple[Offer, ...]:
    """What can be done with all of one's own memory."""
    names = ("resume" if paused else "pause", "audit", "export", "erase")
    return (Offer(action="facts", subject="1"), *(Offer(action=name) for name in names))


async def _audit(services: Services, call: Invocation) -> CommandReply:
    entries = await services.system.stores.audit.recent(reach_of_person(call.caller.person), limit=_AUDIT_ENTRIES)
    return CommandReply(text="Who looked at or changed what I remember about you:\n" + views.audit(entries))


async def _pause(services: Services, call: Invocation) -> CommandReply:
    if not await services.system.oversight.sittings.pause(_scope(services, call)):
        return CommandReply(text="It is paused already. `/mydata resume` ends that.", succeeded=False)
    return CommandReply(
        text="From now on I remember nothing new, anywhere. What I knew before I still use. `/mydata resume` ends that."
    )


async def _resume(services: Services, call: Invocation) -> CommandReply:
    if not await services.system.oversight.sittings.resume(_scope(services, call)):
        return CommandReply(text="It is not paused: I remember what you say.", succeeded=False)
    return CommandReply(text="I remember again, from now on.")


async def _incognito(services: Services, call: Invocation) -> CommandReply:
    scope, where = _scope(services, call), call.conversation
    sittings = services.system.oversight.sittings
    paused = (await services.system.stores.consent.load(scope)).paused_at is not None
    if paused and not await sittings.is_off_record(scope, where.key):
        return CommandReply(text="Memory is paused, so nothing is remembered here anyway.", succeeded=False)
    if await sittings.off_record(scope, conversation=where.key, community=where.community):
        return CommandReply(
            text="From now on nothing of this conversation is remembered, until you call this again. "
            "What I knew before I still use."
        )
    if paused:
        return CommandReply(text="This conversation is no longer off the record, but memory is paused everywhere.")
    return CommandReply(text="What was said off the record is gone. From now on I remember this conversation again.")


async def _new(services: Services, call: Invocation) -> CommandReply:
    await services.system.oversight.sittings.fresh(_scope(services, call), conversation=call.conversation.key)
    return CommandReply(text="A fresh conversation. What I remember about you stays.")


async def _timezone(services: Services, call: Invocation) -> CommandReply:
    preferences, scope = services.system.stores.preferences, _scope(services, call)
    name = call.arguments.get("zone")
    if name is not None:
        zone = None if name.lower() == _DEFAULT_ZONE else _known_zone(name)
        async with services.system.transaction() as tx:
            await preferences.set_zone(scope, tx, name=zone)
    zone_now = await preferences.zone(scope)
    here = services.clock.now().astimezone(zone_now)
    return CommandReply(text=f"Your time zone is {zone_now.key}: it is {here:%Y-%m-%d %H:%M} now.")


def _known_zone(name: str) -> str:
    known = {zone.lower(): zone for zone in available_timezones()}
    if name.lower() not in known:
        raise InvalidInput(f"{name[:40]!r} is no time zone. Write a place of it, as Europe/Oslo or America/New_York.")
    return known[name.lower()]


async def _export(services: Services, call: Invocation) -> CommandReply:
    exported = await services.system.privacy.export(call.caller.person)
    content = json.dumps(exported, ensure_ascii=False, indent=2).encode()
    name = f"keepsake-{call.caller.person.replace(':', '-')}.json"
    return CommandReply(
        text="Everything that is kept about you is in this file.", attachment=Attachment(name=name, content=content)
    )


async def _erase(services: Services, call: Invocation) -> CommandReply:
    if call.arguments["confirm"] != _ERASE:
        raise InvalidInput(f"Nothing was erased. To erase everything for good, write: /mydata erase confirm:{_ERASE}")
    return CommandReply(text=views.receipt(await services.system.privacy.erase(call.caller.person)))


def _scope(services: Services, call: Invocation) -> Scope:
    return scope_of(call.caller.person, call.conversation.audience, services.system.parameters.sharing)


MYDATA_COMMANDS: tuple[Command, ...] = (
    Command(group=Group.MYDATA, name="show", help="What I remember about you.", run=_show),
    Command(group=Group.MYDATA, name="audit", help="Who looked at or changed it.", run=_audit),
    Command(group=Group.MYDATA, name="pause", help="Remember nothing new from now on.", run=_pause),
    Command(group=Group.MYDATA, name="resume", help="Remember again.", run=_resume),
    Command(
        group=Group.MYDATA,
        name="incognito",
        help="Remember nothing of this conversation; once more to go back.",
        run=_incognito,
        in_conversation=True,
    ),
    Command(
        group=Group.MYDATA,
        name="new",
        help="Begin a fresh conversation; memory stays.",
        run=_new,
        in_conversation=True,
    ),
    Command(
        group=Group.MYDATA,
        name="timezone",
        help="Say in which time zone you mean times.",
        run=_timezone,
        arguments=(Argument(name="zone", help="Its name, as Europe/Oslo, or default.", required=False),),
    ),
    Command(group=Group.MYDATA, name="export", help="Get everything kept about you as a file.", run=_export),
    Command(
        group=Group.MYDATA,
        name="erase",
        help="Erase everything kept about you, for good.",
        run=_erase,
        arguments=(Argument(name="confirm", help=f"The word {_ERASE}, in capitals."),),
    ),
)
