"""The tool with which the model searches by the tree of categories.

Invariant: it does nothing but call ``memory.paging``; stored words, a model's reasons among them, come out escaped.
"""

from __future__ import annotations

from pydantic import Field

from bot.tools import Arguments, Tool
from memory.exchange import Exchange
from memory.person import PersonMemory
from memory.policy.tree_search import Route
from memory.prompt.sections import format_hits, indented

_HITS = 5


class TreeQueryArguments(Arguments):
    query: str = Field(min_length=1, description="Topics in a few words.")


async def _tree_search(memory: PersonMemory, exchange: Exchange, arguments: TreeQueryArguments) -> str:
    found = await memory.paging.tree_search(exchange, arguments.query, limit=_HITS)
    lines = [found.routes.note, *map(_route_line, found.routes.routes), format_hits(found.hits)]
    return "\n".join(filter(None, lines))


def _route_line(route: Route) -> str:
    return indented(f"{route.path} ({route.relevance:.2f}): {route.reason}")


TIER_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="memory_tree_search",
        description="Find facts and events by topic in the category tree.",
        arguments=TreeQueryArguments,
        run=_tree_search,
        is_memory=True,
    ),
)
