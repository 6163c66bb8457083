"""The table of statements: how people put what is lasting about them, and the line each form becomes.

Invariant: rows are tried from the top, and the first that matches a whole clause wins, so the narrower forms stand
above the wider ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.offline_rules.statement_words import (
    A_THING,
    AGE,
    AGED,
    AID,
    BOUGHT,
    CANNOT,
    CAPITALISED,
    CONDITION,
    DETAIL,
    DOES,
    HABIT,
    HAVE,
    I_AM,
    KIN,
    KIN_AND_NAME,
    NAME,
    NOT,
    OFTEN,
    ORIGIN,
    OTHER,
    OWNED,
    PLAIN,
    PLANNED,
    REALLY,
    SINCE,
    STATE,
    TAKES,
    THING,
)
from bot.offline_rules.wording import ADVERBS, PETS, PROFESSIONS, RELATIONS, STATIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRule:
    """One row: a clause that matches ``pattern`` wholly becomes ``line``.

    Attributes:
        pattern: a regular expression, tried without regard to case.
        line: a format string over the pattern's groups; ``{Group}`` is ``{group}`` with a capital, and ``{today}``
            the day it was said on. The group ``verb`` arrives in the third person.
        replaces: beginnings of lines that the new one makes untrue; format strings too.
        corrects: beginnings that it makes untrue only when the person says that they correct something.
        tentative: the line gives way to one that begins with one of ``replaces``.
        dated: the clause must name a date.
    """

    pattern: str
    line: str
    replaces: tuple[str, ...] = ()
    corrects: tuple[str, ...] = ()
    tentative: bool = False
    dated: bool = False


_FAVOURITE = r"favou?rite (?!ones?\b|things?\b|parts?\b)"
_TASTES = tuple(f"{taste} {{x}}." for taste in ("Likes", "Loves", "Enjoys", "Adores", "Prefers"))
_DISTASTES = tuple(f"{taste} {{x}}." for taste in ("Dislikes", "Hates", "Despises", "No longer likes"))

_WHO_THEY_ARE = (
    StatementRule(
        pattern=rf"my (?:full |first |real )?name(?: is|'s) (?:now )?{NAME}", line="Name: {x}.", replaces=("Name: ",)
    ),
    StatementRule(
        pattern=rf"(?:(?:you can )?call me|(?:everyone|everybody|people|my friends) calls? me) {NAME}",
        line="Name: {x}.",
        replaces=("Name: ",),
    ),
    StatementRule(pattern=rf"(?:i am|i'm) {CAPITALISED}", line="Name: {x}.", replaces=("Name: ",), tentative=True),
    StatementRule(
        pattern=rf"(?:this|it) is {CAPITALISED} (?:here|speaking)",
        line="Name: {x}.",
        replaces=("Name: ",),
        tentative=True,
    ),
    StatementRule(
        pattern=r"(?:i am|i'm|i (?:just )?turned|i (?:just )?turn) (?P<x>\d{1,3})(?: years old)?"
        r"(?: today| yesterday| last \w+| this \w+| in \w+)?",
        line="Age: {x} (on {today}).",
        replaces=("Age: ",),
    ),
    StatementRule(
        pattern=r"(?:my birthday(?: is|'s)|i celebrate my birthday) (?:on )?(?P<x>.+)",
        line="Birthday: {x}.",
        replaces=("Birthday: ",),
    ),
    StatementRule(
        pattern=r"i was born (?:on |in )?(?P<x>.+)", line="Birthday: {x}.", replaces=("Birthday: ",), dated=True
    ),
    StatementRule(
        pattern=rf"my (?P<label>{DETAIL}) (?:is|are) (?P<x>.+)", line="{Label}: {x}.", replaces=("{Label}: ",)
    ),
)

_HOME_AND_WORK = (
    StatementRule(
        pattern=r"(?:my|our) home (?:is|has been) (?P<in>in|at|near) (?P<x>.+)",
        line="Lives {in} {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=r"(?P<x>.{2,40}) is (?:where i live|my home(?:town)? now|where my home is)",
        line="Lives in {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=r"(?:i|we)(?:'ve| have) (?:lived|been living|been based) (?P<in>in|at|near) (?P<x>.+?)"
        r"(?: for .+)?",
        line="Lives {in} {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=r"i(?:'ve| have) (?:worked|been working) (?P<in>at|for|as) (?P<x>.+)", line="Works {in} {x}."
    ),
    StatementRule(pattern=r"i (?:earn|make) my living as (?P<x>.+)", line="Works as {x}.", replaces=("Works as ",)),
    StatementRule(
        pattern=rf"(?:i|we)(?:'ve| have)?(?: just| recently)? moved (?:back )?(?:from .+? )?to (?P<x>.+?){SINCE}",
        line="Lives in {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=rf"(?:(?:i|we) (?:now |currently )?(?:live|reside)|{I_AM} (?:living|based)) (?P<in>in|at|near)"
        r" (?P<x>.+)",
        line="Lives {in} {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=rf"i (?:no longer|{NOT}) live in (?P<x>.+?)(?: any ?more)?",
        line="No longer lives in {x}.",
        replaces=("Lives in {x}.",),
    ),
    StatementRule(
        pattern=rf"(?:(?:{I_AM}|i come) (?:originally )?from|i was born in|i grew up in) (?P<x>.+)",
        line="Is from {x}.",
        replaces=("Is from ",),
    ),
    StatementRule(pattern=r"i (?:now )?work (?:at|for) (?P<x>.+)", line="Works at {x}.", replaces=("Works at ",)),
    StatementRule(pattern=r"i (?:now )?work as (?P<x>.+)", line="Works as {x}.", replaces=("Works as ",)),
    StatementRule(
        pattern=rf"(?:i am|i'm) (?P<x>an? (?:[\w-]+ ){{0,2}}(?:{'|'.join(PROFESSIONS)})(?: (?:at|in|for|of) .+)?)",
        line="Works as {x}.",
        replaces=("Works as ",),
    ),
    StatementRule(
        pattern=r"i(?:'ve| have)? (?:got|started|found) a (?:new )?job (?P<in>at|as) (?P<x>.+)",
        line="Works {in} {x}.",
        replaces=("Works at ", "Works as "),
    ),
)

_LIKES_AND_DISLIKES = (
    StatementRule(
        pattern=rf"(?:my|our) {_FAVOURITE}(?P<label>[\w' -]{{1,40}}?) (?:is|are|has always been) (?P<x>.+)",
        line="Favourite {label}: {x}.",
        replaces=("Favourite {label}: ",),
    ),
    StatementRule(
        pattern=rf"(?P<x>.{{1,60}}) (?:is|are) my {_FAVOURITE}(?P<label>[\w' -]{{1,40}})",
        line="Favourite {label}: {x}.",
        replaces=("Favourite {label}: ",),
    ),
    StatementRule(
        pattern=rf"i {NOT} (?:really )?(?:like|love|enjoy) (?P<x>.+?) any ?more",
        line="No longer likes {x}.",
        replaces=_TASTES,
    ),
    StatementRule(pattern=r"i no longer (?:like|love|enjoy) (?P<x>.+)", line="No longer likes {x}.", replaces=_TASTES),
    StatementRule(pattern=rf"i {NOT} {REALLY}(?:like|enjoy|love) (?P<x>.+)", line="Dislikes {x}.", replaces=_TASTES),
    StatementRule(pattern=rf"i {CANNOT} stand (?P<x>.+)", line="Hates {x}.", replaces=_TASTES),
    StatementRule(pattern=rf"i {REALLY}(?P<verb>hate|dislike|despise) (?P<x>.+)", line="{Verb} {x}.", replaces=_TASTES),
    StatementRule(
        pattern=rf"i {REALLY}(?P<verb>like|love|enjoy|prefer|adore) "
        r"(?P<x>(?!(?:it|that|this|those|these|you|your|how|when|what|him|her|them)\b).+)",
        line="{Verb} {x}.",
        replaces=_DISTASTES,
    ),
)

_FAMILY_AND_THINGS = (
    StatementRule(
        pattern=rf"(?:my|our) {KIN}(?:'s name is| is called| is named| is) {CAPITALISED}",
        line="Their {who} is called {x}.",
        corrects=("Their {who} is called ",),
    ),
    StatementRule(
        pattern=rf"{THING}(?: is called| is named|'s name is) (?P<x>.+)",
        line="Their {who} is called {x}.",
        corrects=("Their {who} is called ",),
    ),
    StatementRule(
        pattern=rf"{THING} (?P<is>(?:is|are|starts?|begins?|ends?) (?:on|at|in)|lives in|works (?:at|as)) (?P<x>.+)",
        line="Their {who} {is} {x}.",
        replaces=("Their {who} {is} ",),
    ),
    *(
        StatementRule(
            pattern=rf"(?:my|our) {of_whom}{KIN_AND_NAME}(?: has| have)?(?: just| recently)? moved (?:back )?"
            rf"(?:from .+? )?to (?P<x>.+?){SINCE}",
            line=f"Their {{who}} {lives} in {{x}}.",
            replaces=(f"Their {{who}} {lives} in ",),
        )
        for of_whom, lives in ((r"(?=(?:\S+ ){0,2}(?:parents|children|kids) )", "live"), ("", "lives"))
    ),
    StatementRule(
        pattern=rf"(?:my|our) {KIN_AND_NAME}(?:'s| is| has| just)*(?: turned| turns)? "
        rf"(?P<x>{AGE}(?: years old)?)(?: today| yesterday)?",
        line="Their {who} is {x}.",
        replaces=tuple(f"Their {aged}" for aged in AGED),
    ),
    StatementRule(
        pattern=rf"(?:my|our) {KIN_AND_NAME} (?P<is>{DOES}|{TAKES}) (?P<x>.+)",
        line="Their {who} {is} {x}.",
        corrects=("Their {who} {is} ",),
    ),
    StatementRule(
        pattern=rf"{OTHER} (?P<is>is|are|has|have) (?P<x>{PLAIN})",
        line="Their {who} {is} {x}.",
        corrects=("Their {who} {is} ",),
    ),
    StatementRule(
        pattern=rf"(?P<x>(?-i:[^\W\d_a-z])[\w'-]+) is (?:my|our) (?P<who>{'|'.join((*RELATIONS, *PETS))})",
        line="Their {who} is called {x}.",
        corrects=("Their {who} is called ",),
    ),
    StatementRule(pattern=rf"{BOUGHT} (?P<x>{A_THING}?){SINCE}", line="Has {x}."),
    StatementRule(pattern=rf"{HAVE} (?P<x>{A_THING})", line="Has {x}."),
    StatementRule(pattern=rf"i(?:'ve| have)(?: got)? (?P<x>(?:\S+ ){{0,2}}{CONDITION}(?: since .+)?)", line="Has {x}."),
    StatementRule(pattern=rf"i (?P<verb>need|use|wear|take) (?P<x>(?:an? )?(?:\S+ )?{AID}\b.*)", line="{Verb} {x}."),
    StatementRule(
        pattern=r"(?P<x>[\w -]{2,40}?) (?:gives? me (?:an )?allergic reactions?|makes? me break out in hives)",
        line="Is allergic to {x}.",
    ),
)

_PLANS = (
    StatementRule(pattern=rf"{I_AM} (?P<x>{PLANNED} .+)", line="Is {x}.", corrects=("Is going to ",), dated=True),
    StatementRule(
        pattern=r"i want to (?P<x>(?:learn|become|be an?|visit|see|buy|move|study|travel) .+)", line="Wants to {x}."
    ),
)

_STATES_AND_HABITS = (
    StatementRule(
        pattern=r"i (?P<verb>go|meet|train|visit|take|see|call|swim|cycle|dance|sing) (?P<x>.+ every \w+(?: \w+)?)",
        line="{Verb} {x}.",
    ),
    StatementRule(pattern=r"i (?P<did>studied|graduated) (?P<x>(?!last|this|today|yesterday).+)", line="{Did} {x}."),
    StatementRule(pattern=r"i(?:'ve| have) been (?P<x>vegan|vegetarian)(?: (?:for|since) .+)?", line="Is {x}."),
    StatementRule(
        pattern=r"i (?:follow|eat|keep) (?:an? )?(?P<x>vegan|vegetarian|kosher|halal)(?: diet| food)?", line="Is {x}."
    ),
    StatementRule(pattern=r"i(?:'ve| have) been playing (?P<x>.+?)(?: (?:for|since) .+)?", line="Plays {x}."),
    StatementRule(
        pattern=r"i (?:used to|quit|stopped|gave up) (?P<x>(?:smok|drink|play|liv|work|danc|eat)\w*(?: .+)?)",
        line="Used to {x}.",
    ),
    StatementRule(
        pattern=r"i (?P<verb>run) (?P<x>(?!late|out|into|away|low|errands|across|over).+)", line="{Verb} {x}."
    ),
    StatementRule(pattern=rf"(?:i am|i'm) (?P<x>(?:half )?{ORIGIN})", line="Is {x}."),
    StatementRule(pattern=rf"(?:i am|i'm) (?P<x>{STATE}\b.*)", line="Is {x}."),
    StatementRule(pattern=r"(?:i am|i'm) (?P<x>an? (?!bit\b|little\b|lot\b).+)", line="Is {x}."),
    StatementRule(pattern=rf"i {REALLY}(?P<verb>{HABIT}) (?P<x>(?!it\b|that\b|this\b).+)", line="{Verb} {x}."),
    StatementRule(
        pattern=rf"i (?P<adverb>{'|'.join(ADVERBS)}) (?P<verb>{'|'.join(STATIVE)}|{OFTEN}) (?P<x>.+)",
        line="{Adverb} {verb} {x}.",
    ),
    StatementRule(
        pattern=rf"i {CANNOT} (?P<x>(?:eat|drink|have|use|hear|see|swim|drive|tolerate|digest) .+)",
        line="Can't {x}.",
    ),
    StatementRule(
        pattern=rf"i {NOT} (?P<x>(?:eat|drink|own|speak|drive|smoke|celebrate|have (?:any |an? )?{OWNED})\b.*)",
        line="Doesn't {x}.",
    ),
)

STATEMENTS = (
    *_WHO_THEY_ARE,
    *_HOME_AND_WORK,
    *_LIKES_AND_DISLIKES,
    *_FAMILY_AND_THINGS,
    *_PLANS,
    *_STATES_AND_HABITS,
)
