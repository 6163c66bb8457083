"""Many people at once while everything goes wrong: the small size of ``bench/soak.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.soak import SMALL, soak
from tests.blackbox.process import forked_run


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_whatever_goes_wrong_everybody_is_answered_once_and_the_same_is_kept(tmp_path: Path) -> None:
    calm, troubled, problems = await soak(tmp_path, SMALL, started=forked_run)
    assert problems == []
    assert calm.answered == SMALL.messages
    assert 0 < troubled.told < SMALL.messages / 3  # trouble was met, and most of it overcome
