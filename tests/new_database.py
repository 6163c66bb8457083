"""An empty database for a test: made once in a process, then copied, as migrating takes longer than most tests."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from memory.database import open_database

_migrated: list[bytes] = []


async def database_in(folder: Path) -> str:
    """The address of the database of a folder, which is there already after a restart."""
    path = folder / "keepsake.db"
    if not _migrated:
        _migrated.append(await _made())
    _copy(_migrated[0], path)
    return f"sqlite:///{path}"


async def _made() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "keepsake.db")
        await (await open_database(f"sqlite:///{path}")).close()
        return _read(path)


def _read(path: Path) -> bytes:
    return path.read_bytes()


def _copy(image: bytes, path: Path) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
