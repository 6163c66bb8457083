"""The requests by which a model goes over a tree of categories, and finds its way in it.

Invariant: paths and descriptions, which come from what people said, stand in a data block of the user message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.messages import ModelRequest, SystemBlock, user_message
from memory.prompt.answer_schemas import TEXT, list_of, object_of, one_of
from memory.prompt.sections import block, template

REBUILD_TREE = "rebuild_tree"
SEARCH_TREE = "search_tree"

_MAX_OUTPUT_TOKENS = 1_024
_MAX_SEARCH_TOKENS = 500
_OPERATIONS: Mapping[str, Any] = object_of(
    operations=list_of(
        object_of(
            reason=TEXT,
            action=one_of("add", "remove", "merge", "rename"),
            path=TEXT,
            target=TEXT,
            description=TEXT,
        )
    )
)


def rebuild_request(tree: str, recent: str) -> ModelRequest:
    """Asks how a tree could be better.

    Args:
        tree: its lines, each a path with its counts and description.
        recent: warm entries by category, a line each.
    """
    material = "\n".join((block("category_tree", tree), block("entries", recent)))
    return ModelRequest(
        system=(SystemBlock(name=REBUILD_TREE, text=template(REBUILD_TREE).strip()),),
        messages=(user_message(material),),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        answer_schema=_OPERATIONS,
    )


def search_request(tree: str, hot: Mapping[str, str], query: str) -> ModelRequest:
    """Asks which categories hold what answers a query.

    Args:
        tree: its lines, each a path with its description and counts.
        hot: what is always at hand, by the path of each part.
        query: what is looked for.
    """
    at_hand = "\n".join(f"{path}: {told}" for path, told in hot.items())
    material = "\n".join((block("category_tree", tree), block("hot_memory", at_hand), block("query", query)))
    return ModelRequest(
        system=(SystemBlock(name=SEARCH_TREE, text=template(SEARCH_TREE).strip()),),
        messages=(user_message(material),),
        max_output_tokens=_MAX_SEARCH_TOKENS,
    )
