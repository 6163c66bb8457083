"""A test that waits for ever fails, is named, and keeps no other from running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_CONFTEST = """
import pytest
from tests.bound import Bound

def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Bound(1 if hasattr(config, "workerinput") else 60))
"""
_TESTS = """
import asyncio
import threading
import pytest

async def never() -> None:
    await asyncio.to_thread(threading.Event().wait)

@pytest.fixture
def thread_left():
    yield
    asyncio.run(never())

def test_that_fails_before_its_end_waits(thread_left) -> None:
    raise LookupError

def test_after_it() -> None:
    pass
"""


def test_a_test_that_waits_for_ever_is_named_with_what_it_waits_for_and_the_others_go_on(tmp_path: Path) -> None:
    Path(tmp_path, "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    Path(tmp_path, "test_waiting.py").write_text(_TESTS, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist.plugin", "-p", "no:cacheprovider", "-n", "1"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Not over after 1 s: test_waiting.py::test_that_fails_before_its_end_waits" in ended.stderr
    assert "test_waiting.py:7 never" in ended.stderr
    assert "threading.py" in ended.stderr
    assert "2 failed, 1 passed" in ended.stdout  # the failure itself, and its end
