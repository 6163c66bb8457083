"""Settings: who the bot is, and the models it thinks with."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from pydantic import BaseModel, SecretStr, field_validator

from bot.config.fields import DEFAULTS, setting


class ModelSettings(BaseModel):
    """Who the bot is, and the models it thinks with."""

    agent_name: str = setting(
        DEFAULTS.agent_name, "The name the bot answers to.", "Keepsake", min_length=1, max_length=64
    )
    time_zone: str = setting(
        DEFAULTS.time_zone, "The time zone in which days begin and the bot tells the time.", "Europe/Oslo"
    )
    anthropic_api_key: SecretStr | None = setting(
        None, "Key for Claude. Without one the bot answers by rule.", "sk-ant-..."
    )
    anthropic_base_url: str | None = setting(
        None, "Another address for the Claude API, for a proxy.", "https://claude.example.com", pattern="^https?://"
    )
    chat_model: str = setting("claude-sonnet-5-5", "The model that answers.", "claude-sonnet-5-5", min_length=1)
    fallback_model: str | None = setting(
        None,
        "The model that answers while the first one cannot: overloaded, limited, out of reach.",
        "claude-haiku-5-5",
    )
    memory_model: str = setting(
        "claude-haiku-5-5", "The smaller model that looks after memory.", "claude-haiku-5-5", min_length=1
    )
    model_deadline_seconds: float = setting(60.0, "Longest wait for one answer of a model.", "60", gt=0, le=600)

    @field_validator("time_zone")
    @classmethod
    def _is_a_time_zone(cls, name: str) -> str:
        if name not in _time_zones():
            raise ValueError("this is no time zone")
        return name


@cache
def _time_zones() -> set[str]:
    return available_timezones()  # it reads hundreds of files
