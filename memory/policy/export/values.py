"""The types of an export's fields.

Invariant: a value that passes can be stored as it is. Nothing is longer than its column, no text holds a NUL, and no
id lies in the future.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from memory.errors import InvalidInput
from memory.records import check_audience, check_person

_LARGEST_COUNT = 2**31 - 1
_DIGITS = re.compile(r"[0-9]{1,19}")
_FIRST_MILLISECOND, _LAST_MILLISECOND = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999


def _known_person(person: str) -> str:
    try:
        return check_person(person)
    except InvalidInput as error:
        raise ValueError("it names nobody") from error


def _known_audience(audience: str) -> str:
    try:
        return check_audience(audience)
    except InvalidInput as error:
        raise ValueError("it is no audience") from error


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    return text


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def _of_the_past(value: int, info: ValidationInfo[int]) -> int:
    if value > info.context:
        raise ValueError("it is an id of the future")
    return value


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC).replace(microsecond=moment.microsecond // 1000 * 1000)
    except OverflowError as error:
        raise ValueError("it is out of range") from error


Id = Annotated[int, BeforeValidator(_number), Field(ge=1), AfterValidator(_of_the_past)]
Amount = Annotated[int, BeforeValidator(_number), Field(ge=0, le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=_LARGEST_COUNT)]
Version = Annotated[int, Field(ge=1, le=_LARGEST_COUNT)]
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Milliseconds = Annotated[int, Field(ge=_FIRST_MILLISECOND, le=_LAST_MILLISECOND)]
IdText = Annotated[str, Field(pattern=r"^[0-9]{1,19}$")]
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, AfterValidator(_without_nul)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_without_nul)]
Actor = Annotated[str, Field(max_length=128), AfterValidator(_without_nul)]
Tag = Annotated[str, Field(max_length=16), AfterValidator(_without_nul)]
Word = Annotated[str, Field(max_length=64), AfterValidator(_without_nul)]
Person = Annotated[str, AfterValidator(_known_person)]
Audience = Annotated[str, AfterValidator(_known_audience)]


class Strict(BaseModel):
    """Takes exactly its fields, and of each exactly its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_enum_values=True)
