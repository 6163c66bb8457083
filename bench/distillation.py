"""How much shorter what was said becomes in each stage of distillation, by rule.

Run it as ``python bench/distillation.py --data conv-26.json``; see bench/README.md.

Invariant: what is measured is what is said, in pieces of about 500 bytes as an exchange has them; links, commands and
paths of a piece are counted where they are kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from locomo import Talk, read_talk
from rich.console import Console
from rich.table import Table

from memory.policy.distillation import Distilled, distilled
from memory.policy.metadata import metadata_of

_PIECE_BYTES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The result, in the names of the JSON file; sizes in bytes, medians over all pieces.

    Attributes:
        pieces: how many were distilled.
        raw, fact, core: sizes of the three stages.
        raw_to_fact, fact_to_core, raw_to_core: how many times shorter, as the ratio of the sums.
        longest_fact, longest_core: the largest that came out.
        kept_details: share of the links, commands and paths that stand in the metadata of the result.
        milliseconds: processor time of one piece.
    """

    pieces: int
    raw: float
    fact: float
    core: float
    raw_to_fact: float
    fact_to_core: float
    raw_to_core: float
    longest_fact: int
    longest_core: int
    kept_details: float
    milliseconds: float


def pieces_of(talk: Talk) -> Iterator[str]:
    """The turns of a conversation, as many together as make about 500 bytes, none across two sessions."""
    for session in talk.sessions:
        piece: list[str] = []
        for turn in session:
            piece.append(f"{turn.speaker}: {turn.text}")
            if len("\n".join(piece).encode()) >= _PIECE_BYTES:
                yield "\n".join(piece)
                piece = []
        if piece:
            yield "\n".join(piece)


def measure(pieces: Sequence[str]) -> Figures:
    """Distil each piece and compare the sizes."""
    began = time.process_time()
    found: list[Distilled] = [distilled(piece) for piece in pieces]
    spent = time.process_time() - began
    raw, fact, core = (
        [len(text.encode()) for text in texts]
        for texts in (pieces, [one.fact for one in found], [one.core for one in found])
    )
    wanted = [(kind, value) for piece in pieces for kind, values in metadata_of(piece).items() for value in values]
    kept = [(kind, value) for one in found for kind, values in one.metadata.items() for value in values]
    return Figures(
        pieces=len(pieces),
        raw=statistics.median(raw),
        fact=statistics.median(fact),
        core=statistics.median(core),
        raw_to_fact=round(sum(raw) / sum(fact), 2),
        fact_to_core=round(sum(fact) / sum(core), 2),
        raw_to_core=round(sum(raw) / sum(core), 2),
        longest_fact=max(fact),
        longest_core=max(core),
        kept_details=sum(one in kept for one in wanted) / len(wanted) if wanted else 1.0,
        milliseconds=round(1_000 * spent / len(pieces), 3),
    )


def show(figures: Figures) -> None:
    """Print the table."""
    table = Table(title=f"{figures.pieces} pieces of talk, distilled by rule")
    for heading in ("stage", "median bytes", "largest", "times shorter"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    table.add_row("raw", f"{figures.raw:.0f}", "", "")
    table.add_row("fact", f"{figures.fact:.0f}", str(figures.longest_fact), f"{figures.raw_to_fact:.1f}")
    table.add_row("core", f"{figures.core:.0f}", str(figures.longest_core), f"{figures.fact_to_core:.1f}")
    table.add_row("raw to core", "", "", f"{figures.raw_to_core:.1f}")
    console = Console()
    console.print(table)
    console.print(
        f"{figures.kept_details:.0%} of links, commands and paths kept; {figures.milliseconds} ms of processor each"
    )


def main() -> None:
    """Read the conversations, distil them and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="A file shaped like LoCoMo's.")
    parser.add_argument("--json", type=Path, help="Where to write the figures.")
    options = parser.parse_args()
    figures = measure([piece for path in options.data for piece in pieces_of(read_talk(path))])
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(asdict(figures), indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
