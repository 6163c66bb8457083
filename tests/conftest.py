"""Fixtures that many tests share."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from memory.database import Database, open_database
from memory.ids import IdSource
from memory.records import Scope
from tests.bound import Bound
from tests.fakes import FakeClock
from tests.new_database import database_in

# No test depends on the clock or on chance: a slow machine fails nothing, and a commit has one result. To look for new
# examples: pytest --hypothesis-profile=exploring.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("exploring"), derandomize=True)
settings.load_profile("repeatable")

_LONGEST = 120.0  # seconds for one test: the slowest takes 40 where the processors have six times as much to do

# What is not measured: processes of their own, and tests that go the same ways again and again with other data. To note
# every line that runs takes two fifths of a test's time.
_UNMEASURED = {
    "blackbox",
    "properties",
    "test_a_year.py",
    "test_audiences.py",
    "test_languages.py",
    "test_long_conversation.py",
    "test_long_life.py",
    "test_long_memory.py",
    "test_three_weeks.py",
}


def pytest_configure(config: pytest.Config) -> None:
    """Let no test wait for ever."""
    config.pluginmanager.register(Bound(_LONGEST))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the measurement of coverage to the tests that add to it."""
    for item in items:
        if not _UNMEASURED.isdisjoint(item.path.relative_to(config.rootpath).parts):
            item.add_marker(pytest.mark.no_cover)


def pytest_collection_finish() -> None:
    """Look no more for garbage among what is loaded by now, and seldom among the rest: it was an eighth of the time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:
    """A test that configures logs does so for itself alone."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ids(clock: FakeClock) -> IdSource:
    return IdSource(clock)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(await database_in(tmp_path))
    yield database
    await database.close()


@pytest.fixture
def ann() -> Scope:
    return Scope(person="console:ann", audience="dm")
