"""A start either goes on with everything an earlier process left, or says why it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from bot.application import open_application
from bot.config import load_settings
from bot.lifecycle import converse
from memory.errors import DatabaseUnavailable
from tests.fakes import FakeClock


class SilentConsole:
    """A terminal at which nobody types."""

    platform = "console"
    key = "console:ann:dm"

    async def run(self) -> None:
        raise AssertionError("nobody is to be answered")


async def test_a_start_that_cannot_go_on_with_the_jobs_ends_with_a_plain_sentence(tmp_path: Path) -> None:
    settings = load_settings({"data_dir": tmp_path}, env_file=None)
    async with open_application(settings, clock=FakeClock()) as application:
        async with application.system.transaction() as tx:
            await tx.connection.execute(text("DROP TABLE jobs"))

        with pytest.raises(DatabaseUnavailable, match="cannot be used"):
            await converse(application, SilentConsole())
