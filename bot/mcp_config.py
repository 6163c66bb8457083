"""The file that names MCP servers: read once, checked as a whole.

Invariant: a secret of it stands in no sentence and no log, and a tool that the file does not allow is never offered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from bot.config import ConfigurationError

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_NAME = r"^[a-z0-9][a-z0-9-]{0,23}$"

EVERY_TOOL = "*"


class McpServerConfig(BaseModel):
    """One server: a program (``command``) or an address (``url``).

    Attributes:
        allow: names of the tools that may be offered; ``*`` for all.
        timeout_seconds: longest wait for one call.
        max_result_tokens: a longer result is cut in the middle.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = {}
    cwd: Path | None = None
    url: Annotated[str, Field(pattern="^https?://")] | None = None
    headers: dict[str, SecretStr] = {}
    allow: Annotated[tuple[str, ...], Field(min_length=1)]
    timeout_seconds: Annotated[float, Field(gt=0, le=300)] = 20.0
    max_result_tokens: Annotated[int, Field(ge=50, le=100_000)] = 1_000

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> McpServerConfig:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a command or a url")
        return self

    def allows(self, tool: str) -> bool:
        """Whether a tool of the server may be offered."""
        return tool in self.allow or EVERY_TOOL in self.allow


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    servers: dict[Annotated[str, Field(pattern=_NAME)], McpServerConfig] = Field(alias="mcpServers")


def load_mcp_config(path: Path, environment: Mapping[str, str]) -> Mapping[str, McpServerConfig]:
    """The servers of a file, by name, in its order.

    Args:
        path: a JSON file: ``{"mcpServers": {"files": {"command": "...", "args": [], "allow": ["read_file"]}}}``.
            ``${NAME}`` in a value stands for an environment variable.
        environment: those variables.

    Raises:
        ConfigurationError: the file cannot be read, or something in it cannot be used; the sentences say what.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
        raise ConfigurationError(
            [f"MCP_CONFIG: {path} cannot be read: {reason}. Example: MCP_CONFIG=mcp.json"]
        ) from error
    missing = sorted({name for name in _variables(value) if name not in environment})
    if missing:
        raise ConfigurationError([f"MCP_CONFIG: {path} names {name}, which is not set." for name in missing])
    try:
        return _File.model_validate(_filled(value, environment)).servers
    except ValidationError as error:
        raise ConfigurationError([f"MCP_CONFIG: {path}: {_told(problem)}." for problem in error.errors()]) from error


def _told(problem: Any) -> str:
    place = ".".join(str(step) for step in problem["loc"] if step != "[key]")
    return f"{place}: {problem['msg'].removeprefix('Value error, ')}" if place else problem["msg"]


def _variables(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from _VARIABLE.findall(value)
        case list():
            for inner in value:
                yield from _variables(inner)
        case dict():
            for inner in value.values():
                yield from _variables(inner)


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: environment[found[1]], value)
        case list():
            return [_filled(inner, environment) for inner in value]
        case dict():
            return {key: _filled(inner, environment) for key, inner in value.items()}
        case _:
            return value
