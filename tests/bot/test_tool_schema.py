"""What a model is told of a tool's arguments: all it needs, and nothing that costs tokens for nothing."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from bot.tool_schema import schema_of
from bot.tool_table import TOOL_TABLE
from bot.tools import Arguments


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Arguments):
    size: int = Field(ge=1, le=9)


class Painting(Arguments):
    """A docstring that is for engineers."""

    name: str = Field(min_length=1, description="What to call it.")
    colour: Colour = Field(default=Colour.RED, description="Of the frame.")
    year: int | None = Field(default=None, description="When it was made.")
    parts: list[Part] = Field(default=[])
    signed: bool = False


def every_key(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        return set(schema).union(*map(every_key, schema.values()))
    return set().union(*map(every_key, schema)) if isinstance(schema, list) else set()


def test_names_types_choices_bounds_and_descriptions_are_told() -> None:
    schema = schema_of(Painting)
    assert schema["required"] == ["name"]
    assert schema["type"] == "object"
    assert schema["properties"]["name"] == {"type": "string", "description": "What to call it."}
    assert schema["properties"]["colour"]["enum"] == ["red", "blue"]
    assert schema["properties"]["colour"]["description"] == "Of the frame."
    assert schema["properties"]["year"] == {"type": "integer", "description": "When it was made."}
    size = schema["properties"]["parts"]["items"]["properties"]["size"]
    assert size == {"type": "integer", "minimum": 1, "maximum": 9}
    assert schema["properties"]["signed"]["default"] is False


@pytest.mark.parametrize("arguments", [Painting, *(tool.arguments for tool in TOOL_TABLE)])
def test_nothing_refers_elsewhere_and_nothing_is_said_twice(arguments: type[BaseModel]) -> None:
    schema = schema_of(arguments)
    assert not every_key(schema) & {"$ref", "$defs", "anyOf", "title", "additionalProperties"}
    assert list(schema["properties"]) == list(arguments.model_fields)
    assert len(json.dumps(schema)) < len(json.dumps(arguments.model_json_schema()))


def test_what_is_not_told_is_still_demanded() -> None:
    with pytest.raises(ValidationError):
        Painting.model_validate({"name": ""})
    with pytest.raises(ValidationError):
        Painting.model_validate({"name": "Dawn", "frame": "gold"})
