"""How much a search looks for, of each source.

Invariant: messages and documents share one number.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memory.records import Source

_OVERFETCH = 2  # no source asks for the candidates of more results for each one wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How much is looked for, at most; with 0 a source is not searched.

    Attributes:
        hits: messages and documents together.
        entries: what is filed in the categories that the message is about.
        by_tree_alone: meanings are not compared: what is filed is also found by its words, and so are facts.
    """

    hits: int = 0
    facts: int = 0
    episodes: int = 0
    procedures: int = 0
    entries: int = 0
    by_tree_alone: bool = False

    @property
    def nothing(self) -> bool:
        """Whether no source is to be searched."""
        return not any(self.most.values())

    @property
    def most(self) -> dict[Source, int]:
        """The same by source; messages and documents count as messages."""
        return {
            Source.RECALL: self.hits,
            Source.FACT: self.facts,
            Source.EPISODE: self.episodes,
            Source.PROCEDURE: self.procedures,
            Source.ENTRY: self.entries,
        }

    def candidates(self, exclude: Collection[int] = ()) -> dict[Source, int]:
        """For how many results of each source there must be candidates; with 0 it is only told whether it holds any.

        Args:
            exclude: messages that are left out.
        """
        each = {source: _OVERFETCH * most for source, most in self.most.items()}
        return each | {
            Source.RECALL: self.hits + len(exclude) if self.hits else 0,
            Source.ARCHIVAL: self.hits,
            Source.ENTRY: 0,  # what is filed is looked up by its category
        }
