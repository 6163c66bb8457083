"""How well lasting facts are learned: what is taken in, left out, kept apart, replaced and forgotten.

Run it as ``python bench/learning.py``; see docs/learning.md for what the rows mean.

Invariant: every item is told by a person of its own to a whole application; what is judged stands in the database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from learning_world import learning_world, memory_model, snapshots
from rich.console import Console
from rich.table import Table

from bot.logs import configure_logs
from memory.records import Fact

DATA = Path(__file__).parent / "data"

Item = Mapping[str, Any]
Known = Sequence[Sequence[Fact]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A row of the table.

    Attributes:
        name: what is counted.
        count: how often it happened.
        of: how often it could have.
        most: the largest count that is good enough; None where the more the better.
        cases: what was said in each case that is not as it should be.
    """

    name: str
    count: int
    of: int
    most: int | None
    cases: tuple[str, ...]


def load(name: str) -> list[Item]:
    """A data set by its name."""
    items: list[Item] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return items


def scripts() -> Iterator[tuple[str, list[str]]]:
    """What each person says, over all data sets. A person is the data set's name and the item's number."""
    for name in ("statements", "others", "junk"):
        yield from ((f"{name}-{number}", [item["say"]]) for number, item in enumerate(load(name)))
    yield from ((f"secrets-{number}", ["".join(item["say"])]) for number, item in enumerate(load("secrets")))
    for name in ("compatible", "contradictions", "distinct", "updates"):
        yield from ((f"{name}-{number}", [item["first"], item["then"]]) for number, item in enumerate(load(name)))
    # Told alone, the second of two shows whether it is taken in at all.
    yield from ((f"alone-{number}", [item["then"]]) for number, item in enumerate(load("distinct")))
    yield from ((f"forget-{number}", [item["first"], item["ask"]]) for number, item in enumerate(load("forget")))
    groups = [item["says"] for item in load("paraphrases")]
    yield "paraphrases", [says[turn] for turn in range(len(groups[0])) for says in groups]


def scores(known: Mapping[str, Known], stored: bytes) -> list[Score]:
    """The table.

    Args:
        known: what was known of each person after each of their messages.
        stored: the bytes of the whole database.
    """
    return [
        _bad("junk: messages that left a fact", "junk", known, lambda item, after: bool(after[-1]), most=3),
        *_taken_in(known),
        _bad("false supersede: a true fact retired", "compatible", known, _retires_one, most=0),
        _bad("contradiction left standing", "contradictions", known, _leaves_the_old, most=None),
        _false_merges(known),
        _bad("lost detail on update", "updates", known, lambda item, after: not _holds_all(after[-1], item["keep"])),
        _bad("not forgotten when asked to", "forget", known, lambda item, after: _holds(after[-1], item["gone"])),
        *_paraphrases(known),
        _secrets(stored),
    ]


def _bad(
    name: str,
    data: str,
    known: Mapping[str, Known],
    is_bad: Callable[[Item, Known], bool],
    *,
    most: int | None = None,
) -> Score:
    items = load(data)
    bad = [item for number, item in enumerate(items) if is_bad(item, known[f"{data}-{number}"])]
    return Score(name=name, count=len(bad), of=len(items), most=most, cases=tuple(map(_told, bad)))


def _told(item: Item) -> str:
    return " / ".join(str(item[part]) for part in ("say", "first", "then", "ask") if part in item)


def _words(fact: Fact) -> str:
    return f"{fact.text} {fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}".casefold()


def _holds(facts: Iterable[Fact], words: str) -> bool:
    """Whether one of the facts holds all of some words, which are divided by commas."""
    wanted = [word.strip().casefold() for word in words.split(",")]
    return any(all(word in _words(fact) for word in wanted) for fact in facts)


def _holds_all(facts: Sequence[Fact], wanted: Iterable[str]) -> bool:
    return all(_holds(facts, words) for words in wanted)


def _retires_one(_: Item, after: Known) -> bool:
    first, then = after
    return not {fact.id for fact in first} <= {fact.id for fact in then}


def _leaves_the_old(item: Item, after: Known) -> bool:
    first, then = after
    old = {fact.text for fact in first if item["old"].casefold() in _words(fact)}
    return bool(old & {fact.text for fact in then}) or not _holds(then, item["new"])


def _taken_in(known: Mapping[str, Known]) -> Iterator[Score]:
    missed, wrong, found, expected = [], [], 0, 0
    for data in ("statements", "others"):
        for number, item in enumerate(load(data)):
            facts = known[f"{data}-{number}"][-1]
            for wanted in item["facts"]:
                subjects, _, words = wanted.partition(": ")
                expected += 1
                matching = [fact for fact in facts if _holds([fact], words)]
                found += bool(matching)
                if not matching:
                    missed.append(_told(item))
                elif not any(_is_about(fact, subjects) for fact in matching):
                    wrong.append(_told(item))
    yield Score(name="missed facts", count=len(missed), of=expected, most=None, cases=tuple(missed))
    yield Score(name="wrong subject", count=len(wrong), of=found, most=None, cases=tuple(wrong))


def _is_about(fact: Fact, subjects: str) -> bool:
    subject = fact.subject.casefold()
    return any(
        subject in ("user", "") if name == "user" else name.casefold() in subject for name in subjects.split("/")
    )


def _false_merges(known: Mapping[str, Known]) -> Score:
    items = load("distinct")
    merged, told = [], 0
    for number, item in enumerate(items):
        first, both = known[f"distinct-{number}"]
        alone = known[f"alone-{number}"][-1]
        before, after = item["keep"]
        if _holds(first, before) and _holds(alone, after):
            told += 1
            if not _holds_all(both, item["keep"]):
                merged.append(_told(item))
    return Score(name="false merge: of two facts one lost", count=len(merged), of=told, most=None, cases=tuple(merged))


def _paraphrases(known: Mapping[str, Known]) -> Iterator[Score]:
    items, rows = load("paraphrases"), known["paraphrases"][-1]
    said = sum(len(item["says"]) for item in items)
    yield Score(
        name=f"rows for {said} paraphrases of {len(items)} facts",
        count=len(rows),
        of=said,
        most=12,
        cases=tuple(fact.text for fact in rows),
    )
    lost = tuple(item["fact"] for item in items if not _holds(rows, item["fact"].partition(": ")[2]))
    yield Score(name="of these facts, unknown", count=len(lost), of=len(items), most=0, cases=lost)


def _secrets(stored: bytes) -> Score:
    items = load("secrets")
    found = tuple(_told(item) for item in items if item["secret"].encode() in stored)
    return Score(name="secrets stored", count=len(found), of=len(items), most=0, cases=found)


async def measure(database: Path) -> tuple[str, list[Score]]:
    """Tell everything to an application on a new database; the memory model's name, and the table."""
    error = Console(stderr=True)
    async with learning_world(database, memory_model()) as world:
        name = world.memory.name
        known = await snapshots(world, dict(scripts()), shown=error.print)
    stored = b"".join(path.read_bytes() for path in sorted(database.parent.glob(f"{database.name}*")))
    return name, scores(known, stored)


def _show(model: str, table: Iterable[Score], *, cases: bool) -> None:
    console = Console()
    shown = Table(title=f"What is learned (memory model: {model})")
    for heading in ("", "count", "of", "share", "at most"):
        shown.add_column(heading, justify="left" if not heading else "right")
    for score in table:
        share = f"{score.count / score.of:.1%}" if score.of else "-"
        shown.add_row(score.name, str(score.count), str(score.of), share, "" if score.most is None else str(score.most))
    console.print(shown)
    for score in table if cases else ():
        console.print(f"\n{score.name}", *score.cases, sep="\n  ", markup=False, highlight=False)


def main() -> int:
    """Measure and print; 1 where a row is worse than it may be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the table to this file as well")
    parser.add_argument("--cases", action="store_true", help="list what went wrong")
    arguments = parser.parse_args()
    configure_logs("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        model, table = asyncio.run(measure(Path(folder) / "learning.db"))
    _show(model, table, cases=arguments.cases)
    if arguments.json:
        arguments.json.write_text(json.dumps({"model": model, "rows": [asdict(score) for score in table]}, indent=2))
    return int(any(score.most is not None and score.count > score.most for score in table))


if __name__ == "__main__":
    sys.exit(main())
