"""Which entries within reach hold the words of a query, and what each word is worth.

Invariant: what is asked for are words under the marks of scopes within reach, or of a person whose scopes all are but
the closed ones, whatever the query holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from sqlalchemy import text
from sqlalchemy.engine import Connection

from memory.indexes.marks import mark_of, mark_of_person
from memory.indexes.term_scores import Ids, Term, rarity
from memory.indexes.words import Form
from memory.prepared import Prepared
from memory.records import Reach, Scope, Source

_MAX_HOLDERS = 1_000  # of a word, the newest: what more entries hold says little of any of them
_MAX_SCORED = 3_000
_MAX_COMMON_TERMS = 3  # the commonest hardly tell entries apart
_MAX_COUNTED = 10_000  # to weigh words by how rare they are this is as good as all of them

_NONE: Ids = np.empty(0, dtype=np.int64)

_Forms = tuple[Form, ...]

_CLOSED = Prepared(
    text("SELECT person, audience FROM closed_scopes WHERE person IN (SELECT value FROM json_each(:persons))")
)
_COUNTED = Prepared(text("SELECT mark, entries FROM search_marks WHERE mark IN (SELECT value FROM json_each(:marks))"))

# What is found comes as numbers with commas between them: as rows they would take longer to read than to find.
_HOLDERS = Prepared(
    text(
        "SELECT asked.key AS place, (SELECT group_concat(id) FROM (SELECT rowid AS id FROM search_text WHERE "
        "search_text MATCH asked.value ORDER BY rowid DESC LIMIT :most)) AS ids FROM json_each(:asked) AS asked"
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is held of one source within reach.

    Attributes:
        marks: under which there is any.
        left_out: marks of scopes that are closed, where what is asked for are the marks of whole persons.
        entries: how many; to ``_MAX_COUNTED``.
    """

    marks: tuple[str, ...]
    left_out: tuple[str, ...]
    entries: int


def held_within(connection: Connection, reach: Reach, sources: Iterable[Source]) -> dict[Source, Held]:
    """What is held of each source within reach; those of which there is nothing are left out."""
    persons = [own.person for own in reach.of_each]
    rows = _CLOSED.rows(connection, {"persons": persons})
    closed = [Scope(person=person, audience=audience) for person, audience in rows]
    asked = {source: _marks(source, reach, persons, closed) for source in sources}
    marks = [mark for within, left_out in asked.values() for mark in (*within, *left_out)]
    entries: dict[str, int] = dict(_COUNTED.rows(connection, {"marks": marks}))
    held: dict[Source, Held] = {}
    for source, (within, left_out) in asked.items():
        count = sum(entries.get(mark, 0) for mark in within) - sum(entries.get(mark, 0) for mark in left_out)
        if count > 0:
            held[source] = Held(
                marks=tuple(mark for mark in within if mark in entries),
                left_out=tuple(mark for mark in left_out if mark in entries),
                entries=min(_MAX_COUNTED, count),
            )
    return held


def _marks(
    source: Source, reach: Reach, persons: Sequence[str], closed: Sequence[Scope]
) -> tuple[list[str], list[str]]:
    """The marks of a source within reach, and those that are not though the first speak of them too."""
    if reach.audiences is None:
        return [mark_of_person(person, source) for person in persons], [mark_of(scope, source) for scope in closed]
    scopes = {Scope(person=person, audience=audience) for person in persons for audience in reach.audiences}
    return [mark_of(scope, source) for scope in scopes.difference(closed)], []


def weighed_terms(
    connection: Connection, held: Mapping[Source, Held], terms: Sequence[_Forms]
) -> dict[Source, tuple[list[Term], list[Term]]]:
    """Of each source the terms that make a candidate, and those that only add to what is one already.

    Common words alone do not make a candidate while there are rarer ones, as in MaxScore (Turtle and Flood 1995); the
    rarest of them add to the score of those that have a rarer one.
    """

    def asked(source: Source, *places: int) -> str:
        return _expression(held[source], [terms[place] for place in places])

    every = _holders(
        connection, {(source, place): asked(source, place) for source in held for place in range(len(terms))}
    )
    split = {source: _by_rarity(holders) for source, holders in every.items()}
    cut_short = {
        (source, place): f"{asked(source, *rare)} AND {asked(source, place)}"
        for source, (rare, common) in split.items()
        for place in common
        if len(every[source][place]) == _MAX_HOLDERS
    }
    among_rare = _holders(connection, cut_short)

    def weighed(source: Source, places: Sequence[int]) -> list[Term]:
        own, total = every[source], held[source].entries
        return [
            Term(
                entries=among_rare[source].get(place, _NONE) if (source, place) in cut_short else own[place],
                weight=rarity(len(own[place]), total),
            )
            for place in places
        ]

    return {source: (weighed(source, rare), weighed(source, common)) for source, (rare, common) in split.items()}


def _by_rarity(holders: Mapping[int, Ids]) -> tuple[list[int], list[int]]:
    """The places of the rare terms, and of a few of the common ones, the rarest first."""
    places = sorted(holders, key=lambda place: len(holders[place]))
    sums = accumulate(len(holders[place]) for place in places)
    fits = (
        entries <= _MAX_SCORED and len(holders[place]) < _MAX_HOLDERS
        for entries, place in zip(sums, places, strict=True)
    )
    rare = sum(fits) or 1
    return places[:rare], places[rare : rare + _MAX_COMMON_TERMS]


def _expression(held: Held, terms: Sequence[_Forms]) -> str:
    """The FTS5 query for the entries within what is held that have any of these terms."""
    words = [(form.word, " *" if form.beginning else "") for term in terms for form in term]
    marked = (
        "(" + " OR ".join([f'"{mark}{word}"{more}' for mark in marks for word, more in words]) + ")"
        for marks in (held.marks, held.left_out)
        if marks
    )
    return f"({' NOT '.join(marked)})"


def _holders(connection: Connection, asked: Mapping[tuple[Source, int], str]) -> dict[Source, dict[int, Ids]]:
    """Of each source the newest entries that the FTS5 query of each term finds; those that find none are left out.

    Args:
        asked: the queries, by source and place of the term.
    """
    held: defaultdict[Source, dict[int, Ids]] = defaultdict(dict)
    if asked:
        terms = list(asked)
        values = {"asked": list(asked.values()), "most": _MAX_HOLDERS}
        for place, ids in _HOLDERS.rows(connection, values):
            if ids:
                source, term = terms[place]
                held[source][term] = numbers(ids)
    return held


def numbers(listing: str) -> Ids:
    """The numbers of a text that has commas between them."""
    return np.fromstring(listing, dtype=np.int64, sep=",")
