"""Settings: how memory works, as the requirements of the memory system name its numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from bot.config.fields import CENTURY_DAYS, DEFAULTS, YEAR_HOURS, Share, setting
from bot.config.models import ModelSettings
from bot.config.speaking import SpeakingSettings
from bot.config.tiers import TierSettings
from memory.parameters import Fading, MemoryParameters, Preset, Sharing, ToolNames


class MemorySettings(SpeakingSettings, ModelSettings, TierSettings):
    """How memory works."""

    memory_preset: Preset = setting(
        DEFAULTS.preset,
        "full: everything. paging: core memory, search and tools. rolling: only a summary of earlier sessions. "
        "facts: only facts learned from what the person says. tiered: the hot state and the tree of categories, by "
        "which everything is looked up.",
        "full",
    )
    archival_fading: Fading = setting(
        DEFAULTS.fading,
        "How documents fade. reuse: forgotten when old, unimportant and hardly read. steady: all fade from their last "
        "reading on.",
        "reuse",
    )
    tool_names: ToolNames = setting(
        DEFAULTS.tool_names,
        "Names of the memory tools. memgpt: core_memory_append and so on. letta: memory_insert and so on, for Claude.",
        "letta",
    )
    similar_facts: int = setting(
        DEFAULTS.similar_facts, "Stored facts that a newly learned one is compared with.", "5", ge=1, le=50
    )
    retrieved_facts: int = setting(
        DEFAULTS.retrieved_facts, "Facts shown to the model with a message, at most.", "5", ge=0, le=50
    )
    retrieved_episodes: int = setting(
        DEFAULTS.retrieved_episodes, "Earlier sessions shown to the model with a message, at most.", "2", ge=0, le=20
    )
    retrieved_procedures: int = setting(
        DEFAULTS.retrieved_procedures, "Approved procedures shown with a message, at most.", "2", ge=0, le=20
    )
    reconcile_floor: float = setting(
        DEFAULTS.reconcile_floor,
        "Similarity below which a stored fact is not compared with a new one.",
        "0",
        ge=0,
        le=1,
    )
    summary_max_words: int = setting(
        DEFAULTS.summary_max_words,
        "Words of the summary of earlier sessions; a longer one is refused.",
        "400",
        ge=20,
        le=4_000,
    )
    summary_versions: int = setting(
        DEFAULTS.summary_versions, "Versions of that summary that are kept for a rollback.", "5", ge=1, le=100
    )
    memory_sharing: Sharing = setting(
        DEFAULTS.sharing,
        "audience: what was said in private stays out of wider audiences. person: one memory for all of them.",
        "audience",
    )
    embedder: Literal["minilm", "multilingual"] = setting(
        "minilm",
        "minilm: English, and other languages by their words. multilingual: a hundred languages, and from one to "
        "another; needs the extra of that name.",
        "multilingual",
    )
    late_interaction: bool = setting(
        True,
        "Keep a short vector of every token of a text, where the embedder gives them: finds more, and takes twice "
        "the disk.",
        "false",
    )
    context_window_tokens: int = setting(
        DEFAULTS.context_window_tokens,
        "Budget of one request to the model, in tokens, its answer included.",
        "32000",
        ge=4_000,
        le=1_000_000,
    )
    max_output_tokens: int = setting(DEFAULTS.max_output_tokens, "Longest answer, in tokens.", "2048", ge=64, le=64_000)
    eviction_threshold: Share = setting(
        DEFAULTS.eviction_threshold, "Share of the window above which the oldest messages leave it.", "0.7"
    )
    eviction_target: Share = setting(
        DEFAULTS.eviction_target, "Share of the window that an eviction goes down to.", "0.5"
    )
    max_conversation_history: int = setting(
        DEFAULTS.max_conversation_history, "Messages kept in the window.", "20", ge=2, le=1_000
    )
    history_target: int | None = setting(
        None,
        "Messages left in the window after an eviction by count. Without one: half of MAX_CONVERSATION_HISTORY, "
        "at most 10.",
        "10",
        ge=1,
        le=1_000,
    )
    max_tool_response_age: int = setting(
        DEFAULTS.max_tool_response_age,
        "Calls of the model in which a tool's result is seen whole; then a line of the journal stands for it.",
        "1",
        ge=1,
        le=100,
    )
    auto_store_tool_results: bool = setting(
        DEFAULTS.auto_store_tool_results, "Note what tools answer in the journal.", "false"
    )
    enable_end_of_turn_memory: bool = setting(
        DEFAULTS.enable_end_of_turn_memory,
        "Let memory writes behind the reply's text end the turn without another call of the model.",
        "false",
    )
    journal_limit: int = setting(
        DEFAULTS.journal_limit,
        "Journal entries in sight above which the oldest half makes way for a digest.",
        "50",
        ge=4,
        le=10_000,
    )
    journal_expiry_days: float = setting(
        365.0, "Age at which a journal entry goes out of sight, in days.", "90", gt=0, le=CENTURY_DAYS
    )
    journal_tail_entries: int = setting(
        DEFAULTS.journal_tail_entries, "Newest journal entries shown with a message, at most.", "10", ge=0, le=200
    )
    journal_tail_tokens: int = setting(
        DEFAULTS.journal_tail_tokens, "Tokens that they may take together.", "250", ge=0, le=20_000
    )
    retrieved_share: float = setting(
        DEFAULTS.retrieved_share,
        "Share of the room left beside the conversation that looked-up text may take.",
        "0.33",
        gt=0,
        le=1,
    )
    retrieved_min_room: int = setting(
        DEFAULTS.retrieved_min_room,
        "Tokens that must be left for anything to be looked up and shown.",
        "1000",
        ge=0,
        le=100_000,
    )
    retrieved_hits: int = setting(
        DEFAULTS.retrieved_hits, "Past messages and documents shown with a message, at most.", "5", ge=0, le=50
    )
    message_reserve: int = setting(
        DEFAULTS.message_reserve,
        "Tokens kept free of older messages for the newest one and its tool calls.",
        "500",
        ge=0,
        le=100_000,
    )
    tool_result_max_tokens: int = setting(
        DEFAULTS.tool_result_max_tokens,
        "Tokens of one tool's result that the model is shown; a longer one is cut in the middle.",
        "2000",
        ge=50,
        le=100_000,
    )
    core_memory_limit: int = setting(
        DEFAULTS.core_memory_limit, "Characters of core memory.", "2000", ge=200, le=50_000
    )
    tool_call_cap: int = setting(DEFAULTS.tool_call_cap, "Tool calls one turn may make.", "6", ge=1, le=50)
    window_summary_max_words: int = setting(
        DEFAULTS.window_summary_max_words, "Words of the digest of what left the window.", "200", ge=20, le=2_000
    )
    session_idle_minutes: float = setting(
        30.0, "Silence that ends a session, in minutes.", "30", gt=0, le=60 * YEAR_HOURS
    )
    closed_scope_days: float = setting(
        30.0,
        "Days for which memory of a server is kept, read by nobody, after the bot has left it.",
        "30",
        gt=0,
        le=CENTURY_DAYS,
    )

    @property
    def memory_parameters(self) -> MemoryParameters:
        """The numbers of the memory system."""
        return MemoryParameters(
            **self.tier_parameters,
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
            or min(DEFAULTS.history_target, max(1, self.max_conversation_history // 2)),
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
