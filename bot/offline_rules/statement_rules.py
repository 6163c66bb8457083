"""The table of statements: how people put what is lasting about them, and the line each form becomes.

Invariant: rows are tried from the top, and the first that matches a whole clause wins, so the narrower forms stand
above the wider ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.offline_rules.wording import ADVERBS, PETS, PROFESSIONS, RELATIONS, STATIVE, third


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


def _one_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_NAME = r"(?P<x>[^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*){0,3})"
_ORIGIN = _one_of("""
    american british english irish scottish welsh french german italian spanish portuguese dutch swiss austrian polish
    russian ukrainian greek turkish swedish norwegian danish finnish indian pakistani chinese japanese korean
    vietnamese thai australian canadian mexican brazilian african asian european jewish muslim christian catholic
    hindu buddhist
""")
_TAKES = "|".join(third(verb) for verb in STATIVE)
_NOT_A_NAME = rf"(?!(?:{_ORIGIN}|vegan|vegetarian|sorry|back|here|fine|good|ok|okay|sure|not|just|so|very)\b)"
# One or two words with a capital, which the rest of a pattern does not ask for.
_CAPITALISED = rf"{_NOT_A_NAME}(?P<x>(?-i:[^\W\d_a-z])[\w'-]+(?: (?-i:[^\W\d_a-z])[\w'-]+)?)"
_I_AM = r"(?:i am|i'm|we are|we're|my \w+ and i are)"
_NOT = r"(?:don't|do not)"
_CANNOT = r"(?:can't|cannot|can not)"
_REALLY = r"(?:(?:really|absolutely|also|still|just|do|simply|truly|totally) )*"
_KIN = rf"(?P<who>(?:\w+ ){{0,2}}(?:{'|'.join((*RELATIONS, *PETS))}))"
_KIN_AND_NAME = (
    rf"(?P<who>(?:[\w'-]+ ){{0,2}}(?:{'|'.join((*RELATIONS, *PETS))}|best friend)(?:'s [\w'-]+)?"
    r"(?: (?-i:[^\W\d_a-z])[\w'-]+)?)"
)
_THING = (
    r"(?:my|our) (?!question|point|guess|problem|advice|bad\b|favou?rite|.*list\b)"
    r"(?P<who>(?:[\w'-]+ ){0,4}?[\w'-]+?)"
)
_DETAIL = (
    r"(?:(?:phone|mobile|cell)(?: number)?|e-?mail(?: address)?|(?:home |postal )?address|time ?zone|job|profession"
    r"|nickname|pronouns)"
)
# When somebody moved belongs to the move, not to where they live.
_SINCE = r"(?: (?:last|this) \w+| (?:in|on|since) .*\d.*| (?:\S+ ){1,3}ago| yesterday| today| recently)?" + (
    r"(?: with (?:my|our) .+)?"
)
_PLANNED = _one_of("""
    going flying travelling traveling moving driving visiting getting meeting starting seeing having taking leaving
    expecting attending hosting running planning
""")
_DOES = _one_of("""
    is are was were has have had likes? loves? hates? lives? works? plays? studies prefers? can can't needs? wants?
    starts? begins? attends?
    moved died got goes speaks? eats? doesn't owns?
""")
_STATE = _one_of("""
    allergic intolerant lactose vegan vegetarian married single divorced widowed engaged retired pregnant left-handed
    right-handed diabetic deaf colou?r[-\\s]?blind afraid learning studying training
""")
_HABIT = _one_of("speak play study drive collect eat drink teach support volunteer practi[sc]e ride cook wear own work")
_OWNED = _one_of("""
    cars? bikes? bicycles? motorcycles? motorbikes? vans? boats? caravans? house flat apartment cottage cabin farm
    garden allotment allergy allergies intolerance diabetes asthma adhd autism epilepsy migraines? arthritis condition
    appointment meeting exam interview flight deadline operation surgery degree diploma phd licen[cs]e business company
    shop restaurant siblings? sons? daughters? sisters? brothers? twins grandchildren dogs? cats? kittens? puppies
    horses? birds? rabbits? hamsters? parrots? turtles? snakes? fish chickens hens piano guitar violin drums
    blog podcast channel website server stepson stepdaughter godson goddaughter
""")
_CONDITION = _one_of("""
    diabetes asthma adhd autism epilepsy migraines? arthritis dyslexia insomnia tinnitus eczema anxiety depression
""")
_AID = _one_of("""
    wheelchair\\S* glasses lenses hearing\\S* insulin medication inhaler crutches walker pacemaker braille subtitles
    captions
""")
_OFTEN_WORDS = "take sit sleep travel walk cycle order buy skip avoid carry pay fly wake"
_OFTEN = _OFTEN_WORDS.split()
_HAVE = r"(?:i|we)(?:(?:'ve| have)(?: got)?|(?: just| recently| have|'ve)* (?:adopted|bought|own))"
_A_THING = (
    r"(?:an?|one|two|three|four|five|six|seven|\d+|no) (?!.*\b(?:minutes?|hours?)\b)"
    rf"(?:[\w'-]+ ){{0,3}}?(?:{_OWNED}|{'|'.join((*RELATIONS, *PETS))})\b.*"
)
# What is said of other things than people and pets is kept only where it is short and plain.
_OTHER = (
    r"(?:my|our) (?!question|point|guess|problem|advice|bad\b|favou?rite|.*list\b|life\b|day\b|mood|mind\b|heart\b"
    r"|week|time\b|goal|dream|aim\b|plan\b|passion|motivation|thoughts?\b|opinion|turn\b|head\b|bond|way\b|own\b)"
    r"(?P<who>(?:[\w'-]+ ){0,3}?[\w'-]+?)"
)
# How a thing is just now ("cold", "slow") is not worth a line; what it is, and what is named or counted in it, is.
_PLAIN = (
    r"(?:an? (?:[\w'-]+ ){0,4}[\w'-]+|about (?:[\w'-]+ ){0,3}[\w'-]+"
    r"|(?!going\b|not\b|so\b|too\b)(?=.*(?:\d|(?-i:[A-Z])|\btomorrow\b))(?!.*\b(?:today|tonight|right now|yesterday)\b)"
    r"(?:\S+ ){0,5}\S+)"
)

_FAVOURITE = r"favou?rite (?!ones?\b|things?\b|parts?\b)"
_TASTES = tuple(f"{taste} {{x}}." for taste in ("Likes", "Loves", "Enjoys", "Adores", "Prefers"))
_DISTASTES = tuple(f"{taste} {{x}}." for taste in ("Dislikes", "Hates", "Despises", "No longer likes"))

_WHO_THEY_ARE = (
    StatementRule(
        pattern=rf"my (?:full |first |real )?name(?: is|'s) (?:now )?{_NAME}", line="Name: {x}.", replaces=("Name: ",)
    ),
    StatementRule(
        pattern=rf"(?:(?:you can )?call me|(?:everyone|everybody|people|my friends) calls? me) {_NAME}",
        line="Name: {x}.",
        replaces=("Name: ",),
    ),
    StatementRule(pattern=rf"(?:i am|i'm) {_CAPITALISED}", line="Name: {x}.", replaces=("Name: ",), tentative=True),
    StatementRule(
        pattern=rf"(?:this|it) is {_CAPITALISED} (?:here|speaking)",
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
        pattern=rf"my (?P<label>{_DETAIL}) (?:is|are) (?P<x>.+)", line="{Label}: {x}.", replaces=("{Label}: ",)
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
        pattern=rf"(?:i|we)(?:'ve| have)?(?: just| recently)? moved (?:back )?(?:from .+? )?to (?P<x>.+?){_SINCE}",
        line="Lives in {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=rf"(?:(?:i|we) (?:now |currently )?(?:live|reside)|{_I_AM} (?:living|based)) (?P<in>in|at|near)"
        r" (?P<x>.+)",
        line="Lives {in} {x}.",
        replaces=("Lives ", "No longer lives in {x}"),
    ),
    StatementRule(
        pattern=rf"i (?:no longer|{_NOT}) live in (?P<x>.+?)(?: any ?more)?",
        line="No longer lives in {x}.",
        replaces=("Lives in {x}.",),
    ),
    StatementRule(
        pattern=rf"(?:(?:{_I_AM}|i come) (?:originally )?from|i was born in|i grew up in) (?P<x>.+)",
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
        pattern=rf"i {_NOT} (?:really )?(?:like|love|enjoy) (?P<x>.+?) any ?more",
        line="No longer likes {x}.",
        replaces=_TASTES,
    ),
    StatementRule(pattern=r"i no longer (?:like|love|enjoy) (?P<x>.+)", line="No longer likes {x}.", replaces=_TASTES),
    StatementRule(pattern=rf"i {_NOT} {_REALLY}(?:like|enjoy|love) (?P<x>.+)", line="Dislikes {x}.", replaces=_TASTES),
    StatementRule(pattern=rf"i {_CANNOT} stand (?P<x>.+)", line="Hates {x}.", replaces=_TASTES),
    StatementRule(
        pattern=rf"i {_REALLY}(?P<verb>hate|dislike|despise) (?P<x>.+)", line="{Verb} {x}.", replaces=_TASTES
    ),
    StatementRule(
        pattern=rf"i {_REALLY}(?P<verb>like|love|enjoy|prefer|adore) "
        r"(?P<x>(?!(?:it|that|this|those|these|you|your|how|when|what|him|her|them)\b).+)",
        line="{Verb} {x}.",
        replaces=_DISTASTES,
    ),
)

_FAMILY_AND_THINGS = (
    StatementRule(
        pattern=rf"(?:my|our) {_KIN}(?:'s name is| is called| is named| is) {_CAPITALISED}",
        line="Their {who} is called {x}.",
        corrects=("Their {who} is called ",),
    ),
    StatementRule(
        pattern=rf"{_THING}(?: is called| is named|'s name is) (?P<x>.+)",
        line="Their {who} is called {x}.",
        corrects=("Their {who} is called ",),
    ),
    StatementRule(
        pattern=rf"{_THING} (?P<is>(?:is|are|starts?|begins?|ends?) (?:on|at|in)|lives in|works (?:at|as)) (?P<x>.+)",
        line="Their {who} {is} {x}.",
        replaces=("Their {who} {is} ",),
    ),
    *(
        StatementRule(
            pattern=rf"(?:my|our) {of_whom}{_KIN_AND_NAME}(?: has| have)?(?: just| recently)? moved (?:back )?"
            rf"(?:from .+? )?to (?P<x>.+?){_SINCE}",
            line=f"Their {{who}} {lives} in {{x}}.",
            replaces=(f"Their {{who}} {lives} in ",),
        )
        for of_whom, lives in ((r"(?=(?:\S+ ){0,2}(?:parents|children|kids) )", "live"), ("", "lives"))
    ),
    StatementRule(
        pattern=rf"(?:my|our) {_KIN_AND_NAME} (?P<is>{_DOES}|{_TAKES}) (?P<x>.+)",
        line="Their {who} {is} {x}.",
        corrects=("Their {who} {is} ",),
    ),
    StatementRule(
        pattern=rf"{_OTHER} (?P<is>is|are|has|have) (?P<x>{_PLAIN})",
        line="Their {who} {is} {x}.",
        corrects=("Their {who} {is} ",),
    ),
    StatementRule(
        pattern=rf"(?P<x>(?-i:[^\W\d_a-z])[\w'-]+) is (?:my|our) (?P<who>{'|'.join((*RELATIONS, *PETS))})",
        line="Their {who} is called {x}.",
        corrects=("Their {who} is called ",),
    ),
    StatementRule(pattern=rf"{_HAVE} (?P<x>{_A_THING})", line="Has {x}."),
    StatementRule(
        pattern=rf"i(?:'ve| have)(?: got)? (?P<x>(?:\S+ ){{0,2}}{_CONDITION}(?: since .+)?)", line="Has {x}."
    ),
    StatementRule(pattern=rf"i (?P<verb>need|use|wear|take) (?P<x>(?:an? )?(?:\S+ )?{_AID}\b.*)", line="{Verb} {x}."),
    StatementRule(
        pattern=r"(?P<x>[\w -]{2,40}?) (?:gives? me (?:an )?allergic reactions?|makes? me break out in hives)",
        line="Is allergic to {x}.",
    ),
)

_PLANS = (
    StatementRule(pattern=rf"{_I_AM} (?P<x>{_PLANNED} .+)", line="Is {x}.", corrects=("Is going to ",), dated=True),
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
    StatementRule(pattern=rf"(?:i am|i'm) (?P<x>(?:half )?{_ORIGIN})", line="Is {x}."),
    StatementRule(pattern=rf"(?:i am|i'm) (?P<x>{_STATE}\b.*)", line="Is {x}."),
    StatementRule(pattern=r"(?:i am|i'm) (?P<x>an? (?!bit\b|little\b|lot\b).+)", line="Is {x}."),
    StatementRule(pattern=rf"i {_REALLY}(?P<verb>{_HABIT}) (?P<x>(?!it\b|that\b|this\b).+)", line="{Verb} {x}."),
    StatementRule(
        pattern=rf"i (?P<adverb>{'|'.join(ADVERBS)}) (?P<verb>{'|'.join((*STATIVE, *_OFTEN))}) (?P<x>.+)",
        line="{Adverb} {verb} {x}.",
    ),
    StatementRule(
        pattern=rf"i {_CANNOT} (?P<x>(?:eat|drink|have|use|hear|see|swim|drive|tolerate|digest) .+)",
        line="Can't {x}.",
    ),
    StatementRule(
        pattern=rf"i {_NOT} (?P<x>(?:eat|drink|own|speak|drive|smoke|celebrate|have (?:any |an? )?{_OWNED})\b.*)",
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
