"""Logs go to standard error, as JSON where a program reads them, with secrets blacked out."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from bot.logs import SayPlainly, configure_logs


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_is_json_on_standard_error_and_nothing_is_on_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("INFO")
    structlog.get_logger("test").info("memory_write", words=3)
    shown = capsys.readouterr()
    line = json.loads(shown.err)
    assert (line["event"], line["words"], line["level"]) == ("memory_write", 3, "info")
    assert shown.out == ""


def test_less_severe_lines_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("WARNING")
    log = structlog.get_logger("test")
    log.info("quiet")
    log.warning("loud")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["loud"]


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijk",
        "xoxb-1234-5678-abcdef",
        "xapp-1-A0-abcdef",
        "ticket=b8f2c1d0-77aa",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.abcdefghijklmnopqrstuvwxyz0123456789AB",
    ],
)
def test_a_secret_is_blacked_out_wherever_it_turns_up(capsys: pytest.CaptureFixture[str], secret: str) -> None:
    configure_logs("INFO")
    structlog.get_logger("test").error("refused", error=f"token {secret} is not valid")
    logging.getLogger("library").error("cannot log in with %s", secret)
    try:
        raise ValueError(secret)
    except ValueError:
        structlog.get_logger("test").exception("broke")
    shown = capsys.readouterr().err
    assert secret not in shown
    assert shown.count("[secret]") >= 3


def test_of_a_library_the_errors_that_are_no_fault_are_told_by_their_reason_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("INFO")
    library = logging.getLogger("tests.library")
    library.addFilter(SayPlainly(OSError))
    for error in (ConnectionResetError("reset by peer"), TimeoutError(), KeyError("id")):
        try:
            raise error
        except (OSError, KeyError):
            library.exception("Trying again in %ss", 5)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == [
        "Trying again in 5s (reset by peer)",
        "Trying again in 5s (TimeoutError)",
        "Trying again in 5s",
    ]
    assert ["exception" in line for line in lines] == [False, False, True]


def test_libraries_are_heard_from_warnings_on(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("INFO")
    logging.getLogger("library").info("request sent")
    logging.getLogger("library").warning("slow answer")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["slow answer"]
