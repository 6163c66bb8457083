"""The file ``.env``: whether each of its lines says something, and sets what there is.

Invariant: a line is named by its number alone, for it may hold a secret.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from dotenv.parser import parse_stream


def unreadable_lines(path: Path) -> list[str]:
    """A sentence for each line that sets nothing although it is neither empty nor a comment.

    Args:
        path: the file; where there is none, nothing is wrong with it. A folder of that name is.
    """
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8") as stream:
            bindings = list(parse_stream(stream))
    except OSError as error:
        return [f"{path}: it cannot be read: {error.strerror}."]
    except UnicodeDecodeError:
        return [f"{path}: it is no text in UTF-8. Save it as such."]
    return [
        f"{path}: line {binding.original.line} sets nothing. Example: PORT=8080"
        for binding in bindings
        if binding.error or (binding.key is not None and binding.value is None)
    ]


def unknown_names(path: Path, known: Collection[str]) -> list[str]:
    """A sentence for each name that is set in the file and is no setting.

    They are ignored and no mistake, for other programs may read the same file; but a setting may be misspelt.

    Args:
        path: the file, every line of which can be read; where there is none, it sets nothing.
        known: the names of all settings, in capitals.
    """
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as stream:
        names = [binding.key for binding in parse_stream(stream) if binding.key is not None]
    sentences = []
    for name in dict.fromkeys(names):
        if name.upper() not in known:
            meant = get_close_matches(name.upper(), known, n=1)
            hint = f" Did you mean {meant[0]}?" if meant else " docs/settings.md lists those there are."
            sentences.append(f"{path}: there is no setting {name}, so it is ignored.{hint}")
    return sentences
