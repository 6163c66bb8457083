"""The tiers from the command line: JSON on standard output, everything else on standard error."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from memory.records import Scope, scope_slug
from tests.bot.conftest import Command

ANN = ("--person", "console:ann", "--data-dir", "data")
SLUG = scope_slug(Scope(person="console:ann", audience="dm"))
SAID = "Hey! We decided to use SQLite, see https://a.example/db and run `pip install keepsake`. Thanks"


class Endpoint:
    """A completion endpoint of any URL.

    Attributes:
        reply: the text of its replies.
        prompts: what it was asked.
    """

    def __init__(self) -> None:
        self.reply = ""
        self.prompts: list[str] = []
        self.url = ""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A completion endpoint in a thread of its own, since the command has an event loop of its own."""
    found = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.prompts.append(asked["prompt"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(found.reply.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}/complete"
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield found
        server.shutdown()
        serving.join()


def value_of(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return found


def nothing_kept(folder: Path) -> None:
    """A database that is new: to SQLite an empty file is one."""
    (folder / "data").mkdir()
    (folder / "data" / "keepsake.db").touch()


def test_what_is_stored_is_found_counted_and_taken_back(keepsake: Command) -> None:
    given = ("--category", "work/projects", "--importance", "0.8", "--url", "https://b.example/x", "--cmd", "make run")
    stored = value_of(keepsake("memory", "store", *ANN, "--text", SAID, *given).out)
    assert (stored["agent_id"], stored["category"], stored["tier"]) == (SLUG, "work/projects", "warm")
    assert stored["metadata"]["urls"] == ["https://b.example/x"]
    assert stored["metadata"]["commands"] == ["make run"]
    assert "paths" not in stored["metadata"]
    again = keepsake("memory", "store", *ANN, "--text", SAID.upper())
    assert (value_of(again.out)["stored"], again.err) == (
        False,
        "The same words are kept already, so nothing was stored.\n",
    )
    found = value_of(keepsake("memory", "retrieve", "--agent-id", SLUG, "--data-dir", "data", "--query", "SQLite").out)
    assert [(row["id"], row["access_count"]) for row in found["results"]] == [(stored["id"], 1)]
    linked = value_of(keepsake("memory", "search-url", *ANN, "--url", "B.EXAMPLE").out)
    assert (linked["results_count"], linked["results"][0]["id"]) == (1, stored["id"])
    numbers = value_of(keepsake("memory", "metrics", *ANN).out)
    assert (numbers["warm_memory_count"], numbers["retrieval_count"], numbers["reinforcements_today"]) == (1, 1, 1)
    assert keepsake("memory", "undo", stored["job"], *ANN, "--yes").code == 0
    assert value_of(keepsake("memory", "metrics", *ANN).out)["warm_memory_count"] == 0


def test_an_endpoint_chooses_the_categories(keepsake: Command, endpoint: Endpoint) -> None:
    keepsake("memory", "store", *ANN, "--text", "The ferry leaves at nine", "--category", "work/travel")
    endpoint.reply = '[{"path": "work/travel", "relevance": 0.9, "reason": "ships"}]'
    asked = ("memory", "retrieve", *ANN, "--query", "ships", "--llm-endpoint", endpoint.url)
    found = value_of(keepsake(*asked).out)
    assert (found["mode"], found["routes"][0]["path"]) == ("llm", "work/travel")
    assert found["results"][0]["text"] == "The ferry leaves at nine"
    assert "ships" in endpoint.prompts[0]


def test_what_a_model_would_be_asked_is_written_to_a_file_and_nobody_is_asked(
    keepsake: Command, endpoint: Endpoint, tmp_path: Path
) -> None:
    keepsake("memory", "store", *ANN, "--text", "The ferry leaves at nine", "--category", "work/travel")
    asked = ("memory", "retrieve", *ANN, "--query", "ships", "--llm-endpoint", endpoint.url)
    told = value_of(keepsake(*asked, "--llm-prompt-file", str(tmp_path / "prompt.txt")).out)
    assert told["prompt_file"] == str(tmp_path / "prompt.txt")
    prompt = (tmp_path / "prompt.txt").read_text(encoding="utf-8")
    assert "work/travel: (0 facts, 1 warm, 0 cold)" in prompt
    assert "<query>\nships\n</query>" in prompt
    assert endpoint.prompts == []
    refused = keepsake(*asked, "--llm-prompt-file", str(tmp_path / "nowhere/prompt.txt"))
    assert (refused.code, refused.out) == (1, "")
    assert "cannot be written" in refused.err


def test_what_is_at_hand_and_the_tree_are_shown_and_changed(keepsake: Command, tmp_path: Path) -> None:
    told = value_of(keepsake("memory", "hot", *ANN, "--update", "task", '{"text": "Buy tea"}', "--rebuild").out)
    assert told["state"]["active_context"]["tasks"][0]["text"] == "Buy tea"
    assert "Buy tea" in (tmp_path / "data/notes" / SLUG / "MEMORY.md").read_text()
    wrong = keepsake("memory", "hot", *ANN, "--update", "task", "tea")
    assert (wrong.code, wrong.out) == (1, "")
    assert wrong.err.startswith("The value is no JSON")
    added = value_of(keepsake("memory", "tree", *ANN, "--add", "work/travel", "--description", "trips").out)
    assert {"work", "work/travel"} <= {node["path"] for node in added["nodes"]}
    refused = keepsake("memory", "tree", *ANN, "--remove", "work")
    assert (refused.code, refused.err) == (1, "work has categories below it. Remove those first.\n")
    assert value_of(keepsake("memory", "cold", *ANN).out)["count"] == 0


def test_notes_are_taken_in_and_consolidated(keepsake: Command, tmp_path: Path) -> None:
    folder = tmp_path / "data/notes" / SLUG
    folder.mkdir(parents=True)
    (folder / "ideas.md").write_text("- [x] Planted the quinces")
    (folder / "link.md").symlink_to("/etc/hostname")
    read = keepsake("memory", "ingest-daily", *ANN)
    told = value_of(read.out)
    assert (told["files_scanned"], told["mode"], told["facts_found"], told["facts_stored"]) == (1, "rule", 1, 1)
    assert (told["facts"], told["facts_skipped"], told["llm_fallbacks"]) == (["Planted the quinces"], 0, 0)
    assert read.err == "link.md is a link, which is not followed. Put the file itself there.\n"
    [report] = value_of(keepsake("memory", "consolidate", *ANN, "--mode", "daily").out)["reports"]
    assert (report["mode"], report["agent_id"], report["warm_entries"]) == ("daily", SLUG, 1)
    assert value_of(keepsake("consolidate", "--data-dir", "data").out) == {"mode": "quick", "scopes": 1}
    numbers = value_of(keepsake("memory", "metrics", *ANN, "--report", "--trend").out)
    [nodes] = [row for row in numbers["report"] if row["name"] == "tree_nodes"]
    assert (nodes["size"], nodes["limit"], nodes["bar"]) == (5, 50, "#.........")
    assert list(numbers["trend"]["warm_entries"]["days"].values()) == [1.0]


def test_a_text_is_distilled_by_rule_or_by_an_endpoint(keepsake: Command, endpoint: Endpoint, tmp_path: Path) -> None:
    done = value_of(keepsake("memory", "distill", "--text", SAID, "--core-summary").out)
    assert done["fact"] == "We decided to use SQLite, see a.example and run pip install keepsake"
    assert (done["mode"], done["original_size"], done["distilled_size"]) == ("rule", len(SAID), len(done["fact"]))
    assert done["core_size"] == len(done["core_summary"]) < 30
    assert done["metadata"] == {"urls": ["https://a.example/db"], "commands": ["pip install keepsake"]}
    endpoint.reply = '```json\n{"fact": "User uses SQLite", "outcome": "positive"}\n```'
    asked = keepsake("memory", "distill", "--text", SAID, "--llm-endpoint", endpoint.url, "-o", "out.json")
    assert (asked.out, asked.err) == ("", "Written to out.json.\n")
    written = value_of((tmp_path / "out.json").read_text())
    assert (written["mode"], written["fact"]) == ("llm", "User uses SQLite")
    assert "core_summary" not in written
    endpoint.reply = "I would rather not."
    fallen = keepsake("memory", "distill", "--text", SAID, "--mode", "llm", "--llm-endpoint", endpoint.url)
    assert value_of(fallen.out)["mode"] == "rule"
    assert fallen.err == "The answer of the model holds no fact. It was distilled by rule.\n"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (("distill",), "Give either --text or --file."),
        (("distill", "--text", " "), "There is nothing to distil."),
        (("distill", "--text", "tea", "--mode", "llm"), "--mode llm needs a model"),
        (("distill", "--text", "tea", "--llm-endpoint", "ftp://x"), "'ftp://x' is no address."),
        (("distill", "--file", "none.txt"), "none.txt cannot be read"),
        (("extract-metadata", "--file", "."), ". cannot be read"),
        (("store", *ANN, "--text", "\x07"), "--text is empty."),
        (("store", *ANN, "--text", "x" * 1_001), "--text has 1,001 characters"),
        (("metrics", "--agent-id", "../../etc", "--data-dir", "data"), "An agent id holds letters"),
        (("metrics", "--agent-id", "default", "--data-dir", "data"), "'default' is no scope."),
        (("metrics", "--data-dir", "data"), "Say whose memory is meant"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(
    keepsake: Command, tmp_path: Path, wrong: tuple[str, ...], sentence: str
) -> None:
    nothing_kept(tmp_path)
    ended = keepsake("memory", *wrong)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(sentence)
    assert "Traceback" not in ended.err


def test_the_exit_code_of_a_validation_is_the_number_of_warnings(keepsake: Command, tmp_path: Path) -> None:
    nothing_kept(tmp_path)
    note = tmp_path / "note.md"
    note.write_text("- We decided to use Redis\nIt was deployed\n")
    ended = keepsake("memory", "validate", "--file", "note.md")
    told = value_of(ended.out)
    assert (ended.code, told["status"], told["warnings_count"]) == (3, "warning", 3)
    assert (len(told["warnings"]), len(told["suggestions"])) == (3, 3)
    note.write_text("Tea.")
    ended = keepsake("memory", "validate", "--file", "note.md")
    assert (ended.code, value_of(ended.out)["status"]) == (0, "ok")
    ended = keepsake("memory", "validate", *ANN)
    assert (ended.code, value_of(ended.out)["warnings_count"]) == (1, 1)


def test_the_metadata_of_a_file_is_extracted_with_its_counts(keepsake: Command, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(SAID)
    told = value_of(keepsake("memory", "extract-metadata", "--file", "note.md").out)
    assert told["metadata"] == {"urls": ["https://a.example/db"], "commands": ["pip install keepsake"], "paths": []}
    assert (told["file"], told["urls_count"], told["commands_count"], told["paths_count"]) == ("note.md", 1, 1, 0)
