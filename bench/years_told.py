"""What a person tells in years of daily chat: what they are occupied with, and what is asked about at the end.

Invariant: the same in every run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

# What the person is occupied with; each year one more begins.
AREAS = {
    "garden": ("beans", "fence", "hedge", "compost", "tomatoes", "shed", "pond", "roses"),
    "boat": ("hull", "mast", "varnish", "rudder", "sail", "mooring", "engine", "anchor"),
    "house": ("roof", "kitchen", "boiler", "gutter", "stairs", "window", "cellar", "attic"),
    "work": ("report", "budget", "meeting", "contract", "server", "release", "audit", "training"),
    "music": ("guitar", "amplifier", "strings", "concert", "choir", "recording", "piano", "drums"),
    "sport": ("running", "swimming", "marathon", "bicycle", "knee", "shoes", "coach", "club"),
    "cooking": ("bread", "soup", "oven", "recipe", "dinner", "cake", "knife", "spices"),
    "travel": ("train", "tent", "passport", "hotel", "map", "ferry", "luggage", "visa"),
    "reading": ("novel", "library", "poems", "essay", "magazine", "lecture", "translation", "diary"),
    "photography": ("camera", "lens", "album", "darkroom", "portrait", "tripod", "film", "exhibition"),
    "school": ("exam", "teacher", "homework", "course", "essay", "diploma", "seminar", "thesis"),
    "chess": ("opening", "tournament", "clock", "rating", "endgame", "club", "puzzle", "board"),
}
FIRST_AREAS = 3
DEEDS = ("mended", "painted", "sorted out", "worked on", "bought things for", "cleaned", "measured", "thought about")
FRIENDS = ("Ida", "Ben", "Marta", "Tom", "Pekka", "Nora", "Luis", "Anke", "Piet", "Sana", "Yuki", "Omar")
PLACES = ("Oslo", "Bergen", "Leeds", "Porto", "Riga", "Ghent", "Turin", "Aarhus", "Lyon", "Cork", "Graz", "Bath")
_OWNED = ("boat", "cat", "dog", "horse", "tent", "van", "canoe", "parrot", "cottage", "bicycle", "tortoise", "kayak")
_NAMES = (
    *("Petrel", "Comet", "Biscuit", "Juniper", "Pebble", "Saffron", "Tundra", "Velvet"),
    *("Marzipan", "Quartz", "Nutmeg", "Zephyr"),
)
_KIN = ("sister", "brother", "uncle", "aunt", "cousin", "neighbour", "teacher", "dentist", "landlord", "godmother")
_LIKED = ("rhubarb", "oysters", "liquorice", "kimchi", "marmalade", "sardines", "figs", "turnips", "mint", "walnuts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """Something told in the first year, the question about it, and a word that its answer holds."""

    told: str
    question: str
    answer: str


def planted() -> list[Planted]:
    """What is told, in its order."""
    told = [
        *(
            Planted(told=f"My {owned} is called {name}.", question=f"What is my {owned} called?", answer=name)
            for owned, name in zip(_OWNED, _NAMES, strict=True)
        ),
        *(
            Planted(
                told=f"My {kin} {friend} lives in {place}.",
                question=f"Where does my {kin} {friend} live?",
                answer=place,
            )
            for kin, friend, place in zip(_KIN, FRIENDS, PLACES, strict=False)
        ),
        *(
            Planted(told=f"I am allergic to {liked}.", question=f"Am I allergic to {liked}?", answer=liked)
            for liked in _LIKED
        ),
        *(
            Planted(
                told=f"I sold my old {owned} to {friend} in {place} on 3 January.",
                question=f"To whom did I sell my old {owned}?",
                answer=friend,
            )
            for owned, friend, place in zip(_OWNED, reversed(FRIENDS), reversed(PLACES), strict=True)
        ),
    ]
    random.Random(5).shuffle(told)
    return told
