"""Which scopes an admin reaches: those of the own community, never a direct chat on Discord, never another community.

Invariant: where it is not known to which community a scope belongs, it belongs to none; on Slack, where a workspace
belongs to its organisation, it belongs to the person's own workspace.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from memory.policy.audience import SHARED_AUDIENCE
from memory.records import Scope


class Access(Enum):
    """How far an admin reaches into a scope."""

    NONE = "none"
    BLIND = "blind"  # may act, without seeing a text
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """What an admin may do.

    Attributes:
        communities: the communities (``guild:<id>``, ``team:<id>``) that the admin administers.
        everywhere: the operator or an owner.
        reads_dms: whether a Slack workspace's admins see the texts of direct messages.
    """

    communities: frozenset[str]
    everywhere: bool = False
    reads_dms: bool = True


def access_to(authority: Authority, scope: Scope, communities: Collection[str]) -> Access:
    """How far an admin reaches into a scope.

    Args:
        authority: the admin's.
        scope: whose memory, and who could hear it.
        communities: those that the scope's private conversations are known to belong to.
    """
    if authority.everywhere:
        return Access.FULL
    kind = scope.audience.partition(":")[0]
    homes = {scope.audience} if kind in ("guild", "team") else set(communities)
    team = _team_of(scope.person)
    if not homes and team is not None:
        homes = {team}
    if not homes or not homes <= authority.communities:
        return Access.NONE
    if kind not in ("dm", SHARED_AUDIENCE) and not (kind == "channel" and not communities):  # or a group's chat
        return Access.FULL
    if team is None:
        return Access.NONE
    return Access.FULL if authority.reads_dms else Access.BLIND


def _team_of(person: str) -> str | None:
    platform, team, *_ = person.split(":")
    return f"team:{team}" if platform == "slack" else None
