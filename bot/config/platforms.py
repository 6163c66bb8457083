"""Settings: the chat platforms, and what reaches the bot from them."""

from __future__ import annotations

from pydantic import BaseModel, SecretStr

from bot.config.fields import setting


class PlatformSettings(BaseModel):
    """The chat platforms."""

    discord_token: SecretStr | None = setting(None, "Bot token of the Discord application.", "MTIz...")
    discord_api_url: str | None = setting(
        None, "Another address for Discord's API, for a proxy.", "https://host/api/v10", pattern="^https?://"
    )
    discord_gateway_url: str | None = setting(
        None, "Another address for Discord's gateway, for a proxy.", "wss://host/", pattern="^wss?://"
    )
    slack_bot_token: SecretStr | None = setting(None, "Slack bot token.", "xoxb-...")
    slack_app_token: SecretStr | None = setting(None, "Slack app-level token, for Socket Mode.", "xapp-...")
    slack_signing_secret: SecretStr | None = setting(
        None, "Slack signing secret, for events over HTTP instead of Socket Mode.", "8f742231b10e..."
    )
    slack_api_url: str | None = setting(
        None,
        "Another address for Slack's API, for GovSlack or a proxy.",
        "https://slack-gov.com/api/",
        pattern="^https?://",
    )
    stream_replies: bool = setting(
        True, "Whether an answer is shown while it is written, where the platform can show that.", "false"
    )
    discord_shards: int = setting(
        0, "Connections that the servers are split over; 0 for as many as Discord recommends.", "2", ge=0, le=1_000
    )
    back_fill_minutes: float = setting(
        60.0,
        "How far back messages are looked for that were missed while the connection was away; 0 for not at all.",
        "60",
        ge=0,
        le=1_440,
    )
    look_back_days: float = setting(
        7.0,
        "How far back messages are compared with the platform after the connection was away, for edits and deletions "
        "that nobody told of; 0 for not at all.",
        "7",
        ge=0,
        le=30,
    )
