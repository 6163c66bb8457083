"""The pieces that the schemas of answers are made of.

Invariant: every field is required and no other is allowed, as structured answers want it.
"""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
NUMBER: dict[str, Any] = {"type": "number"}
INTEGER: dict[str, Any] = {"type": "integer"}


def object_of(**properties: Any) -> dict[str, Any]:
    """An object of exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    """A list of such items."""
    return {"type": "array", "items": items}


def one_of(*words: str) -> dict[str, Any]:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


CANDIDATE_FIELDS: dict[str, Any] = {
    "text": TEXT,
    "kind": one_of("fact", "event"),
    "subject": TEXT,
    "predicate": TEXT,
    "object": TEXT,
    "category": TEXT,
    "importance": NUMBER,
    "confidence": NUMBER,
    "valid_from": TEXT_OR_NULL,
    "expires_at": TEXT_OR_NULL,
}
"""What an extraction says of each candidate."""
