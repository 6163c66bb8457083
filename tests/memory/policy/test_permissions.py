"""An admin reaches the scopes of the own community and no others."""

import pytest

from memory.policy.permissions import Access, Authority, access_to
from memory.records import Scope

GUILD = Authority(communities=frozenset({"guild:1"}))
TEAM = Authority(communities=frozenset({"team:T1"}))
DISCREET = Authority(communities=frozenset({"team:T1"}), reads_dms=False)
OWNER = Authority(communities=frozenset(), everywhere=True)
NOBODY = Authority(communities=frozenset())

DISCORD, SLACK, FOREIGN = "discord:7", "slack:T1:U1", "slack:T2:U9"


@pytest.mark.parametrize(
    ("authority", "person", "audience", "communities", "access"),
    [
        (GUILD, DISCORD, "guild:1", [], Access.FULL),
        (GUILD, DISCORD, "guild:2", [], Access.NONE),
        (GUILD, DISCORD, "dm", [], Access.NONE),
        (GUILD, DISCORD, "person", ["guild:1"], Access.NONE),
        (GUILD, DISCORD, "channel:9", ["guild:1"], Access.FULL),
        (GUILD, DISCORD, "channel:9", ["guild:2"], Access.NONE),
        (GUILD, DISCORD, "channel:9", ["guild:1", "guild:2"], Access.NONE),
        (GUILD, DISCORD, "channel:9", [], Access.NONE),
        (GUILD, SLACK, "dm", [], Access.NONE),
        (TEAM, SLACK, "team:T1", [], Access.FULL),
        (TEAM, SLACK, "channel:C1", ["team:T1"], Access.FULL),
        (TEAM, SLACK, "channel:C1", [], Access.FULL),
        (TEAM, SLACK, "dm", [], Access.FULL),
        (TEAM, SLACK, "person", [], Access.FULL),
        (TEAM, SLACK, "team:T2", [], Access.NONE),
        (TEAM, FOREIGN, "team:T1", [], Access.FULL),
        (TEAM, FOREIGN, "dm", [], Access.NONE),
        (TEAM, DISCORD, "dm", [], Access.NONE),
        (DISCREET, SLACK, "team:T1", [], Access.FULL),
        (DISCREET, SLACK, "channel:C1", ["team:T1"], Access.FULL),
        (DISCREET, SLACK, "channel:G1", [], Access.BLIND),
        (DISCREET, SLACK, "dm", [], Access.BLIND),
        (DISCREET, SLACK, "person", ["team:T1"], Access.BLIND),
        (OWNER, DISCORD, "dm", [], Access.FULL),
        (OWNER, SLACK, "team:T2", [], Access.FULL),
        (NOBODY, DISCORD, "guild:1", [], Access.NONE),
        (NOBODY, DISCORD, "channel:9", [], Access.NONE),
        (NOBODY, SLACK, "dm", [], Access.NONE),
    ],
)
def test_an_admin_reaches_the_own_community_alone(
    authority: Authority, person: str, audience: str, communities: list[str], access: Access
) -> None:
    assert access_to(authority, Scope(person=person, audience=audience), communities) is access
