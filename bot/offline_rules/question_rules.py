"""The table of questions: what people ask about themselves, and which lines of core memory answer it.

Invariant: a row answers only with lines that say exactly what was asked; any other question is answered by the
words it shares with what was said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.offline_rules.statement_words import ORIGIN
from bot.offline_rules.wording import PETS, RELATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRule:
    """One row.

    Attributes:
        patterns: regular expressions, one of which the question contains, tried without regard to case.
        lines: beginnings of the lines that answer it, as a regular expression; ``{x}`` stands for the group ``x``.
        search: what the person would have said, to be searched for; ``{x}`` as in ``lines``.
    """

    patterns: tuple[str, ...]
    lines: str
    search: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQuestion:
    """A question of the table. ``lines`` and ``search`` as in its row, filled in."""

    lines: str
    search: str


_RELATION = "|".join(RELATIONS)
_PET = "|".join(PETS)
_WHAT_IS = r"what(?:'s| is| was| are)"
_TRIP = r"(?:trip|holiday|vacation|journey|flight)"
_ON_THE_WAY = r"(?:going|flying|travel\w*|driving|visiting)"

QUESTIONS = (
    QuestionRule(
        patterns=(
            rf"{_WHAT_IS} my (?:first |full )?name\b",
            r"who am i\W*$",
            r"what am i called",
            r"what (?:do|should|shall|will|can|would) (?:people|you|they) call me",
            r"(?:know|remember|tell me|say) (?:my name|who i am)",
        ),
        lines=r"Name: ",
        search="my name is I'm call me",
    ),
    QuestionRule(patterns=(r"who do (?:i|we) live with",), lines=r"Lives .*\bwith ", search="I live with"),
    QuestionRule(
        patterns=(
            r"where (?:do|did) (?:i|we) live",
            r"where am i (?:living|based)",
            r"where(?:'s| is) my home",
            r"(?:what|which) (?:city|town|country) (?:am i|do i live|are we|do we live)",
            r"where i live",
        ),
        lines=r"(?:No longer l|L)ives ",
        search="I live in moved to",
    ),
    QuestionRule(
        patterns=(r"where (?:am|do) i (?:come )?from\b", rf"{_WHAT_IS} my nationality"),
        lines=rf"Is from |Is (?:half )?{ORIGIN}\.$",
        search="I am from",
    ),
    QuestionRule(
        patterns=(
            r"where (?:do i|i) work",
            r"what do i do(?: (?:for|at) .*)?\W*$",
            rf"{_WHAT_IS} my (?:job|profession|occupation)",
            r"who(?:'s| is) my employer|who do i work for",
        ),
        lines=r"Works |Job: |Profession: |Is an? ",
        search="I work at as job",
    ),
    QuestionRule(
        patterns=(r"(?:what|which)(?:'s| is| are| was) my favou?rite (?P<x>[^?]+?)\W*$",),
        lines=r"Favourite {x}: ",
        search="my favourite {x}",
    ),
    QuestionRule(
        patterns=(r"(?:know|remember) my favou?rite (?P<x>[^?]+?)\W*$",),
        lines=r"Favourite {x}: ",
        search="my favourite {x}",
    ),
    QuestionRule(
        patterns=(r"what (?:do|did) i (?:hate|dislike|not like)", r"what don't i like", r"my dislikes"),
        lines=r"Hates |Dislikes |Despises |No longer likes ",
        search="I hate I don't like",
    ),
    QuestionRule(
        patterns=(
            r"what (?:things |stuff )?do i (?:like|love|enjoy)\W*$",
            rf"{_WHAT_IS} my (?:likes|preferences|hobbies|interests)",
            r"what am i into",
            r"what i (?:like|love)\W*$",
        ),
        lines=r"Likes |Loves |Enjoys |Adores |Prefers |Favourite ",
        search="I like I love I enjoy",
    ),
    QuestionRule(
        patterns=(
            r"(?:when|what)(?:'s| is| was) my (?:birthday|bday|date of birth)",
            r"when was i born",
            r"know my birthday",
        ),
        lines=r"Birthday: ",
        search="my birthday is",
    ),
    QuestionRule(patterns=(r"how old am i", rf"{_WHAT_IS} my age"), lines=r"Age: |Birthday: ", search="I am years old"),
    QuestionRule(
        patterns=(
            rf"(?:when|where)(?:'s| is| are| does) my (?:next )?{_TRIP}\W*$",
            rf"when (?:am|are|do|will) (?:i|we) (?:{_ON_THE_WAY}|leaving|go|leave|fly)\W*$",
            rf"where (?:am|are) (?:i|we) {_ON_THE_WAY}",
        ),
        lines=rf"Is {_ON_THE_WAY} |Their (?:\w+ )?{_TRIP}\b",
        search="going flying trip holiday",
    ),
    QuestionRule(
        patterns=(
            rf"{_WHAT_IS} (?:my plans|coming up|planned)",
            r"(?:about|know|remember) my plans",
            r"(?:have|got) (?:any )?(?:plans|appointments)",
        ),
        lines=r"Is \w+ing .*(?:\d|\bnext )|Wants to |(?:Their|Has) .*\bon \w+day |Their .* (?:is|are) (?:on|in) ",
        search="going to plan on",
    ),
    QuestionRule(
        patterns=(r"(?:what|which|any|my) (?:pets?|animals?)\b",),
        lines=rf"Their (?:\w+ )*?(?:{_PET})s?\b|Has .*\b(?:{_PET})s?\b",
        search="my dog my cat my pet",
    ),
    QuestionRule(
        patterns=(
            rf"(?:{_WHAT_IS}|who(?:'s| is)) my (?:wife|husband|spouse|partner)(?:'s name| called)?\W*$",
            r"who (?:am i|i am|i'm) married to",
        ),
        lines=r"Is (?:now )?married to |Their (?:wife|husband|spouse|partner)\b.* is called |Their (?:wife|husband) ",
        search="married to my wife my husband",
    ),
    QuestionRule(
        patterns=(r"\bmy (?:family|relatives|relations)\b",),
        lines=rf"Their (?:\w+ )*?(?:{_RELATION})\b|Has .*\b(?:{_RELATION})s?\b|Is (?:now )?married to ",
        search="my sister my brother my mother",
    ),
    QuestionRule(
        patterns=(
            r"(?:know|remember|learn|learned|note|noted|tell me|say)(?: \w+)? (?:about )?(?:me|myself)\W*$",
            r"what (?:have i told|did i tell) you\W*$",
            r"what do you (?:know|remember)\W*$",
            r"show (?:me )?my (?:memory|notes)",
        ),
        lines=r"",
        search="I am my I like",
    ),
)


def known_question(question: str) -> KnownQuestion | None:
    """The question as the table knows it, or None."""
    for rule in QUESTIONS:
        for pattern in rule.patterns:
            if found := re.search(pattern, question, re.I):
                topic = found.groupdict().get("x", "")
                return KnownQuestion(
                    lines=rule.lines.replace("{x}", re.escape(topic)), search=rule.search.replace("{x}", topic)
                )
    return None
