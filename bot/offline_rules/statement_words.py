"""The words and phrases that statements are recognised by: regular expressions, tried without regard to case.

Invariant: a piece that catches what a line is made of names it ``x``, and whom it is about ``who``.
"""

from __future__ import annotations

from bot.offline_rules.wording import PETS, RELATIONS, STATIVE, third


def _one_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


NAME = r"(?P<x>[^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*){0,3})"
ORIGIN = _one_of("""
    american british english irish scottish welsh french german italian spanish portuguese dutch swiss austrian polish
    russian ukrainian greek turkish swedish norwegian danish finnish indian pakistani chinese japanese korean
    vietnamese thai australian canadian mexican brazilian african asian european jewish muslim christian catholic
    hindu buddhist
""")
TAKES = "|".join(third(verb) for verb in STATIVE)
_NOT_A_NAME = rf"(?!(?:{ORIGIN}|vegan|vegetarian|sorry|back|here|fine|good|ok|okay|sure|not|just|so|very)\b)"
# One or two words with a capital, which the rest of a pattern does not ask for.
CAPITALISED = rf"{_NOT_A_NAME}(?P<x>(?-i:[^\W\d_a-z])[\w'-]+(?: (?-i:[^\W\d_a-z])[\w'-]+)?)"
I_AM = r"(?:i am|i'm|we are|we're|my \w+ and i are)"
NOT = r"(?:don't|do not)"
CANNOT = r"(?:can't|cannot|can not)"
REALLY = r"(?:(?:really|absolutely|also|still|just|do|simply|truly|totally) )*"
KIN = rf"(?P<who>(?:\w+ ){{0,2}}(?:{'|'.join((*RELATIONS, *PETS))}))"
KIN_AND_NAME = (
    rf"(?P<who>(?:[\w'-]+ ){{0,2}}(?:{'|'.join((*RELATIONS, *PETS))}|best friend)(?:'s [\w'-]+)?"
    r"(?: (?-i:[^\W\d_a-z])[\w'-]+)?)"
)
THING = (
    r"(?:my|our) (?!question|point|guess|problem|advice|bad\b|favou?rite|.*list\b)"
    r"(?P<who>(?:[\w'-]+ ){0,4}?[\w'-]+?)"
)
DETAIL = (
    r"(?:(?:phone|mobile|cell)(?: number)?|e-?mail(?: address)?|(?:home |postal )?address|time ?zone|job|profession"
    r"|nickname|pronouns)"
)
# When somebody moved belongs to the move, not to where they live.
SINCE = r"(?: (?:last|this) \w+| (?:in|on|since) .*\d.*| (?:\S+ ){1,3}ago| yesterday| today| recently)?" + (
    r"(?: with (?:my|our) .+)?"
)
PLANNED = _one_of("""
    going flying travelling traveling moving driving visiting getting meeting starting seeing having taking leaving
    expecting attending hosting running planning
""")
DOES = _one_of("""
    is are was were has have had likes? loves? hates? lives? works? plays? studies prefers? can can't needs? wants?
    starts? begins? attends?
    moved died got goes speaks? eats? doesn't owns?
""")
_NUMBERS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
"""
_YEARS = (*_NUMBERS.split(), *map(str, range(1, 121)))
AGE = _one_of(" ".join(_YEARS))
AGED = tuple(f"{{who}} is {years}{unit}." for years in _YEARS for unit in ("", " years old"))
STATE = _one_of("""
    allergic intolerant lactose vegan vegetarian married single divorced widowed engaged retired pregnant left-handed
    right-handed diabetic deaf colou?r[-\\s]?blind afraid learning studying training
""")
HABIT = _one_of("speak play study drive collect eat drink teach support volunteer practi[sc]e ride cook wear own work")
OWNED = _one_of("""
    cars? bikes? bicycles? motorcycles? motorbikes? vans? boats? caravans? house flat apartment cottage cabin farm
    garden allotment allergy allergies intolerance diabetes asthma adhd autism epilepsy migraines? arthritis condition
    appointment meeting exam interview flight deadline operation surgery degree diploma phd licen[cs]e business company
    shop restaurant siblings? sons? daughters? sisters? brothers? twins grandchildren dogs? cats? kittens? puppies
    horses? birds? rabbits? hamsters? parrots? turtles? snakes? fish chickens hens piano guitar violin drums
    blog podcast channel website server stepson stepdaughter godson goddaughter
""")
CONDITION = _one_of("""
    diabetes asthma adhd autism epilepsy migraines? arthritis dyslexia insomnia tinnitus eczema anxiety depression
""")
AID = _one_of("""
    wheelchair\\S* glasses lenses hearing\\S* insulin medication inhaler crutches walker pacemaker braille subtitles
    captions
""")
OFTEN = _one_of("take sit sleep travel walk cycle order buy skip avoid carry pay fly wake")
HAVE = r"(?:i|we)(?:(?:'ve| have)(?: got)?| own)"
BOUGHT = r"(?:i|we)(?: just| recently| have|'ve)* (?:adopted|bought)"
A_THING = (
    r"(?:an?|one|two|three|four|five|six|seven|\d+|no) (?!.*\b(?:minutes?|hours?)\b)"
    rf"(?:[\w'-]+ ){{0,3}}?(?:{OWNED}|{'|'.join((*RELATIONS, *PETS))})\b.*"
)
# What is said of other things than people and pets is kept only where it is short and plain.
OTHER = (
    r"(?:my|our) (?!question|point|guess|problem|advice|bad\b|favou?rite|.*list\b|life\b|day\b|mood|mind\b|heart\b"
    r"|week|time\b|goal|dream|aim\b|plan\b|passion|motivation|thoughts?\b|opinion|turn\b|head\b|bond|way\b|own\b)"
    r"(?P<who>(?:[\w'-]+ ){0,3}?[\w'-]+?)"
)
# How a thing is just now ("cold", "slow") is not worth a line; what it is, and what is named or counted in it, is.
PLAIN = (
    r"(?:an? (?:[\w'-]+ ){0,4}[\w'-]+|about (?:[\w'-]+ ){0,3}[\w'-]+"
    r"|(?!going\b|not\b|so\b|too\b)(?=.*(?:\d|(?-i:[A-Z])|\btomorrow\b))(?!.*\b(?:today|tonight|right now|yesterday)\b)"
    r"(?:\S+ ){0,5}\S+)"
)
