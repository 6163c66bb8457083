"""The commands around facts: see them, ask why, forget, correct and pin one's own; history and revert for admins.

Invariant: as in ``bot/commands_mydata.py`` and ``bot/commands_memory.py``, whose rows these join.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import fact_views as views
from bot.command_targets import Target, about_person, noted, target, with_hint
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Offer, Services, Suggestion
from bot.fact_names import chosen_fact, chosen_revision, of_fact
from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.audience import reach_of_person, reach_of_scope, scope_of
from memory.policy.text import clean
from memory.processes.provenance import Explanation
from memory.records import By, Fact, FactRevision, FactState, Reach, Source
from memory.stores.answer_posts import ExchangeKey

_LISTED = 100
FACTS_ON_A_PAGE = 25  # what the narrowest menu takes
_FOUND = 10
_CHANGES = 20
_ALL_CHANGES = 10_000


async def listed_facts(services: Services, reach: Reach, query: str | None) -> list[Fact]:
    """Current facts within reach: the newest first, or those that answer a query best."""
    facts = services.system.stores.facts
    if query is None:
        return sorted(await facts.within(reach), key=lambda fact: (fact.updated_at, fact.id), reverse=True)
    hits = await facts.search(reach, clean(query), limit=_FOUND)
    by_id = {fact.id: fact for fact in await facts.get(reach, [hit.record_id for hit in hits])}
    return [by_id[hit.record_id] for hit in hits if hit.record_id in by_id]


async def _facts(services: Services, call: Invocation) -> CommandReply:
    query = call.arguments.get("query")
    found = await listed_facts(services, reach_of_person(call.caller.person), query)
    if not found:
        return CommandReply(text="I know no facts about you yet.")
    heading = "What I know about you, newest first:" if query is None else "What fits best of what I know about you:"
    more = (Offer(action="facts", subject="2", label="Older facts"),) if len(found) > FACTS_ON_A_PAGE else ()
    return CommandReply(text=f"{heading}\n{_shown(found)}", choices=fact_choices(found), offers=more)


def fact_choices(facts: Sequence[Fact]) -> tuple[Offer, ...]:
    """What a menu of facts offers: each to be looked at, and then corrected, pinned or forgotten."""
    return tuple(
        Offer(action="fact", subject=handle_of(fact.id), label=views.in_a_line(fact.text))
        for fact in facts[:FACTS_ON_A_PAGE]
    )


def fact_offers(fact: Fact) -> tuple[Offer, ...]:
    """What can be done with a fact of one's own."""
    names = ("correct", "unpin" if fact.pinned else "pin", "forget")
    return tuple(Offer(action=name, subject=handle_of(fact.id)) for name in names)


async def _why(services: Services, call: Invocation) -> CommandReply:
    if call.message is not None:
        return await _why_this(services, call, call.message)
    where = call.conversation
    scope = scope_of(call.caller.person, where.audience, services.system.parameters.sharing)
    session = await services.system.stores.sessions.open(scope, where.key)
    if session is not None and not session.kept:
        return CommandReply(
            text="Nothing of this conversation is remembered, and so not what my replies were given.", succeeded=False
        )
    found = await services.system.oversight.provenance.of_last_reply(scope, where.key)
    if found is None:
        return CommandReply(text="I have not replied to you here yet.", succeeded=False)
    return await _explained(services, call, found, "last")


async def _why_this(services: Services, call: Invocation, message: str) -> CommandReply:
    exchange = await own_exchange(services, call, message)
    found = await services.system.oversight.provenance.of_exchange(exchange.scope, exchange.exchange_id)
    if found is None:
        return CommandReply(text="What so old an answer was given is not kept any more.", succeeded=False)
    return await _explained(services, call, found, "this")


async def own_exchange(services: Services, call: Invocation, message: str) -> ExchangeKey:
    """The exchange of the caller's that a message here belongs to. Raises InvalidInput."""
    posts, reach = services.system.stores.answer_posts, reach_of_person(call.caller.person)
    exchange = await posts.exchange_at(reach, call.conversation.key, message)
    if exchange is None:
        raise InvalidInput("This is neither an answer to you nor anything that I keep of you.")
    return exchange


async def _explained(services: Services, call: Invocation, found: Explanation, which: str) -> CommandReply:
    names = {one.source.record_id for one in found.given if one.source.source is Source.FACT}
    facts = await services.system.stores.facts.get(reach_of_person(call.caller.person), sorted(names))
    current = [fact for fact in facts if fact.state is FactState.CURRENT]
    return CommandReply(text=views.explanation(found, call.link_to, which=which), choices=fact_choices(current))


async def _forget(services: Services, call: Invocation) -> CommandReply:
    fact = await own_fact(services, call)
    await services.system.oversight.facts.forget(fact.scope, fact.id, by=_own(call))
    return CommandReply(
        text=f"Forgotten, and not learned again from what was said before:\n{_shown([fact])}\n"
        "What you once wrote stays in the log of messages, and in summaries of them; `/mydata erase` erases everything."
    )


async def _correct(services: Services, call: Invocation) -> CommandReply:
    fact = await own_fact(services, call)
    corrected = await services.system.oversight.facts.correct(
        fact.scope, fact.id, call.arguments["text"], by=_own(call)
    )
    return CommandReply(text=f"Corrected:\n{_shown([corrected])}")


async def _pin(services: Services, call: Invocation) -> CommandReply:
    fact = await own_fact(services, call)
    pinned = await services.system.oversight.facts.pin(fact.scope, fact.id, pinned=True, by=_own(call))
    return CommandReply(text=f"Pinned: whatever I learn, this stays until you unpin it.\n{_shown([pinned])}")


async def _unpin(services: Services, call: Invocation) -> CommandReply:
    fact = await own_fact(services, call)
    unpinned = await services.system.oversight.facts.pin(fact.scope, fact.id, pinned=False, by=_own(call))
    return CommandReply(text=f"No longer pinned:\n{_shown([unpinned])}")


async def _memory_facts(services: Services, call: Invocation) -> CommandReply:
    about = await target(services, call)
    found = await listed_facts(services, reach_of_scope(about.scope), None)
    await noted(services, about, "memory facts")
    text = _shown(found, blind=about.blind) if found else "No facts are known."
    return CommandReply(text=with_hint(text, about))


async def _history(services: Services, call: Invocation) -> CommandReply:
    about, said = await target(services, call), call.arguments.get("fact")
    found = await _changes(services, about, _CHANGES if said is None else _ALL_CHANGES)
    if said is not None:
        found = of_fact(found, said, by_words=not about.blind)[:_CHANGES]
    await noted(services, about, "memory history")
    text = views.history(found, blind=about.blind) or "No fact was ever learned."
    return CommandReply(text=with_hint(text, about))


async def _revert(services: Services, call: Invocation) -> CommandReply:
    about, care = await target(services, call), services.system.oversight.facts
    revision = chosen_revision(await _changes(services, about, _ALL_CHANGES), call.arguments["revision"])
    if not call.confirmed:
        before, after = await care.without(about.scope, revision.id)
        await noted(services, about, "memory revert preview", f"revision {handle_of(revision.id)}")
        text = f"Taking this back:\n- {views.revision_line(revision)}\nchanges this:\n{_change(before, after, about)}"
        return CommandReply(text=with_hint(text, about), confirm="Revert")
    before, after = await care.revert(about.scope, revision.id, by=about.by)
    text = f"Done, as a new change, which can be reverted in the same way:\n{_change(before, after, about)}"
    return CommandReply(text=with_hint(text, about))


def _change(before: Fact, after: Fact, about: Target) -> str:
    text = views.change(before, after, blind=about.blind)
    if before.superseded_by is None or after.state is not FactState.CURRENT:
        return text
    return f"{text}\nThe fact that took its place, {handle_of(before.superseded_by)}, stays as it is."


def _shown(facts: Sequence[Fact], *, blind: bool = False) -> str:
    shown = views.fact_list(facts[:_LISTED], blind=blind)
    more = len(facts) - _LISTED
    return shown if more <= 0 else f"{shown}\nand {more:,} older ones."


def _own(call: Invocation) -> By:
    return By(person=call.caller.person, own=True)


async def own_fact(services: Services, call: Invocation) -> Fact:
    """The fact of the caller's that the argument ``fact`` names. Raises InvalidInput."""
    facts = await services.system.stores.facts.within(reach_of_person(call.caller.person))
    return chosen_fact(facts, call.arguments["fact"])


async def _changes(services: Services, about: Target, limit: int) -> list[FactRevision]:
    return await services.system.stores.facts.history(reach_of_scope(about.scope), limit=limit)


async def _suggest_own_facts(services: Services, call: Invocation) -> Sequence[Suggestion]:
    found = await listed_facts(services, reach_of_person(call.caller.person), None)
    return [Suggestion(value=handle_of(fact.id), label=views.in_a_line(fact.text)) for fact in found]


async def _suggest_facts(services: Services, call: Invocation) -> Sequence[Suggestion]:
    about = await target(services, call)
    found = await listed_facts(services, reach_of_scope(about.scope), None)
    return [
        Suggestion(
            value=handle_of(fact.id),
            label=views.fact_line(fact, blind=True) if about.blind else views.in_a_line(fact.text),
        )
        for fact in found
    ]


async def _suggest_revisions(services: Services, call: Invocation) -> Sequence[Suggestion]:
    about = await target(services, call)
    return [
        Suggestion(value=handle_of(one.id), label=views.revision_line(one) if about.blind else _label(one))
        for one in await _changes(services, about, _LISTED)
    ]


def _label(revision: FactRevision) -> str:
    text = views.in_a_line(revision.after or revision.before or "")
    return f"{revision.changed_at:%Y-%m-%d} {revision.action}: {text}"


_FACT = Argument(name="fact", help="Its name in /mydata facts, or words of it.", suggest=_suggest_own_facts)

MYDATA_FACT_COMMANDS: tuple[Command, ...] = (
    Command(
        group=Group.MYDATA,
        name="facts",
        help="The facts I know about you.",
        run=_facts,
        arguments=(Argument(name="query", help="Only what fits this best.", required=False),),
    ),
    Command(
        group=Group.MYDATA,
        name="why",
        help="What my last reply here was given from memory, and where that comes from.",
        run=_why,
        in_conversation=True,
    ),
    Command(group=Group.MYDATA, name="forget", help="Forget a fact about you.", run=_forget, arguments=(_FACT,)),
    Command(
        group=Group.MYDATA,
        name="correct",
        help="Put a fact about you right.",
        run=_correct,
        arguments=(_FACT, Argument(name="text", help="What is right, in one short sentence.")),
    ),
    Command(group=Group.MYDATA, name="pin", help="Keep a fact, whatever I learn later.", run=_pin, arguments=(_FACT,)),
    Command(
        group=Group.MYDATA, name="unpin", help="Let a pinned fact be changed again.", run=_unpin, arguments=(_FACT,)
    ),
)

MEMORY_FACT_COMMANDS: tuple[Command, ...] = (
    about_person("facts", "The facts that are known about a person.", _memory_facts),
    about_person(
        "history",
        "What was learned, changed and forgotten about a person, when, why and by whom.",
        _history,
        Argument(name="fact", help="Only this one: its name, or words of it.", required=False, suggest=_suggest_facts),
    ),
    about_person(
        "revert",
        "Take one change of one fact back.",
        _revert,
        Argument(name="revision", help="Its name in the history.", suggest=_suggest_revisions),
    ),
)
