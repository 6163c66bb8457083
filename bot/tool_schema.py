"""The arguments of a tool as the model is told of them: what it needs to fill them in, in as few tokens as that takes.

Invariant: arguments are still held to everything that their own model demands; what is left out here is only not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

# Said by the error where it matters, and paid for with every message: titles repeat the names.
_UNSAID = frozenset({"title", "additionalProperties", "minLength", "minItems", "$defs"})


@cache
def schema_of(arguments: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON Schema of a tool's arguments, without what a model fills them in as well without. Made once.

    Args:
        arguments: the model they must fit; it may nest others, but not itself.
    """
    schema = arguments.model_json_schema()
    return _brief(schema, schema.get("$defs", {}))


def _brief(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**named, **schema}  # what is said of the argument goes before what is said of its type
    brief: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _UNSAID or key == "$ref" or (key == "default" and not value and value is not False):
            continue
        if key == "anyOf":
            brief |= _brief(_present(value), definitions)
        elif key == "properties":
            brief[key] = {name: _brief(described, definitions) for name, described in value.items()}
        elif key == "items":
            brief[key] = _brief(value, definitions)
        else:
            brief[key] = value
    return brief


def _present(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Of "this or nothing", this."""
    [choice] = [choice for choice in choices if choice.get("type") != "null"]
    return choice
