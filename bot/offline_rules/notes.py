"""From what the person stated and wished to changes of core memory and the archive, and what to say about them.

Invariant: a change names the very line it replaces, and what stands there already is not written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.offline_rules.statements import Fact, facts_in
from bot.offline_rules.wishes import Forget, ListEdit, Wish
from bot.offline_rules.wording import terms, told

# Longer lines go to the archive, so that core memory stays short.
LONGEST_LINE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What to write.

    Attributes:
        appended: new lines of core memory.
        replaced: (old line, new line) of core memory; the new one is empty where a line is taken out.
        archived: texts for the archive.
        reply: what to tell the person.
    """

    appended: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...]
    archived: tuple[str, ...]
    reply: str


def changes(wishes: Sequence[Wish], core: Sequence[str]) -> Changes:
    """The changes that make core memory fit the wishes, one after the other.

    Args:
        wishes: facts stated and wishes made, in order.
        core: the lines of core memory as they stand.
    """
    draft = _Draft(core)
    for wish in wishes:
        match wish:
            case Fact():
                draft.state(wish)
            case ListEdit():
                draft.edit(wish)
            case Forget():
                draft.forget(wish)
    return draft.changes()


class _Draft:
    """Core memory while it is being changed. ``origin`` holds, for each line, the stored line it comes from."""

    def __init__(self, core: Sequence[str]) -> None:
        self._stored = tuple(core)
        self._origin: dict[str, str | None] = {line: line for line in core}
        self._archived: list[str] = []
        self._said: list[str] = []

    def state(self, fact: Fact) -> None:
        outdated = [line for line in self._origin if line.startswith(fact.replaces)] if fact.replaces else []
        if fact.line.lower() in map(str.lower, self._origin):
            self._said.append(f"I have that already: {told(fact.line)}")
        elif fact.tentative and outdated:
            self._said.append(f"I know you by another name. {told(outdated[0])}")
        else:
            self._write(fact.line, outdated)

    def edit(self, edit: ListEdit) -> None:
        beginning = f"{edit.name.capitalize()} list: "
        old = next((line for line in self._origin if line.startswith(beginning)), None)
        items = [item for item in old[len(beginning) :].rstrip(".").split(", ") if item] if old else []
        missing = [item for item in edit.remove if item not in map(str.lower, items)]
        kept = [item for item in items if item.lower() not in edit.remove]
        known = {item.lower() for item in kept}
        new = f"{beginning}{', '.join([*kept, *(item for item in edit.add if item.lower() not in known)])}."
        if missing:
            self._said.append(f"{', '.join(missing).capitalize()}: not on your {edit.name} list.")
        elif edit.add and len(new) > LONGEST_LINE:
            self._write(f"{beginning}{', '.join(edit.add)}.", [])
        elif old and not kept and not edit.add:
            self._drop(old, f"Your {edit.name} list is empty now.")
        elif old == new:
            self._said.append(f"I have that already: {told(new)}")
        else:
            self._write(new, [old] if old else [])

    def forget(self, wish: Forget) -> None:
        lines = {fact.line for fact in facts_in(wish.text, None)} & set(self._origin)
        wanted = terms(wish.text)
        lines = lines or {line for line in self._origin if wanted and wanted <= terms(line)}
        for line in [line for line in self._origin if line in lines]:
            self._drop(line, f"I took this out of my notes: {told(line)} The conversation itself still holds it.")
        if not lines:
            self._said.append("My notes hold nothing like that.")

    def changes(self) -> Changes:
        origins = {origin: line for line, origin in self._origin.items() if origin is not None}
        return Changes(
            appended=tuple(line for line, origin in self._origin.items() if origin is None),
            replaced=tuple((old, origins.get(old, "")) for old in self._stored if origins.get(old) != old),
            archived=tuple(self._archived),
            reply=" ".join(self._said),
        )

    def _write(self, line: str, outdated: Sequence[str]) -> None:
        if len(line) > LONGEST_LINE or "\n" in line:
            self._archived.append(line)
            self._said.append("I put that into the archive, word for word.")
            return
        origin = self._origin[outdated[0]] if outdated else None
        for old in outdated:
            del self._origin[old]
        self._origin[line] = origin
        if line.startswith("Name: ") and not outdated:
            self._said.append(f"Nice to meet you, {line[6:].rstrip('.')}!")
        else:
            self._said.append(f"Noted: {told(line)}")
        if outdated and " list: " not in line:
            self._said.append(f"(Before: {' '.join(map(told, outdated))})")

    def _drop(self, line: str, said: str) -> None:
        del self._origin[line]
        self._said.append(said)
