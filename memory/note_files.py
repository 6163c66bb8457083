"""Files about a person's memory that people can read, in a folder for each scope: ``<folder>/<scope slug>/``.

Invariant: a file is there whole or not at all, and none is written or read outside of its scope's folder: no link is
followed, and no name leads elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from memory.errors import InvalidInput, NotesUnavailable
from memory.records import Scope, scope_from_slug, scope_slug

LARGEST_NOTE = 1_000_000
"""Bytes of a note that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What lies in a folder of notes.

    Attributes:
        names: of the notes, in their order.
        refused: why other things are not read, a sentence each.
    """

    names: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


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
        """A file's text; None where there is none.

        Raises:
            InvalidInput: it is a link, no plain file, too large, no text in UTF-8, or cannot be read.
            NotesUnavailable: the folder cannot be used.
        """
        path = self._path(scope, name)
        return None if path is None else await asyncio.to_thread(_read, path)

    async def listed(self, scope: Scope) -> Listing:
        """What lies in a scope's folder, hidden things passed over. Raises NotesUnavailable."""
        folder = self.folder_of(scope)
        return Listing() if folder is None else await asyncio.to_thread(_listed, folder)

    async def rewrite(self, scope: Scope, names: Collection[str], change: Callable[[str, str], str]) -> int:
        """Change some files, in one trip to a thread; how many were.

        Args:
            scope: whose.
            names: of files that are there or not yet. What cannot be read as a note is left as it is.
            change: from a name and the text that is there, empty for none, to the text that is to be there; a file is
                removed where that is empty.

        Raises:
            NotesUnavailable: one of them cannot be written; those before it were.
        """
        paths = [path for name in names if (path := self._path(scope, name)) is not None]
        return await asyncio.to_thread(lambda: sum(_rewritten(path, change) for path in paths))

    async def erase(self, person: str) -> int:
        """Delete every file of a person; how many. Raises NotesUnavailable."""
        return 0 if self._folder is None else await asyncio.to_thread(_erase, self._folder, person)

    async def erase_scope(self, scope: Scope) -> None:
        """Delete every file of a scope. Raises NotesUnavailable."""
        folder = self.folder_of(scope)
        if folder is not None:
            await asyncio.to_thread(_remove, folder)

    def _path(self, scope: Scope, name: str) -> Path | None:
        if not name.isprintable() or name != Path(name).name or name.startswith(".") or not name.endswith(".md"):
            raise InvalidInput(f"{name!a} is no name of a note. Write a plain name that ends in .md.")
        folder = self.folder_of(scope)
        return None if folder is None else folder / name


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_folder(path.parent)
        fresh.unlink(missing_ok=True)
        with fresh.open("x", encoding="utf-8") as file:  # a link of that name is not followed
            file.write(text)
        fresh.replace(path)
    except OSError as error:
        raise _unavailable(error) from error


def _rewritten(path: Path, change: Callable[[str, str], str]) -> bool:
    try:
        before = _read(path) or ""
    except InvalidInput:
        return False
    after = change(path.name, before)
    if after == before:
        return False
    if after:
        _write(path, after)
    else:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _unavailable(error) from error
    return True


def _read(path: Path) -> str | None:
    if path.is_symlink():
        raise InvalidInput(f"{path.name} is a link, which is not followed. Put the file itself there.")
    _check_folder(path.parent)
    try:
        data = _start_of(path)
    except FileNotFoundError:
        return None
    except OSError as error:  # of this file alone, so that the others are read
        raise InvalidInput(f"{path.name} cannot be read: {error.strerror}.") from error
    if len(data) > LARGEST_NOTE:
        raise InvalidInput(f"{path.name} is larger than {LARGEST_NOTE:,} bytes. Cut it into smaller files.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is no text in UTF-8. Save it as such.") from error


def _start_of(path: Path) -> bytes:
    """A byte more of a file than a note may have. Raises InvalidInput, OSError."""
    # Neither a link nor a pipe that took the file's place just now is followed or waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidInput(f"{path.name} is no plain file.")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_NOTE + 1)
    finally:
        os.close(descriptor)


def _listed(folder: Path) -> Listing:
    try:
        _check_folder(folder)
        reasons = _reasons(folder) if folder.is_dir() else {}
    except OSError as error:
        raise _unavailable(error) from error
    names = tuple(name for name, why in reasons.items() if not why)
    return Listing(names=names, refused=tuple(filter(None, reasons.values())))


def _reasons(folder: Path) -> dict[str, str]:
    """The names in a folder in their order, each with why it is no note; in one look, for there is one for each day."""
    with os.scandir(folder) as found:
        seen = sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)
        return {entry.name: _why_not(entry) for entry in seen}


def _why_not(entry: os.DirEntry[str]) -> str:
    if not entry.name.isprintable():  # nor what is no text at all, which no database and no terminal takes
        return f"{entry.name!a} is no name of a note. Write a plain name that ends in .md."
    if entry.is_symlink():
        return f"{entry.name} is a link, which is not followed. Put the file itself there."
    if not entry.is_file():
        return f"{entry.name} is no plain file."
    return "" if entry.name.endswith(".md") else f"{entry.name} is no note: only files that end in .md are read."


def _check_folder(folder: Path) -> None:
    """A scope's folder that is a link would lead elsewhere."""
    if folder.is_symlink():
        raise NotesUnavailable(f"The folder {folder.name} in notes is a link, which is not followed. Make it a folder.")


def _erase(folder: Path, person: str) -> int:
    count = 0
    for inner in folder.iterdir() if folder.is_dir() else ():
        try:
            scope = scope_from_slug(inner.name)
        except InvalidInput:
            continue
        if scope.person == person:
            count += 0 if inner.is_symlink() else sum(1 for path in inner.rglob("*") if path.is_file())
            _remove(inner)
    return count


def _remove(folder: Path) -> None:
    try:
        if folder.is_symlink():
            folder.unlink()  # what it leads to is not ours
        else:
            shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unavailable(error) from error


def _unavailable(error: OSError) -> NotesUnavailable:
    return NotesUnavailable(f"The notes cannot be used: {error.strerror}. Check the folder notes in DATA_DIR.")
