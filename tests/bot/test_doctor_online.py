"""``keepsake doctor --online`` says what is missing on the platforms, as they tell it."""

from __future__ import annotations

import json
from pathlib import Path

from adapters.discord_checkup import NEEDED, problems_on_discord
from adapters.slack_access import COMMAND_SCOPES, FILE_SCOPES, REACTION_SCOPES, SCOPES, SIGN_SCOPES
from adapters.slack_checkup import problems_on_slack
from bot.bootstrap import ask_platforms, slack_manifest
from bot.config import load_settings
from tests.doubles.discord import DiscordDouble
from tests.doubles.discord_gateway import TOKEN
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, SlackDouble

ALL_SCOPES = SCOPES | COMMAND_SCOPES | FILE_SCOPES | SIGN_SCOPES | REACTION_SCOPES


async def test_a_bot_with_all_that_it_needs_has_no_problems() -> None:
    async with DiscordDouble().running() as discord, SlackDouble() as slack:
        discord.add_guild("Garden", permissions=NEEDED.value)
        slack.scopes = ",".join(ALL_SCOPES)
        settings = load_settings(
            {
                "discord_token": TOKEN,
                "discord_api_url": discord.api_url,
                "slack_bot_token": BOT_TOKEN,
                "slack_app_token": APP_TOKEN,
                "slack_api_url": slack.api_url,
            },
            env_file=None,
        )
        assert await ask_platforms(settings) == {"Discord": [], "Slack": []}


async def test_a_missing_intent_and_missing_permissions_are_named_with_where_to_give_them() -> None:
    async with DiscordDouble().running() as discord:
        discord.gateway.message_content_allowed = False
        discord.add_guild("Garden", permissions=NEEDED.value)
        discord.add_guild("Harbour", permissions=NEEDED.value & ~(1 << 16))
        intent, permission = await problems_on_discord(TOKEN, api_url=discord.api_url)
    assert intent.startswith("Message Content Intent is off")
    assert permission.startswith("In the server 'Harbour' the bot lacks: read message history.")


async def test_missing_scopes_are_named() -> None:
    async with SlackDouble() as slack:
        slack.scopes = ",".join(ALL_SCOPES - {"files:read", "im:history"})
        [problem] = await problems_on_slack(BOT_TOKEN, APP_TOKEN, api_url=slack.api_url)
    assert problem.startswith("The Slack app lacks scopes: files:read, im:history. Add them")


async def test_wrong_tokens_are_told_apart() -> None:
    async with DiscordDouble().running() as discord, SlackDouble() as slack:
        [refused] = await problems_on_discord("wrong", api_url=discord.api_url)
        assert refused.startswith("Discord does not accept DISCORD_TOKEN.")
        bot, app = await problems_on_slack("xoxb-wrong", "xapp-wrong", api_url=slack.api_url)
    assert bot.startswith("Slack refuses SLACK_BOT_TOKEN: it is not valid")
    assert app.startswith("Slack refuses SLACK_APP_TOKEN: it is not valid")


async def test_a_platform_that_is_out_of_reach_is_said_to_be() -> None:
    [discord] = await problems_on_discord(TOKEN, api_url="http://127.0.0.1:1/api/v10")
    [slack] = await problems_on_slack(BOT_TOKEN, None, api_url="http://127.0.0.1:1/api/")
    assert "cannot be reached" in discord
    assert "cannot be reached" in slack


def test_the_manifest_in_the_documentation_is_the_one_that_the_code_makes() -> None:
    path = Path(__file__).parents[2] / "docs" / "slack-manifest.json"
    assert path.read_text(encoding="utf-8") == json.dumps(slack_manifest(), indent=2) + "\n", (
        "run: keepsake slack-manifest > docs/slack-manifest.json"
    )
