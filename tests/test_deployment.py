"""The files by which hosts run the bot fit the bot: its commands, its settings, and how long it takes to stop."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from configparser import ConfigParser
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import typer

from bot.cli import app
from bot.config import Settings
from bot.lifecycle import DRAIN_SECONDS
from bot.web import HEALTH_PATH

ROOT = Path(__file__).parent.parent
COMMANDS = typer.main.get_group(app).commands
UNIT = (ROOT / "deploy/keepsake.service").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
STARTS_A_DAY = 1_000  # more, and Discord takes the token away
LONGEST_STOP = DRAIN_SECONDS + 3  # and what adapters take to tell whoever waits


def instructions(name: str) -> list[str]:
    """The arguments of each such instruction of the Dockerfile."""
    return [line.partition(" ")[2].strip() for line in DOCKERFILE.splitlines() if line.startswith(f"{name} ")]


def unit() -> Mapping[str, Mapping[str, str]]:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their capitals
    parser.read_string(UNIT)
    return parser


def test_the_service_starts_a_command_that_there_is_and_leaves_it_time_to_stop() -> None:
    program, command = unit()["Service"]["ExecStart"].split()
    assert Path(program).name == "keepsake"
    assert command in COMMANDS
    assert float(unit()["Service"]["TimeoutStopSec"]) > LONGEST_STOP
    assert unit()["Service"]["KillMode"] == "mixed"  # what works for the bot is stopped after it
    assert unit()["Unit"]["StartLimitIntervalSec"] == "0"  # a network that is away for an hour ends nothing for good
    assert 24 * 60 * 60 / int(unit()["Service"]["RestartSec"]) < STARTS_A_DAY
    name, _, folder = unit()["Service"]["Environment"].partition("=")
    assert name.lower() in Settings.model_fields
    assert folder == f"/var/lib/{unit()['Service']['StateDirectory']}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_finds_nothing_wrong_with_the_service(tmp_path: Path) -> None:
    program = unit()["Service"]["ExecStart"].split()[0]
    (tmp_path / "keepsake.service").write_text(UNIT.replace(program, "/bin/true"), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "keepsake.service"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_image_holds_what_is_there_and_runs_a_command_that_there_is() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    let_in = [pattern.removeprefix("!") for pattern in ignored if pattern.startswith("!")]
    for copied in (one.split()[:-1] for one in instructions("COPY") if not one.startswith("--from")):
        for source in copied:
            assert (ROOT / source).exists()
            assert any(fnmatch(source, pattern) for pattern in let_in)
    [run] = instructions("CMD")[-1:]
    assert re.findall(r'"(.*?)"', run)[0] in COMMANDS
    assert instructions("ENTRYPOINT") == ['["keepsake"]']
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"\[(\w+)\]'", " ".join(instructions("RUN")))) <= set(project["optional-dependencies"])
    assert set(project["scripts"]) == {"keepsake"}
    [user] = [line for line in instructions("RUN") if line.startswith("useradd")]
    assert "--uid 999 " in user  # or an image built later could not write to the volume of an earlier one


def test_hosts_that_run_the_procfile_install_the_same_as_the_image_and_run_a_command_that_there_is() -> None:
    [required] = [
        line
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert f"'{required}'" in " ".join(instructions("RUN"))
    [process, program, command] = (ROOT / "Procfile").read_text(encoding="utf-8").split()
    assert (process, program) == ("worker:", "keepsake")
    assert command in COMMANDS


def test_the_image_keeps_memory_in_its_volume_and_is_asked_where_it_listens() -> None:
    environment = dict(re.findall(r"(\w+)=(\S+)", " ".join(instructions("ENV"))))
    assert environment["DATA_DIR"] == instructions("VOLUME")[0]
    assert instructions("EXPOSE") == [str(Settings.model_fields["port"].default)]
    assert f"os.getenv('PORT') or {Settings.model_fields['port'].default}" in health_check()
    assert instructions("USER") == ["keepsake"]


def health_check() -> str:
    """The program that says how the container is."""
    python, option, code = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    assert (python, option) == ("python", "-c")
    return str(code)


@pytest.mark.parametrize(("status", "exit_code"), [(200, 0), (503, 1)])
def test_the_container_is_healthy_while_the_bot_says_so_even_behind_a_proxy(
    monkeypatch: pytest.MonkeyPatch, status: int, exit_code: int
) -> None:
    asked = []

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        answering = Thread(target=server.handle_request, daemon=True)
        answering.start()
        monkeypatch.setenv("PORT", str(server.server_port))
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # a port where nobody answers
        with pytest.raises(SystemExit) as ended:
            exec(health_check(), {})
        answering.join(10)
    assert (int(ended.value.code or 0), asked) == (exit_code, [HEALTH_PATH])


def test_the_compose_file_keeps_memory_in_a_volume_and_leaves_time_to_stop() -> None:
    compose = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    keys = {depth: set(re.findall(rf"^ {{{depth}}}([\w-]+):", compose, re.MULTILINE)) for depth in (0, 2, 4)}
    assert keys[0] == {"services", "volumes"}
    assert keys[2] == {"keepsake"}  # the service, and the volume
    assert keys[4] == {"build", "env_file", "environment", "volumes", "restart", "stop_grace_period"}
    assert "- keepsake:/data\n" in compose
    assert "DATA_DIR: /data\n" in compose
    assert "restart: unless-stopped\n" in compose  # the only way back after the machine was started anew
    [seconds] = re.findall(r"stop_grace_period: (\d+)s", compose)
    assert int(seconds) > LONGEST_STOP
