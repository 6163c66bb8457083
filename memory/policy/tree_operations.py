"""What a model may do to a tree of categories when it goes over it, read from its answer.

Invariant: at most ten operations; what cannot be read is left out, and an answer without any is an empty list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory.policy.category_tree import path_of
from memory.policy.loose_json import read_json
from memory.policy.text import clean

MOST_OPERATIONS = 10
ACTIONS = ("add", "remove", "merge", "rename")

_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOperation:
    """One operation.

    Attributes:
        action: one of ``ACTIONS``.
        path: the category it is about.
        target: where a merge or rename leads to.
        description: of a category that is added.
        reason: why, in the model's words.
    """

    action: str
    path: str
    target: str = ""
    description: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.action} {self.path}" + (f" -> {self.target}" if self.target else "")


def tree_operations_from(answer: str) -> tuple[TreeOperation, ...] | None:
    """The operations of an answer ``{"operations": [...]}`` or of a bare list; None where it does not parse."""
    parsed = read_json(answer)
    if isinstance(parsed, dict):
        parsed = next((value for value in parsed.values() if isinstance(value, list)), None)
    if not isinstance(parsed, list):
        return None
    found = [operation for item in parsed if (operation := _operation(item)) is not None]
    return tuple(found[:MOST_OPERATIONS])


def _operation(item: Any) -> TreeOperation | None:
    if not isinstance(item, dict):
        return None
    action = _text(item, "action").lower() or _text(item, "op").lower()
    path, target = path_of(_text(item, "path")), path_of(_text(item, "target"))
    if action not in ACTIONS or not path or (action in ("merge", "rename") and not target):
        return None
    return TreeOperation(
        action=action,
        path=path,
        target=target if action in ("merge", "rename") else "",
        description=_text(item, "description"),
        reason=_text(item, "reason")[:_LONGEST_REASON],
    )


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name)
    return " ".join(clean(value).split()) if isinstance(value, str) else ""
