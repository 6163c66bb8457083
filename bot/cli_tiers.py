"""keepsake memory hot | tree | cold | metrics: what is at hand, where things are filed, how much there is.

Invariant: what is found goes to standard output as JSON, everything else to standard error; the operator's looks and
changes stand in the person's audit log like any admin's.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from bot.application import Application
from bot.cli_memory import DataDir, print_json, with_memory
from bot.cli_scope import AgentId, SomePerson, entry_row, headed, named_scope, noted
from bot.cli_versions import Audience
from memory.errors import InvalidInput
from memory.policy.audience import reach_of_scope
from memory.policy.category_tree import inclusive, pretty
from memory.policy.hot_state import shown_value, size_of
from memory.policy.text import clean
from memory.policy.tier_trend import Fill, trends
from memory.processes.tier_metrics import TierMetrics
from memory.processes.written_pages import MEMORY_PAGE
from memory.records import By, Change, Scope

tier_commands = typer.Typer()

_REPORTS = 100


@tier_commands.command("hot")
def hot(  # noqa: PLR0917  # Typer makes options of them
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    update: Annotated[
        tuple[str, str] | None,
        typer.Option("--update", metavar="KEY JSON", help="Write into a part of it.", show_default=False),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help=f"Write {MEMORY_PAGE} anew.")] = False,
    data_dir: DataDir = None,
) -> None:
    """What is at hand; write into it, or write its page for people anew."""
    value = None if update is None else _json_object(update[1])

    async def work(app: Application) -> dict[str, Any]:
        scope = await named_scope(app, person, audience, agent_id)
        states = app.system.stores.hot
        if update is not None and value is not None:
            change = Change(actor=By().actor, reason="memory hot")
            async with app.system.transaction() as tx:
                await states.update(scope, tx, key=update[0], value=value, change=change, at=app.clock.now())
                await app.system.stores.audit.note(scope, tx, actor=By().audited, action="memory hot update")
        else:
            await noted(app, scope, "memory hot")
        if rebuild:
            await app.system.consolidator.pages.write_page(scope)
        state = await states.shown(scope)
        size = size_of(state) if state.version else 0
        return headed(scope, version=state.version, size_bytes=size, state=shown_value(state))

    print_json(with_memory(data_dir, work, may_be_new=update is not None))


@tier_commands.command("tree")
def tree(  # noqa: PLR0917  # Typer makes options of them
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    show: Annotated[bool, typer.Option("--show", help="Show it; so it is without the others, too.")] = False,
    add: Annotated[str | None, typer.Option("--add", metavar="PATH", help="A category to add.")] = None,
    description: Annotated[str, typer.Option("--description", help="What the added one is about.")] = "",
    remove: Annotated[str | None, typer.Option("--remove", metavar="PATH", help="An empty category to remove.")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove those that were empty and idle for long.")] = False,
    data_dir: DataDir = None,
) -> None:
    """The tree of categories; add or remove one, or prune it. Exit code 1 where the tree refuses."""
    if show + (add is not None) + (remove is not None) + prune > 1:
        raise InvalidInput("Choose one of --show, --add, --remove and --prune.")

    async def work(app: Application) -> tuple[str, dict[str, Any]]:
        scope = await named_scope(app, person, audience, agent_id)
        trees, now = app.system.stores.tree, app.clock.now()
        change, refused, pruned = Change(actor=By().actor, reason="memory tree"), "", []
        async with app.system.transaction() as tx:
            if add is not None:
                refused = await trees.add_node(scope, tx, path=add, description=description, change=change, at=now)
            elif remove is not None:
                refused = await trees.remove_node(scope, tx, path=remove, change=change, at=now)
            elif prune:
                before = now - app.system.parameters.tree_prune
                pruned = await trees.prune(scope, tx, before=before, change=change, at=now)
            action = next((name for name, on in (("add", add), ("remove", remove), ("prune", prune)) if on), "show")
            await app.system.stores.audit.note(scope, tx, actor=By().audited, action=f"memory tree {action}")
        return refused, {**await _tree_value(app, scope), **({"pruned": pruned} if prune else {})}

    refused, value = with_memory(data_dir, work, may_be_new=add is not None)
    print_json(value)
    if refused:
        print(refused, file=sys.stderr)
        raise typer.Exit(1)


async def _tree_value(app: Application, scope: Scope) -> dict[str, Any]:
    trees = app.system.stores.tree
    found = await trees.load(scope)
    totals = inclusive(found)
    nodes = [
        {
            "path": path,
            "description": node.description,
            "facts": totals[path].facts,
            "warm": totals[path].warm,
            "cold": totals[path].cold,
            "last_active_at": node.last_active_at.isoformat(),
        }
        for path, node in sorted(found.nodes.items())
    ]
    shown = pretty(found, limits=trees.limits, now=app.clock.now())
    return headed(scope, node_count=len(nodes), nodes=nodes, tree=shown)


@tier_commands.command("cold")
def cold(  # noqa: PLR0917  # Typer makes options of them
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    query: Annotated[str | None, typer.Option("--query", help="Words to look for.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Results at most.")] = 10,
    data_dir: DataDir = None,
) -> None:
    """How much is archived; with --query, what of it holds these words."""

    async def look(app: Application) -> dict[str, Any]:
        scope, archive = await named_scope(app, person, audience, agent_id), app.system.stores.cold
        await noted(app, scope, "memory cold")
        if query is None:
            return headed(scope, count=await archive.count(scope))
        now = app.clock.now()
        found = await archive.query(reach_of_scope(scope), clean(query), limit=limit, now=now, frozen=True)
        return headed(scope, query=query, results_count=len(found), results=list(map(entry_row, found)))

    print_json(with_memory(data_dir, look))


@tier_commands.command("metrics")
def metrics(  # noqa: PLR0917  # Typer makes options of them
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    report: Annotated[bool, typer.Option("--report", help="Also how full the tiers are.")] = False,
    trend: Annotated[bool, typer.Option("--trend", help="Also how sizes went over the last week.")] = False,
    data_dir: DataDir = None,
) -> None:
    """How large the tiers are, and what happened to them."""

    async def look(app: Application) -> dict[str, Any]:
        scope = await named_scope(app, person, audience, agent_id)
        found = await app.system.tier_meter.measure(scope)
        last = found.last_consolidation
        told = {"last_consolidation": last.isoformat() if last else None, "timestamp": found.timestamp.isoformat()}
        row = headed(scope, **{**asdict(found), **told})
        if report:
            row["report"] = [
                {"name": one.name, "size": one.size, "limit": one.limit, "percent": one.percent, "bar": one.bar}
                for one in _fills(app, found)
            ]
        if trend:
            row["trend"] = await _trend_rows(app, scope)
        return row

    print_json(with_memory(data_dir, look))


def _fills(app: Application, found: TierMetrics) -> tuple[Fill, ...]:
    stores = app.system.stores
    tree, warm_bytes = stores.tree.limits, round(found.warm_memory_size_kb * 1_024)
    return (
        Fill(name="hot_bytes", size=found.hot_memory_size_bytes, limit=stores.hot.limits.max_bytes),
        Fill(name="warm_bytes", size=warm_bytes, limit=stores.warm.limits.max_bytes),
        Fill(name="tree_bytes", size=found.tree_index_size_bytes, limit=tree.max_bytes),
        Fill(name="tree_nodes", size=found.tree_node_count, limit=tree.nodes),
    )


async def _trend_rows(app: Application, scope: Scope) -> dict[str, Any]:
    reports = await app.system.stores.consolidations.reports(scope, limit=_REPORTS)
    found = trends(reports, now=app.clock.now(), zone=app.system.parameters.zone)
    return {
        name: {"days": {day.isoformat(): size for day, size in one.days.items()}, "change": one.change}
        for name, one in found.items()
    }


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f'The value is no JSON: {text[:60]!r}. Example: \'{{"text": "Buy tea"}}\'') from error
    if not isinstance(value, dict):
        raise InvalidInput('The value is no JSON object. Example: \'{"text": "Buy tea"}\'')
    return value
