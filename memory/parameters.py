"""The numbers that say how much is remembered and shown, with their defaults, as one value passed in.

Invariant: what an operator may change stands here, and ``bot/config`` maps it to a setting; a limit
that only keeps one module's own work bounded stands in that module, with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo


class Sharing(StrEnum):
    """How far memory is shared between a person's audiences."""

    AUDIENCE = "audience"
    PERSON = "person"


class Preset(StrEnum):
    """Which parts of memory are at work."""

    FULL = "full"
    PAGING = "paging"
    ROLLING = "rolling"
    FACTS = "facts"
    TIERED = "tiered"


class ToolNames(StrEnum):
    """Under which names the memory tools are offered."""

    MEMGPT = "memgpt"
    LETTA = "letta"


class Fading(StrEnum):
    """By which rule documents in archival memory fade; see ``policy.fading``."""

    REUSE = "reuse"
    STEADY = "steady"


class TreeMode(StrEnum):
    """What chooses the categories in which a search by the tree looks."""

    KEYWORD = "keyword"
    LLM = "llm"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParameters:
    """The numbers of the memory system.

    Attributes:
        agent_name: the name the bot answers to.
        time_zone: an IANA name, for example ``Europe/Oslo``: the zone in which days begin and "now" is told.
        preset: which parts of memory are at work; see ``policy.presets``.
        fading: by which rule documents fade.
        tool_names: under which names the memory tools are offered.
        sharing: ``audience`` keeps what was said in private out of wider audiences; ``person`` does not.
        context_window_tokens: the budget of one request, in tokens, the answer's own room included.
        max_output_tokens: room kept for the answer, in tokens.
        eviction_threshold: share of the window above which the oldest messages leave it.
        eviction_target: share of the window that an eviction goes down to, so that the prefix then stays put.
        max_conversation_history: messages kept in the window.
        history_target: messages left after an eviction by count.
        core_memory_limit: characters of all core memory blocks together.
        tool_call_cap: tool calls a turn may make.
        max_tool_response_age: calls of the model that see a tool's result whole; then a line stands for it.
        auto_store_tool_results: what tools answer is noted in the journal.
        enable_end_of_turn_memory: memory writes behind the reply's text end the turn without another call.
        journal_limit: entries in sight above which the oldest make way for a digest.
        journal_expiry: age at which an entry goes out of sight.
        journal_tail_entries: newest entries shown with a message, at most.
        journal_tail_tokens: tokens that they may take together.
        window_summary_max_words: length of the digest of what left the window.
        similar_facts: stored facts that a new one is compared with.
        retrieved_facts: facts shown with a message, at most.
        retrieved_episodes: earlier sessions shown with a message, at most.
        retrieved_entries: distilled entries shown with a message, at most.
        retrieved_procedures: procedures shown with a message, at most.
        reconcile_floor: similarity below which a stored fact is not compared; contradictions often look unlike.
        max_deletes: facts that one exchange may retire unless the person asked to forget.
        summary_max_words: length of the rolling summary; a longer one is refused.
        summary_versions: versions of the rolling summary that are kept.
        session_idle: silence that ends a session.
        job_attempts: tries of a job before it is set aside for the operator.
        retrieved_share: share of the room left that retrieved text may take.
        retrieved_min_room: tokens that must be left for anything to be retrieved.
        message_reserve: tokens kept free of history for the newest message and its tool calls.
        retrieved_hits: recall and archival hits shown with a message, at most.
        tool_result_max_tokens: longest tool result shown to the model, in tokens.
        channel_context_messages: messages of others in a channel that are shown with a message, at most.
        channel_context_tokens: size of all of them together, at most, estimated.
        hot_max_bytes, hot_lessons, hot_events, hot_tasks, hot_projects: how much the hot state holds.
        warm_max_kb: size of the warm entries of a scope together, in units of 1,024 bytes.
        warm_retention: age at which a warm entry that is worth too little is archived.
        warm_eviction_threshold: what is worth too little.
        cold_retention_years: how long a frozen entry is kept.
        tree_max_nodes, tree_max_depth, tree_max_children, tree_max_bytes: how large the tree of categories may be.
        tree_search_mode: what chooses the categories in which a search by the tree looks.
        tree_prune: how long a category may be empty and idle.
        consolidation_interval: time between two quick consolidations.
        closed_scope_kept: how long what was said on a server is kept after the bot has left it.
        answer_within: an unanswered message older than this is not answered after a restart.
    """

    agent_name: str = "Keepsake"
    time_zone: str = "UTC"
    preset: Preset = Preset.FULL
    fading: Fading = Fading.REUSE
    tool_names: ToolNames = ToolNames.MEMGPT
    sharing: Sharing = Sharing.AUDIENCE
    context_window_tokens: int = 32_000
    max_output_tokens: int = 2_048
    eviction_threshold: float = 0.70
    eviction_target: float = 0.50
    max_conversation_history: int = 20
    history_target: int = 10
    core_memory_limit: int = 2_000
    tool_call_cap: int = 6
    max_tool_response_age: int = 1
    auto_store_tool_results: bool = True
    enable_end_of_turn_memory: bool = True
    journal_limit: int = 50
    journal_expiry: timedelta = timedelta(days=365)
    journal_tail_entries: int = 10
    journal_tail_tokens: int = 250
    window_summary_max_words: int = 200
    similar_facts: int = 5
    retrieved_facts: int = 5
    retrieved_episodes: int = 2
    retrieved_entries: int = 5
    retrieved_procedures: int = 2
    reconcile_floor: float = 0.0
    max_deletes: int = 3
    summary_max_words: int = 400
    summary_versions: int = 5
    session_idle: timedelta = timedelta(minutes=30)
    job_attempts: int = 5
    retrieved_share: float = 1 / 3
    retrieved_min_room: int = 1_000
    message_reserve: int = 500
    retrieved_hits: int = 5
    tool_result_max_tokens: int = 2_000
    channel_context_messages: int = 20
    channel_context_tokens: int = 1_000
    hot_max_bytes: int = 5_120
    hot_lessons: int = 20
    hot_events: int = 10
    hot_tasks: int = 10
    hot_projects: int = 5
    warm_max_kb: int = 50
    warm_retention: timedelta = timedelta(days=30)
    warm_eviction_threshold: float = 0.3
    cold_retention_years: float = 10.0
    tree_max_nodes: int = 50
    tree_max_depth: int = 4
    tree_max_children: int = 10
    tree_max_bytes: int = 2_048
    tree_search_mode: TreeMode = TreeMode.KEYWORD
    tree_prune: timedelta = timedelta(days=60)
    consolidation_interval: timedelta = timedelta(hours=2)
    closed_scope_kept: timedelta = timedelta(days=30)
    answer_within: timedelta = timedelta(minutes=15)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.time_zone)


class ParametersInForce:
    """The numbers in force now: those configured, until an operator changes some of them at run time.

    Whoever keeps this asks for ``current`` anew for each piece of work.

    Args:
        configured: the numbers at the start.
    """

    def __init__(self, configured: MemoryParameters) -> None:
        self.current = configured
