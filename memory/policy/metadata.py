"""The links, commands and file paths that stand in a text, by which it is found again and put to use.

Invariant: each is given as it was written, in order and once, and no more of a kind than its limit; what belongs to a
link is no file path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_MOST_URLS = 10
_MOST_COMMANDS = 5
_MOST_PATHS = 10
_SHORTEST_COMMAND, _LONGEST_COMMAND = 4, 199  # characters
_SHORTEST_PATH = 6

KINDS = ("urls", "commands", "paths")
"""The names under which they stand in metadata."""

URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}»”’。、]")
_CODE = re.compile(r"`([^`\n]{2,200})`")
_PROMPT_LINE = re.compile(r"^[ \t]*\$ (\S[^\n]{0,199})$", re.MULTILINE)
_PROGRAMS = """
    apt apt-get aws brew bundle cargo cat cd chmod chown cmake cp curl deno docker docker-compose gcloud gem git go
    gradle grep helm java kubectl ls make mkdir mvn mv node npm npx pip pip3 pipx pnpm poetry psql pytest python
    python3 rm rsync ruff scp sed ssh sudo systemctl tar terraform uv uvx vim wget yarn
"""
_COMMAND_WORDS = frozenset(_PROGRAMS.split())
# A path has at least two parts and begins at a root, a home, a drive or this folder, or ends in a short extension.
_PATH = re.compile(
    r"(?<![\w/.:~\\@+-])(?:(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]*[\w@+-]|~/[\w.@+-]*[\w@+-]"
    r"|[A-Za-z]:\\(?:[\w.@+ -]+\\)*[\w.@+-]*[\w@+-]|(?:[\w.@+-]+/)+[\w@+-]+\.[A-Za-z]\w{0,4})(?![\w/\\])"
)


def metadata_of(text: str) -> Mapping[str, list[str]]:
    """The ``urls``, ``commands`` and ``paths`` that stand in a text, each in order and once; only what there is.

    Commands are the lines after a ``$`` prompt, and text in backticks whose first word is a known program.
    Limits: 10 URLs, 5 commands of 4 to 199 characters, 10 paths of more than 5.
    """
    commands = [*_PROMPT_LINE.findall(text), *(code for code in _CODE.findall(text) if _is_command(code))]
    found = {
        "urls": _distinct(URL.findall(text), _MOST_URLS),
        "commands": _distinct(filter(_has_fitting_length, map(str.strip, commands)), _MOST_COMMANDS),
        "paths": _distinct(filter(_is_long_enough, _PATH.findall(URL.sub(" ", text))), _MOST_PATHS),
    }
    return {name: values for name, values in found.items() if values}


def _is_command(code: str) -> bool:
    return not _COMMAND_WORDS.isdisjoint(code.split(maxsplit=1)[:1])


def _has_fitting_length(command: str) -> bool:
    return _SHORTEST_COMMAND <= len(command) <= _LONGEST_COMMAND


def _is_long_enough(path: str) -> bool:
    return len(path) >= _SHORTEST_PATH


def _distinct(values: Iterable[str], limit: int) -> list[str]:
    return list(dict.fromkeys(values))[:limit]
