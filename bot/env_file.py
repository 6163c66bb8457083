"""The file ``.env``: whether each of its lines says something.

Invariant: a line is named by its number alone, for it may hold a secret.
"""

from __future__ import annotations

from pathlib import Path

from dotenv.parser import parse_stream


def unreadable_lines(path: Path) -> list[str]:
    """A sentence for each line that sets nothing although it is neither empty nor a comment.

    Args:
        path: the file; where there is none, nothing is wrong with it.
    """
    if not path.is_file():
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
