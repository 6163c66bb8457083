"""The documentation states what is there: every setting, command and tool."""

from pathlib import Path

import pytest
import typer

from bot.action_table import ACTION_TABLE
from bot.cli import app
from bot.command_table import COMMAND_TABLE
from bot.config import Settings
from bot.run_time_settings import CHANGEABLE
from bot.tool_table import TOOL_TABLE

ROOT = Path(__file__).parent.parent
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
MEMORY = (ROOT / "docs/memory.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    [row] = [line for line in SETTINGS.splitlines() if line.startswith(f"| `{name.upper()}` |")]
    field = Settings.model_fields[name]
    assert str(field.description) in row
    default = getattr(field.default, "value", field.default)
    assert default is None or f"| `{default}` |" in row


def test_no_setting_is_documented_that_does_not_exist() -> None:
    documented = {line.split("`")[1].lower() for line in SETTINGS.splitlines() if line.startswith("| `")}
    assert documented == set(Settings.model_fields)


@pytest.mark.parametrize("name", CHANGEABLE)
def test_every_setting_that_can_be_changed_while_the_bot_runs_is_named_as_such(name: str) -> None:
    paragraph = SETTINGS[SETTINGS.index("While the bot runs, ") :].partition("\n\n")[0]
    assert f"`{name.upper()}`" in paragraph


def test_every_setting_in_the_example_file_exists() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    names = {line.removeprefix("# ").partition("=")[0] for line in lines if "=" in line}
    assert names
    assert names <= {name.upper() for name in Settings.model_fields}


def commands() -> list[str]:
    def walk(group: typer.main.TyperGroup, path: str) -> list[str]:
        found = []
        for name, command in group.commands.items():
            found += walk(command, f"{path} {name}") if hasattr(command, "commands") else [f"{path} {name}"]
        return found

    return walk(typer.main.get_group(app), "keepsake")


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command: str) -> None:
    assert f"`{command}" in COMMANDS


@pytest.mark.parametrize("command", [command.usage for command in COMMAND_TABLE])
def test_every_command_of_the_table_is_documented_with_its_arguments(command: str) -> None:
    assert f"| `/{command}` |" in COMMANDS


@pytest.mark.parametrize("label", [action.label for action in ACTION_TABLE])
def test_every_action_is_documented(label: str) -> None:
    assert f"| {label} |" in COMMANDS


@pytest.mark.parametrize("tool", [*(tool.name for tool in TOOL_TABLE), "read_channel", "read_attachment"])
def test_every_tool_is_documented(tool: str) -> None:
    assert f"| `{tool}` |" in MEMORY
