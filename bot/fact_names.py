"""How facts and their changes are named in commands: by their handle, or a fact by words that stand in it alone.

Invariant: what is not named for certain is not acted on.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.fact_text import normalised
from memory.records import Fact, FactRevision

_SHOWN = 40  # characters of what was typed, in an error
_OFFERED = 10  # facts named in an error


def chosen_fact(facts: Sequence[Fact], said: str) -> Fact:
    """The one fact that is meant.

    Args:
        facts: to choose from.
        said: its handle, its words, or words that stand in no other of them.

    Raises:
        InvalidInput: none of them is meant, or several may be.
    """
    words = normalised(said)
    found = (
        [fact for fact in facts if handle_of(fact.id) == words]
        or [fact for fact in facts if normalised(fact.text) == words]
        or [fact for fact in facts if words and words in normalised(fact.text)]
    )
    if not found:
        raise InvalidInput(f"There is no fact {said[:_SHOWN]!r}. The command `facts` lists them with their names.")
    if len(found) > 1:
        names = ", ".join(handle_of(fact.id) for fact in found[:_OFFERED])
        raise InvalidInput(f"Several facts have these words. Name one of them: {names}.")
    return found[0]


def chosen_revision(revisions: Sequence[FactRevision], said: str) -> FactRevision:
    """The change of this handle.

    Raises:
        InvalidInput: there is none.
    """
    found = next((one for one in revisions if handle_of(one.id) == said.lower()), None)
    if found is None:
        raise InvalidInput(f"There is no revision {said[:_SHOWN]!r}. The command `history` names them.")
    return found


def of_fact(revisions: Sequence[FactRevision], said: str, *, by_words: bool = True) -> list[FactRevision]:
    """The changes of the facts that are meant, in their order.

    Args:
        revisions: to choose from.
        said: a fact's handle, or words that it had at any time.
        by_words: False where the caller must not find out what facts say.

    Raises:
        InvalidInput: there are none.
    """
    words = normalised(said)
    meant = {one.fact_id for one in revisions if handle_of(one.fact_id) == words}
    if by_words and words and not meant:
        meant = {one.fact_id for one in revisions if words in normalised(f"{one.before or ''} {one.after or ''}")}
    if not meant:
        raise InvalidInput(f"There is no fact {said[:_SHOWN]!r} in the history.")
    return [one for one in revisions if one.fact_id in meant]
