"""Whether the disk that memory is kept on lasts."""

from pathlib import Path

import pytest

from bot.config import Settings, load_settings
from bot.disk import existing, wiped_disk


def settings(**given: object) -> Settings:
    return load_settings(given, env_file=None)


def test_a_host_that_wipes_its_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO", "worker.1")
    warning = wiped_disk(settings(data_dir=tmp_path / "data"))
    assert warning is not None
    assert "Heroku" in warning
    assert "DATA_DIR" in warning


def test_a_database_elsewhere_is_the_operators_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO", "worker.1")
    chosen = settings(data_dir=tmp_path, database_url=f"sqlite:///{tmp_path}/elsewhere.db")
    assert wiped_disk(chosen) is None


def test_memory_that_is_mirrored_survives_a_wiped_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO", "worker.1")
    mirrored = settings(data_dir=tmp_path, turso_url="libsql://keepsake.example")
    assert wiped_disk(mirrored) is None
    assert "TURSO_URL" in str(wiped_disk(settings(data_dir=tmp_path)))


def test_a_folder_that_does_not_exist_yet_is_judged_by_the_one_above(tmp_path: Path) -> None:
    assert existing(tmp_path / "not" / "there") == tmp_path.resolve()
