"""English words that say nothing of what a text is about.

Invariant: lower case, each a run of letters as full text cuts words ("don't" is "don" and "t").
"""

from __future__ import annotations

_WORDS = """
    a about after again all also am an and any are aren as at be because been before being but by can cannot could
    couldn did didn do does doesn doing don down for from further had hadn has hasn have haven having he her here
    hers herself him himself his how i if in into is isn it its itself just let me more most my myself no nor not of
    off on once only or other our ours ourselves out over own please same she should shouldn so some such tell than
    that the their theirs them themselves then there these they this those through to too under until up us very
    was wasn we were weren what when where which while who whom whose why will with won would wouldn you your yours
    yourself yourselves
"""
STOP_WORDS = frozenset(_WORDS.split())

# Words of other languages in Latin letters, too ("was", "will" and "in" are German).
_FOREIGN_TOO = """
    a all also am an as at be can do don for had has he her i if in is it just let me more most my no nor not of off
    on once or over same so some such to under up us very was we were will with
"""
ENGLISH_ALONE = STOP_WORDS.difference(_FOREIGN_TOO.split())
"""Of these, the words that tell a text in English from one in another language."""
