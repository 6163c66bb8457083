"""How facts, their history and the reasons of a reply are shown, as Markdown. Pure.

Invariant: remembered text stands in a code block that it cannot close, one fact a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.command_views import difference, fenced, moment
from bot.commands import LinkTo, MessagePlace
from memory.ids import handle_of
from memory.processes.provenance import Explanation, Given, SourceMessage
from memory.records import Fact, FactRevision, FactState, Source

_EXCERPT = 300  # characters of a message or document
_KINDS = {
    Source.FACT: "fact",
    Source.RECALL: "message",
    Source.ARCHIVAL: "document",
    Source.JOURNAL: "note",
    Source.EPISODE: "story of a conversation",
    Source.PROCEDURE: "procedure",
    Source.ENTRY: "recent event",
}


def in_a_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def fact_line(fact: Fact, *, blind: bool = False) -> str:
    """A fact in a line: its name, since when, what it says, who may hear it.

    Args:
        fact: which.
        blind: leave out what it says.
    """
    text = "" if blind else f"  {in_a_line(fact.text)}"
    pinned = ", pinned" if fact.pinned else ""
    return f"{handle_of(fact.id)}  {_since(fact)}{text}  ({fact.scope.audience}{pinned})"


def fact_list(facts: Iterable[Fact], *, blind: bool = False) -> str:
    """Facts, in their order."""
    return fenced("\n".join(fact_line(fact, blind=blind) for fact in facts))


def revision_line(revision: FactRevision) -> str:
    """A change in a line: its name, when, of which fact, what, why and by whom."""
    change = revision.change
    job = f", job {change.job}" if change.job else ""
    return (
        f"{handle_of(revision.id)}, {moment(revision.changed_at)}, fact {handle_of(revision.fact_id)}, "
        f"{revision.action}: {change.reason} ({change.actor}{job})"
    )


def history(revisions: Sequence[FactRevision], *, blind: bool = False) -> str:
    """Changes in their order, each with the text before and after."""
    if blind:
        return "\n".join(f"- {revision_line(one)}" for one in revisions)
    return "\n".join(f"- {revision_line(one)}\n{_changed(one)}" for one in revisions)


def change(before: Fact, after: Fact, *, blind: bool = False) -> str:
    """What changes of a fact: its text where it has one, and whether it is current and pinned."""
    states = f"fact {handle_of(before.id)}: {_state(before)} -> {_state(after)}"
    return states if blind else f"{states}\n{difference(_text(before), _text(after))}"


def explanation(found: Explanation, link_to: LinkTo, *, which: str = "last") -> str:
    """What a reply was given, each with its reason, its date and where it comes from.

    Args:
        found: what it was given.
        link_to: links to messages.
        which: reply it is, ``last`` or ``this``.
    """
    asked = f" to what you wrote ({_where(found.asked, link_to)})" if found.asked else ""
    reply = "My last reply here" if which == "last" else "This reply"
    heading = f"{reply}{asked}, of {moment(found.at)}, "
    if not found.given:
        return f"{heading}was given nothing from memory but what `/mydata show` shows and this conversation itself."
    given = [f"{number}. {_given(one, link_to)}" for number, one in enumerate(found.given, start=1)]
    beside = "was given this, besides what `/mydata show` shows and this conversation itself:"
    return "\n".join([heading + beside, *given])


def _given(given: Given, link_to: LinkTo) -> str:
    source = given.source
    name = f" {handle_of(source.record_id)}" if source.source is Source.FACT else ""
    kind = f"{_KINDS[source.source]}{name}"
    if given.text is None or given.at is None:
        return f"A {kind} that was forgotten or deleted since ({source.reason})."
    replaced = "" if given.still_true else ", replaced since"
    origin = ", ".join(_where(message, link_to) for message in given.messages)
    comes = f", from {origin}" if origin else ""
    heard = f"heard by {source.scope.audience}"
    line = f"A {kind} of {moment(given.at)}, {heard}{replaced}, because of {source.reason}{comes}"
    return f"{line}\n{fenced(_excerpt(given.text))}"


def _where(said: SourceMessage, link_to: LinkTo) -> str:
    """A link to a message, or else its date."""
    message = said.message
    link = message.platform_id and link_to(
        MessagePlace(
            conversation=message.conversation,
            audience=message.scope.audience,
            community=said.community,
            platform_id=message.platform_id,
        )
    )
    return link or f"a message of {moment(message.sent_at)}"


def _changed(revision: FactRevision) -> str:
    before, after = revision.before or "", revision.after or ""
    shown = fenced(after) if before == after else difference(before, after)
    if revision.candidate is None or revision.candidate in (before, after):
        return shown
    return f"{shown}\nbecause of\n{fenced(revision.candidate)}"


def _state(fact: Fact) -> str:
    return f"{fact.state}, pinned" if fact.pinned else fact.state


def _text(fact: Fact) -> str:
    return fact.text if fact.state is FactState.CURRENT else ""


def _since(fact: Fact) -> str:
    return f"{fact.valid_from or fact.updated_at:%Y-%m-%d}"


def _excerpt(text: str) -> str:
    text = in_a_line(text)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"
