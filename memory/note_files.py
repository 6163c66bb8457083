"""Files about a person's memory that people can read, in a folder for each scope: ``<folder>/<scope slug>/``.

Invariant: a file is there whole or not at all, and none is written or read outside of its scope's folder.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from memory.errors import InvalidInput, NotesUnavailable
from memory.records import Scope, scope_from_slug, scope_slug


class NoteFiles:
    """The files of everybody.

    Args:
        folder: where they are; None where none are kept, and then writing does nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def folder_of(self, scope: Scope) -> Path | None:
        """The folder of a scope, which may not be there yet."""
        return None if self._folder is None else self._folder / scope_slug(scope)

    async def write(self, scope: Scope, name: str, text: str) -> None:
        """Put a file in place of the one of that name. Raises NotesUnavailable."""
        path = self._path(scope, name)
        if path is not None:
            await asyncio.to_thread(_write, path, text)

    async def read(self, scope: Scope, name: str) -> str | None:
        """A file's text; None where there is none. Raises NotesUnavailable."""
        path = self._path(scope, name)
        return None if path is None else await asyncio.to_thread(_read, path)

    async def names(self, scope: Scope) -> list[str]:
        """The names of a scope's files, in their order; links are left out. Raises NotesUnavailable."""
        folder = self.folder_of(scope)
        return [] if folder is None else await asyncio.to_thread(_names, folder)

    async def erase(self, person: str) -> int:
        """Delete every file of a person; how many. Raises NotesUnavailable."""
        return 0 if self._folder is None else await asyncio.to_thread(_erase, self._folder, person)

    async def erase_scope(self, scope: Scope) -> None:
        """Delete every file of a scope. Raises NotesUnavailable."""
        folder = self.folder_of(scope)
        if folder is not None:
            await asyncio.to_thread(_remove, folder)

    def _path(self, scope: Scope, name: str) -> Path | None:
        if name != Path(name).name or name.startswith(".") or not name.endswith(".md"):
            raise InvalidInput(f"{name!r} is no name of a note. Write a plain name that ends in .md.")
        folder = self.folder_of(scope)
        return None if folder is None else folder / name


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise _unavailable(error) from error


def _read(path: Path) -> str | None:
    try:
        return None if path.is_symlink() else path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unavailable(error) from error


def _names(folder: Path) -> list[str]:
    try:
        found = [path for path in folder.glob("*.md") if path.is_file() and not path.is_symlink()]
    except OSError as error:
        raise _unavailable(error) from error
    return sorted(path.name for path in found if not path.name.startswith("."))


def _erase(folder: Path, person: str) -> int:
    count = 0
    for inner in folder.iterdir() if folder.is_dir() else ():
        try:
            scope = scope_from_slug(inner.name)
        except InvalidInput:
            continue
        if scope.person == person:
            count += sum(1 for path in inner.rglob("*") if path.is_file())
            _remove(inner)
    return count


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unavailable(error) from error


def _unavailable(error: OSError) -> NotesUnavailable:
    return NotesUnavailable(f"The notes cannot be used: {error.strerror}. Check the folder notes in DATA_DIR.")
