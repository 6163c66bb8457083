"""Rows as an export writes them.

Invariant: nothing is rounded on the way, whatever reads the JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

_EXACT_IN_JSON = 2**53  # a larger integer is rounded by readers that have only doubles


def json_ready(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its ids as strings and its times as ISO 8601; what is JSON already stays as it is."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case int() if abs(value) > _EXACT_IN_JSON:
            return str(value)
        case _:
            return value
