"""The command line, run in the test's own process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog

from bot.config import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run of the command ended."""

    code: object
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def keepsake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Run the command in this process, with no setting but those given by name."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)
    handlers = logging.getLogger().handlers[:]
    from bot.cli import main  # the whole application, which the other tests here do without

    def run(*arguments: str, **variables: str) -> Ended:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["keepsake", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return Ended(code=ended.value.code or 0, out=shown.out, err=shown.err)

    yield run
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
