"""Searches memory by the tree of categories: first where something would be filed, then what is filed there.

The words of a query choose the categories, or a model does. Where the model does not answer in time, or not so that it
can be read, the words do, and the result says so.

Invariant: what is found is within reach, nothing frozen is found, and looking changes nothing: whoever gives a result
to somebody has ``WarmStore.reinforce`` count it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from memory.errors import ModelError
from memory.indexes.words import content_words
from memory.messages import ModelRequest
from memory.parameters import ParametersInForce, TreeMode
from memory.policy.fact_changes import outdated
from memory.policy.hot_state import parts_by_path
from memory.policy.tree_search import (
    FOLLOWED_ROUTES,
    Route,
    entry_hits,
    fact_hits,
    in_common,
    joined,
    keyword_routes,
    listed,
    routes_from,
)
from memory.ports import ChatModel, Clock
from memory.prompt.tree import search_request
from memory.records import Reach, Scope, SearchHit, Tier, TierEntry, Tree
from memory.stores.hot import HotStore
from memory.stores.tree import TreeStore
from memory.stores.warm import WarmStore

_log = structlog.get_logger(__name__)

_LOOKED_AT = 40  # entries of the categories, those worth most, and as many facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Where to look.

    Attributes:
        routes: the best first.
        mode: what chose them.
        note: why it was not what was asked to; empty where it was.
    """

    routes: tuple[Route, ...]
    mode: TreeMode
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFindings:
    """What a search by the tree came to.

    Attributes:
        hits: entries and facts, best first.
    """

    routes: Routes
    hits: tuple[SearchHit, ...]


class TreeSearch:
    """Searches trees.

    Args:
        tree: the categories, and the facts at home in them.
        warm: the entries filed there, of both tiers.
        hot: what is always at hand, to which a model may point.
        model: the memory model.
        in_force: says what chooses the categories.
        clock: says how old what is found is.
        deadline: seconds for which a model is waited for.
    """

    def __init__(
        self,
        *,
        tree: TreeStore,
        warm: WarmStore,
        hot: HotStore,
        model: ChatModel,
        in_force: ParametersInForce,
        clock: Clock,
        deadline: float = 15.0,
    ) -> None:
        self._tree = tree
        self._warm = warm
        self._hot = hot
        self._model = model
        self._in_force = in_force
        self._clock = clock
        self._deadline = deadline

    @property
    def asks_a_model(self) -> bool:
        """Whether a model chooses the categories, where nothing else is said."""
        return self._in_force.current.tree_search_mode is TreeMode.LLM

    async def search(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        limit: int,
        mode: TreeMode | None = None,
        model: ChatModel | None = None,
    ) -> TreeFindings:
        """Search as somebody asked to.

        Args:
            scope: the scope of the conversation.
            reach: what it may read.
            query: any text.
            limit: entries at most, and as many facts.
            mode: what chooses the categories; None for what the settings say.
            model: the model to ask in place of the memory model.
        """
        routes = await self.routes(scope, reach, query, mode=mode, model=model)
        hits = await self.filed(scope, reach, query, limit=limit, routes=routes)
        return TreeFindings(routes=routes, hits=tuple(sorted(hits, key=lambda hit: -hit.score)))

    async def routes(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        mode: TreeMode | None = None,
        model: ChatModel | None = None,
        unasked: bool = False,
    ) -> Routes:
        """Where to look for what answers a query.

        Args:
            mode: whether words or a model choose; None as it is set.
            model: chooses in place of the memory model.
            unasked: leave out categories that are not plainly meant, where words choose.
        """
        tree = joined(await self._tree.within(reach))
        note = ""
        if tree.nodes and (mode or self._in_force.current.tree_search_mode) is TreeMode.LLM:
            chosen = await self._chosen(scope, tree, query, model or self._model)
            if not isinstance(chosen, str):
                return Routes(routes=tuple(chosen), mode=TreeMode.LLM)
            note = chosen
        named = keyword_routes(tree, query, now=self._clock.now(), unasked=unasked)
        return Routes(routes=tuple(named), mode=TreeMode.KEYWORD, note=note)

    async def request(self, scope: Scope, reach: Reach, query: str) -> ModelRequest:
        """What a model would be asked."""
        return (await self._request(scope, joined(await self._tree.within(reach)), query))[0]

    async def filed(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        limit: int,
        routes: Routes | None = None,
        words: bool = True,
        unasked: bool = False,
        exclude: frozenset[int] = frozenset(),
    ) -> list[SearchHit]:
        """What is filed where the routes lead, entries and facts, and which other entries share words with the query.

        Of the archive only as much is looked for as recent entries leave room for.

        Args:
            scope: the scope of the conversation.
            reach: what may be read.
            query: any text.
            limit: entries at most, and as many facts.
            routes: the first three are followed; None to have the words of the query choose them.
            words: whether to look outside of the categories, too.
            unasked: leave out what is not close enough to be shown unasked.
            exclude: messages whose entries are left out.
        """
        if routes is None:
            routes = await self.routes(scope, reach, query, mode=TreeMode.KEYWORD, unasked=unasked)
        followed = routes.routes[:FOLLOWED_ROUTES]
        paths, now = [route.path for route in followed], self._clock.now()
        entries = await self._warm.within(reach, *paths, limit=_LOOKED_AT, now=now) if paths else []
        archived: list[TierEntry] = []
        if words:
            by_words = await self._warm.by_words(reach, query, limit=_LOOKED_AT, now=now)
            known = {(entry.scope, entry.id) for entry in entries}
            entries += [one for one in by_words if one.tier is Tier.WARM and (one.scope, one.id) not in known]
            archived = [one for one in by_words if one.tier is Tier.COLD]
        fresh = [entry for entry in entries if entry.source_message not in exclude]
        if _telling(fresh, query) < limit:
            fresh += [entry for entry in archived if entry.source_message not in exclude]
        hits = entry_hits(fresh, followed, query, now=now, unasked=unasked)
        return [*hits[:limit], *(await self._facts(reach, followed, query))[:limit]]

    async def _facts(self, reach: Reach, followed: Sequence[Route], query: str) -> list[SearchHit]:
        if not followed:
            return []
        facts = await self._tree.facts_within(reach, *(route.path for route in followed), limit=_LOOKED_AT)
        gone = outdated(facts)
        return fact_hits([fact for fact in facts if fact.id not in gone], followed, query)

    async def _chosen(self, scope: Scope, tree: Tree, query: str, model: ChatModel) -> list[Route] | str:
        """The categories that a model chooses, or why there are none of its choice."""
        request, known = await self._request(scope, tree, query)
        try:
            async with asyncio.timeout(self._deadline):
                response = await model.complete(request)
        except TimeoutError:
            _log.warning("tree_search_timed_out", model=model.name)
            return f"The model did not answer within {self._deadline:g} seconds, so words alone chose."
        except ModelError as error:
            _log.warning("tree_search_failed", model=model.name, error=type(error).__name__)
            return "The model could not be asked, so words alone chose."
        routes = routes_from(response.message.text, known)
        if routes is None:
            _log.warning("tree_search_unreadable", model=model.name)
            return "The model's answer could not be read, so words alone chose."
        return routes

    async def _request(self, scope: Scope, tree: Tree, query: str) -> tuple[ModelRequest, frozenset[str]]:
        """What a model is asked, and the paths that it may name."""
        hot = parts_by_path(await self._hot.shown(scope))
        return search_request(listed(tree), hot, query), frozenset([*tree.nodes, *hot])


def _telling(entries: Iterable[TierEntry], query: str) -> int:
    """How many entries share words with a query."""
    words = content_words(query)
    return sum(bool(in_common(words, entry.text)) for entry in entries)
