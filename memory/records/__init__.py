"""What is kept, as values. All times are aware UTC datetimes.

One face over modules by topic; the rest of the project imports from here.
"""

from memory.records.channels import ChannelMode, ChannelState
from memory.records.conversations import (
    EvictionReason,
    InboxItem,
    InboxState,
    NewMessage,
    Session,
    StoredMessage,
)
from memory.records.experience import (
    Difficulty,
    Episode,
    Example,
    HowTo,
    KeyMoment,
    MomentKind,
    Narrative,
    Outcome,
    Procedure,
    ProcedureState,
    ProcedureVersion,
)
from memory.records.facts import (
    WANTS_FORGOTTEN,
    Candidate,
    CandidateKind,
    Fact,
    FactOp,
    FactOperation,
    FactRevision,
    FactState,
)
from memory.records.journal import (
    ArchiveReason,
    DigestVersion,
    JournalCategory,
    JournalEntry,
    NumberedEntry,
    ResultPlace,
)
from memory.records.past import Archive, PastMessage
from memory.records.reminders import Reminder, ReminderState
from memory.records.scopes import (
    Reach,
    Scope,
    check_audience,
    check_person,
    scope_from_slug,
    scope_slug,
)
from memory.records.search import (
    EmbeddingProgress,
    EntryScore,
    Passage,
    SearchEntry,
    SearchHit,
    Source,
)
from memory.records.versions import (
    BLOCK_LABELS,
    HUMAN,
    PERSONA,
    BlockVersion,
    Change,
    MemoryBlock,
    SummaryVersion,
)
from memory.records.work import (
    AuditEntry,
    Job,
    JobState,
)

__all__ = [
    "BLOCK_LABELS",
    "HUMAN",
    "PERSONA",
    "WANTS_FORGOTTEN",
    "Archive",
    "ArchiveReason",
    "AuditEntry",
    "BlockVersion",
    "Candidate",
    "CandidateKind",
    "Change",
    "ChannelMode",
    "ChannelState",
    "Difficulty",
    "DigestVersion",
    "EmbeddingProgress",
    "EntryScore",
    "Episode",
    "EvictionReason",
    "Example",
    "Fact",
    "FactOp",
    "FactOperation",
    "FactRevision",
    "FactState",
    "HowTo",
    "InboxItem",
    "InboxState",
    "Job",
    "JobState",
    "JournalCategory",
    "JournalEntry",
    "KeyMoment",
    "MemoryBlock",
    "MomentKind",
    "Narrative",
    "NewMessage",
    "NumberedEntry",
    "Outcome",
    "Passage",
    "PastMessage",
    "Procedure",
    "ProcedureState",
    "ProcedureVersion",
    "Reach",
    "Reminder",
    "ReminderState",
    "ResultPlace",
    "Scope",
    "SearchEntry",
    "SearchHit",
    "Session",
    "Source",
    "StoredMessage",
    "SummaryVersion",
    "check_audience",
    "check_person",
    "scope_from_slug",
    "scope_slug",
]
