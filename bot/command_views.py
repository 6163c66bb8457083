"""How commands show what they found, as Markdown. Pure.

Invariant: remembered text stands in a code block that it cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta

from memory.oversight import Overview, Statistics
from memory.parameters import MemoryParameters
from memory.policy.diff import diff_lines
from memory.privacy import ErasureInMirror, ErasureReceipt
from memory.processes.tier_metrics import TierMetrics
from memory.records import AuditEntry, BlockVersion, SummaryVersion
from memory.stores.parameter_changes import ParameterChange

_TICKS = re.compile(r"`+")

_DAY, _HOUR, _MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
_SPANS = {
    "answer_within": ("answer_within_minutes", _MINUTE),
    "closed_scope_kept": ("closed_scope_days", _DAY),
    "consolidation_interval": ("consolidation_hours", _HOUR),
    "journal_expiry": ("journal_expiry_days", _DAY),
    "session_idle": ("session_idle_minutes", _MINUTE),
    "tree_prune": ("tree_prune_days", _DAY),
    "warm_retention": ("warm_retention_days", _DAY),
}


def fenced(text: str, language: str = "") -> str:
    """A text as a code block, with a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def moment(at: datetime) -> str:
    """A time, to the minute, with its zone: a person may have chosen another."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def overview(found: Overview, *, blind: bool = False) -> str:
    """What is remembered in one scope.

    Args:
        found: what there is.
        blind: leave out the texts.
    """
    lines = [f"**Heard by {found.scope.audience}**"]
    if not blind:
        for block in found.blocks:
            lines += _labelled(f"core memory, {block.label}", block.value)
        lines += _labelled("summary", found.summary.text if found.summary else "")
        lines += _labelled("earlier in this conversation", found.window_summary)
    last = moment(found.last_activity) if found.last_activity else "never"
    lines.append(f"{found.messages} messages, {found.facts} facts, {found.passages} documents. Last active: {last}.")
    return "\n".join(lines)


def _labelled(label: str, text: str) -> list[str]:
    return [f"{label}:", fenced(text)] if text else [f"{label}: nothing"]


def version_line(version: SummaryVersion | BlockVersion) -> str:
    """One version in a line: number, date, length, why and by whom."""
    text = version.text if isinstance(version, SummaryVersion) else version.value
    words = len(text.split())
    return (
        f"version {version.version}, {moment(version.changed_at)}, {words} words, "
        f"{version.change.reason} ({version.change.actor})"
    )


def versions(found: Sequence[SummaryVersion], *, blind: bool = False) -> str:
    """The versions of a summary, newest first, with what the newest changed."""
    lines = [f"- {version_line(version)}" for version in found]
    if len(found) > 1 and not blind:
        lines += ["", f"What version {found[0].version} changed:", difference(found[1].text, found[0].text)]
    return "\n".join(lines)


def difference(before: str, after: str) -> str:
    """The difference of two texts."""
    return fenced("\n".join(diff_lines(before, after)) or "(no difference)", "diff")


def differences(texts: Mapping[str, tuple[str, str]], *, blind: bool = False) -> str:
    """The differences of several texts, each under its name."""
    if blind:
        return "\n".join(f"- {name}" for name in texts)
    return "\n".join(f"{name}:\n{difference(before, after)}" for name, (before, after) in texts.items())


def audit(entries: Iterable[AuditEntry]) -> str:
    """The audit log, newest first."""
    lines = [
        f"- {moment(entry.at)} {entry.actor}: {entry.action}{f', {entry.detail}' if entry.detail else ''} "
        f"({entry.scope.audience})"
        for entry in entries
    ]
    return "\n".join(lines) or "Nobody has looked at or changed it."


def parameters(found: MemoryParameters, changed: Collection[str] = ()) -> str:
    """The numbers in force, by the names of their settings, with a word behind those changed at run time."""
    numbers = (_as_set(field.name, getattr(found, field.name)) for field in fields(found))
    return "\n".join(f"- {name}: {value}{' (changed)' if name in changed else ''}" for name, value in numbers)


def _as_set(name: str, value: object) -> tuple[str, object]:
    """A number as its setting says it, briefly: a span in its unit, which the setting's name ends with."""
    if isinstance(value, float):
        return name, f"{value:.3g}"
    if not isinstance(value, timedelta):
        return name, value
    setting, unit = _SPANS[name]
    return setting, f"{value / unit:g}"


def parameter_change(change: ParameterChange) -> str:
    """One change of a number at run time."""
    return f"- {moment(change.changed_at)} {change.actor}: {change.value or 'as configured'}"


def statistics(found: Statistics, parameters: MemoryParameters) -> str:
    """How much there is in one scope, and how large its prompts are."""
    journal = {name: count for name, count in found.journal.items() if name != "archived"}
    kinds = ", ".join(f"{count} {name}" for name, count in journal.items()) or "none"
    windows = ", ".join(f"{count} in {name}" for name, count in found.windows.items()) or "none is open"
    lines = [
        f"**Heard by {found.scope.audience}**, kept in {found.store}",
        f"- journal entries: {sum(journal.values())} ({kinds}), of which {found.journal['archived']} are out of sight",
        f"- {found.messages} messages, {found.facts} facts, {found.passages} documents",
        f"- messages in conversation: {windows} (at most {parameters.max_conversation_history})",
    ]
    lines.append(_tiers(found.tiers))
    if found.last_prompt is not None:
        sections = ", ".join(f"{name} {tokens:,}" for name, tokens in found.last_prompt.sections.items())
        lines.append(
            f"- last prompt: {found.last_prompt.tokens:,} of {parameters.context_window_tokens:,} tokens, estimated by "
            f"section: {sections}"
        )
    if found.failed_searches:
        failed = ", ".join(f"{source} ({moment(at)})" for source, at in found.failed_searches.items())
        lines.append(f"- could not be searched at times within the last hour: {failed}; the log says why")
    return "\n".join(lines)


def _tiers(tiers: TierMetrics) -> str:
    last = moment(tiers.last_consolidation) if tiers.last_consolidation else "never"
    return (
        f"- tiers: {tiers.hot_memory_size_bytes:,} bytes at hand; {tiers.warm_memory_count:,} recent entries "
        f"({tiers.warm_memory_size_kb:g} KB), {tiers.cold_memory_count:,} archived; {tiers.tree_node_count} categories "
        f"({tiers.tree_index_size_bytes:,} bytes); found in {tiers.retrieval_count:,} searches; today "
        f"{tiers.evictions_today} archived and {tiers.reinforcements_today} found; consolidated "
        f"{tiers.consolidation_count} times, last {last}; about {tiers.context_tokens_saved:,} tokens kept out of "
        "prompts"
    )


NOT_SEARCHED = "Backups made before are files of their own, which were not searched."
"""What a receipt cannot promise."""


_UNSCRUBBED = (
    "Pages of a hosted database, and their copy in DATA_DIR/mirror, cannot be scrubbed from here: pieces may stand in "
    "them until they are written over."
)
IN_MIRROR = {
    ErasureInMirror.DONE: f"The rows are gone from the mirror too. {_UNSCRUBBED}",
    ErasureInMirror.WAITING: f"The mirror cannot be reached now; its rows are deleted as soon as it can. {_UNSCRUBBED}",
}
"""What became of the rows in the mirror, and what cannot be promised."""


def receipt(erased: ErasureReceipt) -> str:
    """What an erasure did and found."""
    rows = [f"- {name}: {count}" for name, count in erased.rows.items() if count]
    searched = sum(erased.files.values())
    lines = [
        f"Everything kept about {erased.person} was erased on {moment(erased.erased_at)}.",
        "",
        *(rows or ["There was nothing."]),
        "",
        f"Then {searched:,} bytes in {len(erased.files)} files were searched for {erased.pieces} pieces of it.",
        f"{erased.residue} still stand there. Please erase once more." if erased.residue else "Nothing is left.",
        *([IN_MIRROR[erased.mirror]] if erased.mirror else []),
        NOT_SEARCHED,
    ]
    return "\n".join(lines)
