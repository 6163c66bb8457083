"""The manifest of the Slack app: what it may do, hears and offers, made from the tables that the code itself uses.

Invariant: pure; the file in ``docs`` is what this gives, and a test says so.
"""

from __future__ import annotations

from typing import Any

from adapters.slack_access import COMMAND_SCOPES, FILE_SCOPES, REACTION_SCOPES, SCOPES, SIGN_SCOPES
from adapters.slack_actions import HOME_EVENTS
from adapters.slack_changes import CHANGE_EVENTS, REACTION_EVENTS
from adapters.slack_events import EVENTS
from bot.action_table import ACTION_TABLE
from bot.actions import Place
from bot.commands import Group

_GROUPS = {
    Group.MYDATA: "See, take along, pause or erase what I remember about you",
    Group.MEMORY: "For admins: look at what I remember of members, and put it right",
}

_SHORTCUTS = {
    "why": "What this answer was given from memory",
    "forget-message": "Forget this message with its answer",
}


def manifest() -> dict[str, Any]:
    """The manifest, for Socket Mode."""
    return {
        "display_information": {
            "name": "Keepsake",
            "description": "Remembers you, for years",
            "background_color": "#2c2d30",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "agent_view": {"agent_description": "Remembers what you tell it, for years"},
            "bot_user": {"display_name": "Keepsake", "always_online": True},
            "slash_commands": [
                {"command": f"/{group}", "description": says, "usage_hint": "help", "should_escape": True}
                for group, says in _GROUPS.items()
            ],
            "shortcuts": [
                {
                    "name": action.label,
                    "type": "message",
                    "callback_id": action.name,
                    "description": _SHORTCUTS[action.name],
                }
                for action in ACTION_TABLE
                if action.place is Place.MESSAGE
            ],
        },
        "oauth_config": {
            "scopes": {"bot": sorted(SCOPES | COMMAND_SCOPES | FILE_SCOPES | SIGN_SCOPES | REACTION_SCOPES)}
        },
        "settings": {
            "event_subscriptions": {"bot_events": sorted({*EVENTS, *CHANGE_EVENTS, *REACTION_EVENTS, *HOME_EVENTS})},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
            "interactivity": {"is_enabled": True},
        },
    }
