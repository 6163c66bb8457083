"""Starting: what Slack refuses is said in words the operator can act on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from adapters.slack_access import COMMAND_SCOPES, FILE_SCOPES, REACTION_SCOPES, SCOPES, SIGN_SCOPES
from adapters.slack_actions import HOME_EVENTS
from adapters.slack_changes import CHANGE_EVENTS, REACTION_EVENTS
from adapters.slack_events import EVENTS
from bot.action_table import ACTION_TABLE
from bot.actions import Place
from bot.chat import AdapterStartFailed
from bot.commands import Group
from tests.adapters.slack.running import Inbox, build, started
from tests.doubles import slack as double
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, SlackDouble

MANIFEST = Path(__file__).parents[3] / "docs" / "slack-manifest.json"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bot_token": APP_TOKEN, "app_token": BOT_TOKEN}, "swapped"),
        ({"bot_token": APP_TOKEN}, "SLACK_BOT_TOKEN holds an app-level token"),
        ({"bot_token": "xoxp-user"}, "SLACK_BOT_TOKEN is not a bot token"),
        ({"app_token": BOT_TOKEN}, "SLACK_APP_TOKEN is not an app-level token"),
        ({"app_token": None}, "SLACK_SIGNING_SECRET"),
        ({"bot_token": "xoxb-wrong"}, "SLACK_BOT_TOKEN: it is not valid"),
        ({"app_token": "xapp-wrong"}, "SLACK_APP_TOKEN: it is not valid"),
        ({"api_url": "http://127.0.0.1:1/api/"}, "cannot be reached"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_start_that_fails_says_what_to_do(
    slack: SlackDouble, inbox: Inbox, given: dict[str, Any], says: str
) -> None:
    adapter = build(slack, inbox, **given)
    with pytest.raises(AdapterStartFailed, match=says):
        await adapter.start()
    await adapter.stop()


@pytest.mark.parametrize("code", ["invalid_auth", "not_authed", "token_revoked", "missing_scope", "account_inactive"])
async def test_slacks_refusal_of_the_bot_token_is_put_in_words(slack: SlackDouble, inbox: Inbox, code: str) -> None:
    slack.script("auth.test", double.error(code))
    with pytest.raises(AdapterStartFailed, match="Slack refuses SLACK_BOT_TOKEN"):
        await build(slack, inbox).start()


async def test_missing_scopes_are_named_at_the_start(slack: SlackDouble, inbox: Inbox) -> None:
    slack.scopes = ",".join(sorted(SCOPES - {"chat:write"}))
    with pytest.raises(AdapterStartFailed, match="lacks scopes: chat:write"):
        await build(slack, inbox).start()
    slack.scopes = ",".join(sorted(SCOPES | {"commands"}))
    with capture_logs() as logs:
        async with started(slack, inbox):
            pass
    assert {"slack_commands_limited", "slack_files_unread", "slack_reactions_unheard"} <= {e["event"] for e in logs}


def test_the_manifest_asks_for_what_the_adapter_uses() -> None:
    manifest = json.loads(MANIFEST.read_text())
    scopes = SCOPES | COMMAND_SCOPES | FILE_SCOPES | SIGN_SCOPES | REACTION_SCOPES
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == scopes
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == {
        *EVENTS,
        *CHANGE_EVENTS,
        *REACTION_EVENTS,
        *HOME_EVENTS,
    }
    assert manifest["features"]["app_home"]["home_tab_enabled"] is True
    shortcuts = {(shortcut["callback_id"], shortcut["name"]) for shortcut in manifest["features"]["shortcuts"]}
    assert shortcuts == {(action.name, action.label) for action in ACTION_TABLE if action.place is Place.MESSAGE}
    assert manifest["features"]["app_home"]["messages_tab_read_only_enabled"] is False
    assert manifest["settings"]["interactivity"]["is_enabled"] is True
    assert manifest["features"]["agent_view"]["agent_description"]


def test_the_manifest_offers_the_groups_of_the_command_table_and_lets_slack_name_people_by_id() -> None:
    offered = json.loads(MANIFEST.read_text())["features"]["slash_commands"]
    assert {command["command"] for command in offered} == {f"/{group}" for group in Group}
    assert all(command["should_escape"] for command in offered)


def test_the_manifest_makes_the_app_an_agent() -> None:
    features = json.loads(MANIFEST.read_text())["features"]
    assert features["agent_view"]["agent_description"]
    assert "assistant_view" not in features
