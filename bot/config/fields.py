"""What every group of settings is written with.

Invariant: a setting has a description and an example, which the documentation and the reports of mistakes show.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from bot.speaking import check_ids
from memory.parameters import MemoryParameters

DEFAULTS = MemoryParameters()
"""The numbers of the memory system, from which its settings take their defaults."""

YEAR_HOURS = 8_784
CENTURY_DAYS = 36_525
"""The longest spans that settings may name: longer ones reach beyond what a date can say."""

Ids = Annotated[str | None, AfterValidator(check_ids)]
Share = Annotated[float, Field(gt=0, lt=1)]


def setting(default: Any, description: str, example: str, **constraints: Any) -> Any:
    """A field of a group of settings.

    Args:
        default: what holds where nothing is set.
        description: one or two sentences.
        example: a value, as it is written in the environment.
        constraints: those of ``pydantic.Field``.
    """
    return Field(default, description=description, examples=[example], **constraints)
