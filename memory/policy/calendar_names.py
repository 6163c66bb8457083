"""The English names of months and weekdays. The standard library's follow the machine's language.

Invariant: in lower case, in the order of the year and of the week, which begins on Monday.
"""

from __future__ import annotations

_YEAR = "january february march april may june july august september october november december"

MONTHS = tuple(_YEAR.split())
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
