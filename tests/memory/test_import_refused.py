"""What no import takes: files that are no export, damaged or cut off; and the format itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from memory.errors import InvalidInput
from memory.policy.export import choices, conversations, experience, knowledge, tiers, work
from memory.stores.journal_rows import OF_OLDER_EXPORTS
from tests.memory.house_of_ann import TABLES, House, house_in, live_in


def at(*path: str | int) -> Callable[[dict[str, Any], Any], None]:
    """A change of one place of an export; ``...`` takes it out."""

    def change(exported: dict[str, Any], value: Any) -> None:
        place: Any = exported
        for step in path[:-1]:
            place = place[step]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


DM = ("scopes", "dm")

FAULTS: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("format",), "keepsake/2", "format: it is 'keepsake/2'"),
    (("format",), ..., "format: it is missing"),
    (("format",), 1, "format: Input should be a valid string"),
    (("person",), "ann", "person: it names nobody"),
    (("person",), "console:ann\n", "person: it names nobody"),
    (("scopes",), [], "scopes: Input should be an object"),
    (("scopes", "everybody"), {}, "scopes.everybody"),
    (("scopes", "guild:\0\n" + "1" * 99), {}, "scopes.guild:??1111"),
    ((*DM, "facts_of_tomorrow"), [], "scopes.dm.facts_of_tomorrow: keepsake/1 knows nothing of that name"),
    ((*DM, "recall"), {}, "scopes.dm.recall: Input should be a valid array"),
    ((*DM, "recall", 0), "hello", "scopes.dm.recall[0]: Input should be an object"),
    ((*DM, "recall", 1, "author"), ..., "scopes.dm.recall[1].author: it is missing"),
    ((*DM, "recall", 1, "evicted_at"), ..., "scopes.dm.recall[1].evicted_at: it is missing"),
    ((*DM, "recall", 1, "mood"), "good", "scopes.dm.recall[1].mood: keepsake/1 knows nothing"),
    ((*DM, "recall", 1, "author"), "\0", "scopes.dm.recall[1].author: it holds a NUL"),
    ((*DM, "recall", 1, "author"), 5, "scopes.dm.recall[1].author: Input should be a valid string"),
    ((*DM, "recall", 1, "author"), "a" * 201, "scopes.dm.recall[1].author: String should have at most 200"),
    ((*DM, "recall", 0, "role"), "system", "scopes.dm.recall[0].role: Input should be"),
    ((*DM, "recall", 0, "parts"), "[]", "scopes.dm.recall[0].parts: Input should be"),
    ((*DM, "recall", 0, "parts", 0, "type"), "image", "scopes.dm.recall[0].parts[0]"),
    ((*DM, "recall", 0, "parts", 0, "text"), "\0", "it holds a NUL"),
    ((*DM, "recall", 1, "parts", 1, "arguments"), [], "scopes.dm.recall[1].parts[1].tool_call.arguments"),
    ((*DM, "recall", 0, "id"), "-1", "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), 0, "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), True, "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), 1.5, "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), "²", "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), str(2**63 - 1), "scopes.dm.recall[0].id: it is an id of the future"),
    ((*DM, "recall", 0, "id"), 2**63 - 1, "scopes.dm.recall[0].id: it is an id of the future"),
    ((*DM, "recall", 0, "session_id"), "9" * 40, "scopes.dm.recall[0].session_id"),
    ((*DM, "recall", 0, "session_id"), 10**40, "scopes.dm.recall[0].session_id"),
    ((*DM, "recall", 0, "tokens"), 2**31, "scopes.dm.recall[0].tokens"),
    ((*DM, "recall", 0, "sent_at"), "2026-03-02T09:00:00", "scopes.dm.recall[0].sent_at: Input should have timezone"),
    ((*DM, "recall", 0, "sent_at"), "9999-12-31T23:59:59-12:00", "scopes.dm.recall[0].sent_at: it is out of range"),
    ((*DM, "recall", 0, "sent_at"), 5, "scopes.dm.recall[0].sent_at"),
    ((*DM, "recall", 0, "eviction_reason"), "boredom", "scopes.dm.recall[0].eviction_reason"),
    ((*DM, "sessions", 0, "kept"), "yes", "scopes.dm.sessions[0].kept"),
    ((*DM, "sessions", 0, "community"), "planet:earth", "scopes.dm.sessions[0].community: it is no audience"),
    ((*DM, "blocks", 0, "label"), "soul", "scopes.dm.blocks[0]: its label is none of persona and human"),
    ((*DM, "blocks", 0, "version"), 0, "scopes.dm.blocks[0].version"),
    ((*DM, "blocks", 0, "version"), 2**31, "scopes.dm.blocks[0].version"),
    ((*DM, "archival", 0, "content"), "Tampered with.", "scopes.dm.archival[0]: its content_hash is not"),
    ((*DM, "archival", 0, "importance"), 1.5, "scopes.dm.archival[0].importance"),
    ((*DM, "archival", 0, "importance"), float("nan"), "scopes.dm.archival[0].importance"),
    ((*DM, "archival", 0, "metadata"), None, "scopes.dm.archival[0].metadata"),
    ((*DM, "facts", 0, "text"), "Ann is a spy.", "scopes.dm.facts[0]: its text_hash is not that of its text"),
    ((*DM, "facts", 0, "state"), "doubtful", "scopes.dm.facts[0].state"),
    ((*DM, "fact_revisions", 2, "before", "created_at"), 2**60, "scopes.dm.fact_revisions[2].before.created_at"),
    ((*DM, "fact_revisions", 2, "after", "superseded_by"), "x", "scopes.dm.fact_revisions[2].after.superseded_by"),
    ((*DM, "journal", 0, "text"), "Ann is a spy.", "scopes.dm.journal[0]: its text_hash is not that of its text"),
    ((*DM, "summaries", 0, "words"), -1, "scopes.dm.summaries[0].words"),
    ((*DM, "audit", 0, "actor"), "a" * 129, "scopes.dm.audit[0].actor: String should have at most 128"),
    (("scopes", "person", "consent"), [{"greeted_at": None, "paused_at": None}] * 2, "scopes.person.consent"),
]


@pytest.fixture(scope="module")
async def an_export(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async with house_in(tmp_path_factory.mktemp("export")) as house:
        await live_in(house)
        return await house.export()


@pytest.fixture(scope="module")
async def empty_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with house_in(tmp_path_factory.mktemp("empty")) as house:
        yield house


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(("path", "value", "told"), FAULTS, ids=[told for *_, told in FAULTS])
async def test_a_fault_is_named_with_its_place_and_nothing_is_imported(
    empty_house: House, an_export: dict[str, Any], path: tuple[str | int, ...], value: Any, told: str
) -> None:
    damaged = json.loads(json.dumps(an_export))
    at(*path)(damaged, value)
    with pytest.raises(InvalidInput) as refused:
        await empty_house.import_(damaged)
    sentence = str(refused.value)
    assert told in sentence
    assert sentence.startswith("This file cannot be imported: ")
    assert sentence.endswith(". Nothing was imported.")
    assert sentence.isprintable()
    assert "kumquat" not in sentence
    assert not any((await empty_house.every_row()).values())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"PK\x03\x04",
        b'{"format": "keepsake/1", "person": "console:\xed\xa0\x80"}',
        b'{"format": "keepsake/1", "person": "console:\\ud800"}',
        b"[" * 10_000,
        b'{"format": "keepsake/1", "scopes": {"dm": {"recall": [{"id": ' + b"9" * 10_000 + b"}]}}}",
    ],
    ids=["empty", "null", "list", "not-utf8", "zip", "raw-surrogate", "escaped-surrogate", "deep", "huge-number"],
)
async def test_what_is_no_export_is_refused(empty_house: House, data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^This file cannot be imported: .*\. Nothing was imported\.$"):
        await empty_house.import_(data)
    assert not any((await empty_house.every_row()).values())


async def test_a_file_cut_off_anywhere_is_refused(empty_house: House, an_export: dict[str, Any]) -> None:
    data = json.dumps(an_export).encode()
    for end in range(0, len(data), 97):
        with pytest.raises(InvalidInput, match="Nothing was imported"):
            await empty_house.import_(data[:end])
    assert not any((await empty_house.every_row()).values())


ADDED_LATER = {"recall": {"edited_at"}, "archival": {"forgotten_reason"}, "journal": set(OF_OLDER_EXPORTS)}

MODELS = {
    "sessions": conversations.SessionRow,
    "recall": conversations.MessageRow,
    "blocks": knowledge.BlockVersionRow,
    "archival": knowledge.PassageRow,
    "facts": knowledge.FactRow,
    "fact_revisions": knowledge.FactRevisionRow,
    "journal": work.JournalRow,
    "working": work.WorkingRow,
    "hot": tiers.HotVersionRow,
    "entries": tiers.EntryRow,
    "tree": tiers.TreeNodeRow,
    "tree_changes": tiers.TreeChangeRow,
    "consolidations": tiers.ConsolidationRow,
    "episodes": experience.EpisodeRow,
    "procedures": experience.ProcedureRow,
    "procedure_versions": experience.ProcedureVersionRow,
    "reminders": work.ReminderRow,
    "preferences": choices.PreferencesRow,
    "summaries": conversations.SummaryVersionRow,
    "audit": choices.AuditRow,
    "consent": choices.ConsentRow,
}


@pytest.mark.parametrize("store", sorted(TABLES))
async def test_the_format_has_every_column_of_kept_memory(store: str, an_export: dict[str, Any]) -> None:
    table, model = TABLES[store], MODELS[store]
    columns = {column.name for column in table.columns if column.name not in ("person", "audience")}
    assert columns == set(model.model_fields)
    optional = {name for name, field in model.model_fields.items() if not field.is_required()}
    assert optional == ADDED_LATER.get(store, set())
    exported = an_export["scopes"]["person" if store in ("consent", "preferences") else "dm"][store]
    assert all(set(row) == columns for row in exported)
