"""The tree of categories: its limits, where something is filed, and how it is written.

A path has its segments between slashes, ``work/projects``; the root is the empty path and counts as a node, not as a
level. The compact form is what stands in a prompt and what the limit of bytes is about.

Invariant: no operation makes a tree that breaks a limit, and the compact form is never longer than its limit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.policy.text import clean
from memory.records import ROOT, TierEntry, Tree, TreeNode

DEFAULT_CATEGORIES = (
    ("owner", "who the person is"),
    ("projects", "what they work on"),
    ("technical", "tools and how to"),
    ("lessons", "decisions and lessons"),
)
LONGEST_DESCRIPTION = 100  # characters
_LONGEST_SEGMENT = 40  # characters
_LONGEST_CORE = 29  # characters
_FADING_DAYS = 7.0
_DAY = timedelta(days=1)

# Under which category the usual ones of an extraction stand, so that the top level has room for others.
_HOMES = {
    "personal": "owner",
    "preferences": "owner/preferences",
    "health": "owner/health",
    "interests": "owner/interests",
    "events": "owner/events",
    "general": ROOT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """How large a tree may be.

    Attributes:
        nodes: the root included.
        depth: segments of a path.
        children: of one node.
        max_bytes: of the compact form.
    """

    nodes: int = 50
    depth: int = 4
    children: int = 10
    max_bytes: int = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What is filed in a node and below it."""

    warm: int = 0
    cold: int = 0
    facts: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(warm=self.warm + other.warm, cold=self.cold + other.cold, facts=self.facts + other.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    """Where something is filed: at a path, after these nodes are made, parents first."""

    path: str
    new: tuple[str, ...] = ()


def path_of(text: str) -> str:
    """A path as it is kept: lower case, single spaces, no empty segments, each of at most 40 characters."""
    segments = (" ".join(clean(part).split()).lower()[:_LONGEST_SEGMENT].strip() for part in text.split("/"))
    return "/".join(segment for segment in segments if segment)


def home_of(category: str) -> str:
    """The path at which the category of a fact or an event is at home."""
    path = path_of(category)
    top, slash, rest = path.partition("/")
    home = _HOMES.get(top, top)
    return f"{home}/{rest}" if slash and home else home or rest


def parent_of(path: str) -> str:
    """The path of the node above."""
    return path.rpartition("/")[0]


def is_within(path: str, above: str) -> bool:
    """Whether a path is another one, or below it."""
    return above in (ROOT, path) or path.startswith(f"{above}/")


def ancestors(path: str) -> Iterator[str]:
    """A path and the paths above it, the root last."""
    while path:
        yield path
        path = parent_of(path)
    yield ROOT


def nearest(paths: Collection[str], path: str) -> str:
    """The lowest of the known paths at which something of a path can be found."""
    return next(above for above in ancestors(path) if above in paths or above == ROOT)


def first_tree(at: datetime) -> Tree:
    """The tree of somebody of whom nothing is filed yet."""
    nodes = [TreeNode(path=ROOT, description="", created_at=at, last_active_at=at)]
    nodes += [
        TreeNode(path=path, description=description, created_at=at, last_active_at=at)
        for path, description in DEFAULT_CATEGORIES
    ]
    return Tree(nodes={node.path: node for node in nodes})


def inclusive(tree: Tree) -> dict[str, Counts]:
    """What is filed in each node and below it."""
    totals = dict.fromkeys(tree.nodes, Counts())
    for node in tree.nodes.values():
        own = Counts(warm=node.warm, cold=node.cold, facts=node.facts)
        for path in ancestors(node.path):
            if path in totals:
                totals[path] += own
    return totals


def why_not_added(tree: Tree, path: str, description: str, limits: TreeLimits, at: datetime) -> str:
    """Why a node cannot be added, in one sentence; empty where it can. Missing parents come with it."""
    if not path:
        return "A category needs a name, such as work/projects."
    if path in tree.nodes:
        return f"There is a category {path} already."
    return _limit_broken(tree, path, description, limits, at)


def _limit_broken(tree: Tree, path: str, description: str, limits: TreeLimits, at: datetime) -> str:
    missing = missing_paths(tree, path)
    top = parent_of(missing[0])
    if path.count("/") + 1 > limits.depth:
        return f"The tree has at most {limits.depth} levels."
    if len(tree.nodes) + len(missing) > limits.nodes:
        return f"The tree has at most {limits.nodes} categories, the root included. Remove or prune some first."
    if len(children_of(tree, top)) >= limits.children:
        return f"{top or 'The top level'} has {limits.children} categories already."
    if len(_whole(with_node(tree, path, description, at)).encode()) > limits.max_bytes:
        return f"The tree would take more than {limits.max_bytes:,} bytes. Shorten descriptions or prune it first."
    return ""


def missing_paths(tree: Tree, path: str) -> list[str]:
    """The path and those above it that are not there, parents first."""
    return [above for above in ancestors(path) if above not in tree.nodes and above != ROOT][::-1]


def with_node(tree: Tree, path: str, description: str, at: datetime) -> Tree:
    """The tree with a node, and with the parents it lacks."""
    new = {
        missing: TreeNode(
            path=missing, description=description if missing == path else "", created_at=at, last_active_at=at
        )
        for missing in missing_paths(tree, path)
    }
    return Tree(nodes={**tree.nodes, **new})


def filed(tree: Tree, category: str, limits: TreeLimits, at: datetime) -> Filing:
    """Where something of a category is filed: there, or in the nearest category above for which there is room."""
    for path in ancestors(home_of(category)):
        if path == ROOT or path in tree.nodes:
            return Filing(path=path)
        if not why_not_added(tree, path, "", limits, at):
            return Filing(path=path, new=tuple(missing_paths(tree, path)))
    return Filing(path=ROOT)


def children_of(tree: Tree, path: str) -> list[str]:
    """The paths right below one, in their order."""
    return sorted(other for other in tree.nodes if other != ROOT and parent_of(other) == path)


def prunable(tree: Tree, before: datetime) -> list[str]:
    """The nodes that hold nothing, have nothing below them, and were not active since a moment; lowest first."""
    gone: list[str] = []
    for path in sorted(tree.nodes, key=lambda path: (-path.count("/"), path)):
        node = tree.nodes[path]
        below = [child for child in children_of(tree, path) if child not in gone]
        if path != ROOT and node.is_empty and not below and node.last_active_at < before:
            gone.append(path)
    return gone


def compact(tree: Tree, *, max_bytes: int, now: datetime) -> str:
    """A line for each node: indented by its level, its name, its inclusive counts, its description.

    The counts are those of facts, of warm and of cold entries. Where it would be too long, descriptions go first, then
    the nodes of the least value: ``(facts + warm + 0.1 x cold) x exp(-idle days / 7)``.
    """
    text = _whole(tree)
    if len(text.encode()) <= max_bytes:
        return text
    bare = Tree(nodes={path: replace(node, description="") for path, node in tree.nodes.items()})
    totals = inclusive(bare)
    while len(text := _whole(bare, totals)) and len(text.encode()) > max_bytes and len(bare.nodes) > 1:
        leaves = [path for path in bare.nodes if path != ROOT and not children_of(bare, path)]
        least = min(leaves, key=lambda path: (_value(totals[path], bare.nodes[path], now), path))
        bare = Tree(nodes={path: node for path, node in bare.nodes.items() if path != least})
    return text


def index_of(tree: Tree, entries: Iterable[TierEntry], *, max_bytes: int, now: datetime) -> str:
    """The compact form in which a category without a description shows the core of the best entry that is filed in it.

    Args:
        tree: the categories.
        entries: the best first.
        max_bytes: where it would be longer than that, the cores are left out.
        now: the present moment.
    """
    cores: dict[str, str] = {}
    for entry in entries:
        core = entry.metadata.get("core")
        if entry.category != ROOT and isinstance(core, str) and core.strip():
            cores.setdefault(entry.category, " ".join(core.split())[:_LONGEST_CORE])
    told = {
        path: replace(node, description=node.description or cores.get(path, "")) for path, node in tree.nodes.items()
    }
    text = _whole(Tree(nodes=told))
    return text if len(text.encode()) <= max_bytes else compact(tree, max_bytes=max_bytes, now=now)


def pretty(tree: Tree, *, limits: TreeLimits, now: datetime) -> str:
    """The tree for people: a title, the nodes with counts and descriptions, and how full it is."""
    totals = inclusive(tree)
    size = len(compact(tree, max_bytes=limits.max_bytes, now=now).encode())
    lines = ["Memory tree"]
    for path in _in_order(tree, ROOT):
        node, counts = tree.nodes[path], totals[path]
        name = path.rpartition("/")[2] or "everything"
        indent = "  " * (path.count("/") + 1) if path else ""
        told = f" - {node.description}" if node.description else ""
        lines.append(f"{indent}{name} ({counts.facts} facts, {counts.warm} warm, {counts.cold} cold){told}")
    return "\n".join(
        [*lines, f"Nodes: {len(tree.nodes)}/{limits.nodes}", f"Size: {size:,} / {limits.max_bytes:,} bytes"]
    )


def _in_order(tree: Tree, path: str) -> Iterator[str]:
    yield path
    for child in children_of(tree, path):
        yield from _in_order(tree, child)


def _whole(tree: Tree, totals: Mapping[str, Counts] | None = None) -> str:
    counts = totals or inclusive(tree)
    return "\n".join(_line(tree.nodes[path], counts[path]) for path in _in_order(tree, ROOT))


def _line(node: TreeNode, counts: Counts) -> str:
    name = node.path.rpartition("/")[2] or "."
    indent = " " * (node.path.count("/") + 1) if node.path else ""
    told = f": {node.description}" if node.description else ""
    return f"{indent}{name} {counts.facts}/{counts.warm}/{counts.cold}{told}"


def _value(counts: Counts, node: TreeNode, now: datetime) -> float:
    idle = max(0.0, (now - node.last_active_at) / _DAY)
    return (counts.facts + counts.warm + 0.1 * counts.cold) * math.exp(-idle / _FADING_DAYS)


def why_not_moved(tree: Tree, path: str, target: str, action: str) -> str:
    """Why a category cannot be moved, in words for people; nothing where it can.

    Args:
        tree: as it is.
        path: the category that would go.
        target: where it would go.
        action: ``rename`` or ``merge``.
    """
    if path not in tree.nodes or path == ROOT:
        return f"There is no category {path}." if path else "The root stays."
    if is_within(target, path):
        return f"{path} cannot go into itself."
    if action == "merge" and target not in tree.nodes:
        return f"There is no category {target} to merge into."
    if action == "rename" and target in tree.nodes:
        return f"There is a category {target} already; merge into it instead."
    return ""
