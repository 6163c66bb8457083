"""Commands that only actions call, because what they are about is clicked on and not typed.

Invariant: as in ``bot/commands_mydata.py``: it is always the caller's own memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import fact_views as views
from bot.command_targets import number
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Offer, Services, Suggestion
from bot.commands_facts import FACTS_ON_A_PAGE, fact_choices, fact_offers, listed_facts, own_exchange, own_fact
from memory.policy.audience import reach_of_person
from memory.records import By, Fact


def page_of(facts: Sequence[Fact], page: int, size: int) -> tuple[Sequence[Fact], str, tuple[Offer, ...]]:
    """Some of the facts, which they are, and the buttons to the others.

    Args:
        facts: all of them; not empty.
        page: counted from 1; one that there is not is taken for the nearest.
        size: facts on a page.
    """
    pages = -(-len(facts) // size)
    page = min(max(page, 1), pages)
    first = (page - 1) * size
    shown = facts[first : first + size]
    newer = (Offer(action="facts", subject=str(page - 1), label="Newer facts"),) if page > 1 else ()
    older = (Offer(action="facts", subject=str(page + 1), label="Older facts"),) if page < pages else ()
    return shown, f"facts {first + 1} to {first + len(shown)} of {len(facts):,}", (*newer, *older)


async def _fact(services: Services, call: Invocation) -> CommandReply:
    fact = await own_fact(services, call)
    return CommandReply(text=views.fact_list([fact]), offers=fact_offers(fact))


async def _facts_page(services: Services, call: Invocation) -> CommandReply:
    facts = await listed_facts(services, reach_of_person(call.caller.person), None)
    if not facts:
        return CommandReply(text="I know no facts about you yet.")
    shown, which, offers = page_of(facts, number(call, "page") or 1, FACTS_ON_A_PAGE)
    text = f"What I know about you, {which}, newest first:\n{views.fact_list(shown)}"
    return CommandReply(text=text, choices=fact_choices(shown), offers=offers)


async def _forget_exchange(services: Services, call: Invocation) -> CommandReply:
    message = call.arguments["message"]
    exchange = await own_exchange(services, call, message)
    if not await services.system.oversight.forget_exchange(exchange, by=By(person=call.caller.person, own=True)):
        return CommandReply(text="It is forgotten already.", succeeded=False)
    services.system.talk.retract(call.conversation.key, [message])
    return CommandReply(text="Forgotten: what you wrote, my answer, and all that I learned or saved from the two.")


async def suggest_present_text(services: Services, call: Invocation) -> Sequence[Suggestion]:
    """What the fact that is to be corrected says now."""
    fact = await own_fact(services, call)
    return [Suggestion(value=fact.text, label=fact.text)]


FACT_COMMAND = Command(
    group=Group.MYDATA,
    name="fact",
    help="One fact, and what can be done with it.",
    run=_fact,
    arguments=(Argument(name="fact", help="Its name."),),
)
FACTS_PAGE_COMMAND = Command(
    group=Group.MYDATA,
    name="facts-page",
    help="Some of the facts I know about you.",
    run=_facts_page,
    arguments=(Argument(name="page", help="Its number."),),
)
FORGET_EXCHANGE_COMMAND = Command(
    group=Group.MYDATA,
    name="forget-message",
    help="Forget what was said in a message, and the answer.",
    run=_forget_exchange,
    arguments=(Argument(name="message", help="Its id."),),
)
