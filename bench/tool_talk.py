"""A made-up conversation with tools: what is said, what tools answer, and facts planted in both, with questions.

Invariant: the same seed gives the same conversation; an answer stands in exactly one place of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synthetic_history import text


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """One call of a tool and what it answers."""

    tool: str
    arguments: Mapping[str, str]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn: what the person says, what is looked up, what the bot replies."""

    said: str
    lookup: Lookup | None
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A question about something that was said or looked up; any of the pieces of text answers it."""

    question: str
    answers: tuple[str, ...]


_SAID = (
    ("What is the code of my locker?", "By the way, the code of my locker is {}.", "4417-B"),
    ("What is my dentist called?", "My dentist is called {}.", "Dr Oyelaran"),
    ("What is the name of my boat?", "I named my boat {}.", "Kittiwake"),
    ("Which size are my hiking boots?", "My hiking boots are size {}.", "43.5"),
    ("Where does my sister live?", "My sister lives in {}.", "Tromsø"),
    ("What am I allergic to?", "I am allergic to {}.", "cashew nuts"),
    ("When is my anniversary?", "Our anniversary is on {}.", "19 August"),
    ("What is my favourite bakery?", "My favourite bakery is {}.", "Flour & Salt"),
    ("Which instrument do I play?", "I play the {}.", "hurdy-gurdy"),
    ("What did I call my cat?", "I called my cat {}.", "Professor Biscuit"),
)
_LOOKED_UP = (
    ("What was the reference of the hotel booking?", "hotel booking reference", "HX-77310"),
    ("Which platform did the night train leave from?", "night train platform", "platform 14C"),
    ("What is the phone number of the harbour office?", "harbour office phone", "555-0147"),
    ("Which commit broke the build?", "commit that broke the build", "9f3c2ab"),
    ("What was the price of the ferry ticket?", "ferry ticket price", "42.80 EUR"),
    ("Who is the author of the tidal report?", "tidal report author", "M. Quillfeather"),
    ("What is the licence of the map data?", "map data licence", "ODbL-1.0"),
    ("Which warehouse holds the spare parts?", "spare parts warehouse", "Depot Linden 7"),
    ("What is the wind warning level?", "wind warning level", "amber-3"),
    ("Which gate is the museum entrance?", "museum entrance gate", "Gate Heron"),
)


def tool_talk(turns: int, *, seed: int = 5) -> tuple[list[Step], list[Planted]]:
    """A conversation in which every turn looks something up, and the facts that were planted in it.

    Args:
        turns: how many; at least twenty, so that every fact finds its place.
    """
    draw = random.Random(seed)
    places = draw.sample(range(turns), len(_SAID) + len(_LOOKED_UP))
    said = {place: form.format(answer) for place, (_, form, answer) in zip(places, _SAID, strict=False)}
    found = {place: (what, answer) for place, (_, what, answer) in zip(places[len(_SAID) :], _LOOKED_UP, strict=True)}
    steps = [_step(draw, number, said.get(number, ""), found.get(number)) for number in range(turns)]
    planted = [Planted(question=question, answers=(answer,)) for question, _, answer in (*_SAID, *_LOOKED_UP)]
    return steps, planted


def _step(draw: random.Random, number: int, said: str, planted: tuple[str, str] | None) -> Step:
    tool, make = draw.choice(_KINDS)
    topic = planted[0] if planted else " ".join(text(draw).split()[:3])
    fact = f"{planted[0]}: {planted[1]}" if planted else ""
    lookup = Lookup(tool=tool, arguments={"query": topic, "page": str(number)}, content=make(draw, fact))
    return Step(said=f"{said} Please look up {topic}.".strip(), lookup=lookup, reply=f"I found it. {text(draw)}")


def _search(draw: random.Random, fact: str) -> str:
    results = [
        {
            "rank": rank,
            "url": f"https://example.org/{draw.randrange(10**6)}",
            "title": text(draw),
            "snippet": text(draw),
        }
        for rank in range(1, 9)
    ]
    results[draw.randrange(len(results))]["snippet"] = fact or text(draw)
    return json.dumps({"results": results}, ensure_ascii=False, indent=1)


def _listing(draw: random.Random, fact: str) -> str:
    lines = [
        f"-rw-r--r-- 1 user {draw.randrange(10**6):>8} Mar {draw.randrange(1, 29):>2} report_{draw.randrange(999)}.txt"
        for _ in range(40)
    ]
    lines.insert(draw.randrange(len(lines)), f"# {fact or text(draw)}")
    return "\n".join(lines)


def _log(draw: random.Random, fact: str) -> str:
    lines = [f"12:{minute:02}:07 INFO worker-{draw.randrange(8)} {text(draw)}" for minute in range(30)]
    lines.insert(draw.randrange(len(lines)), f"12:31:00 WARN {fact or text(draw)}")
    return "\n".join(lines)


def _weather(draw: random.Random, fact: str) -> str:
    hours = [
        {"hour": hour, "celsius": round(draw.uniform(-5, 25), 1), "wind_ms": round(draw.uniform(0, 18), 1)}
        for hour in range(48)
    ]
    return json.dumps({"station": draw.randrange(9999), "note": fact or text(draw), "hours": hours})


_KINDS: Sequence[tuple[str, Callable[[random.Random, str], str]]] = (
    ("web_search", _search),
    ("list_files", _listing),
    ("read_log", _log),
    ("weather", _weather),
)
TOOLS = tuple(name for name, _ in _KINDS)
