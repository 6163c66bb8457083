"""Draws payloads of messages as SVG: like Discord, and like Slack. Pure.

Invariant: every text of a payload that a person would see stands in the picture, and nothing else but the names of
what was called and of who answers.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WIDTH = 800
_MARGIN = 24
_LINE = 20
_COLUMNS = 92
_CODE_COLUMNS = 88
_GLYPH = 8.2  # the width of a letter on a button, about
_SELECT = 3
_DANGER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The colours of a platform."""

    background: str
    text: str
    faint: str
    code: str
    button: str
    danger: str
    font: str


_DISCORD = _Look(
    background="#313338",
    text="#dbdee1",
    faint="#949ba4",
    code="#2b2d31",
    button="#4e5058",
    danger="#da373c",
    font="gg sans, Noto Sans, Helvetica, Arial, sans-serif",
)
_SLACK = _Look(
    background="#ffffff",
    text="#1d1c1d",
    faint="#616061",
    code="#f4f4f4",
    button="#e8e8e8",
    danger="#e01e5a",
    font="Lato, Slack-Lato, Helvetica, Arial, sans-serif",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row of a picture.

    Attributes:
        kind: ``text``, ``bold``, ``code``, ``clicks`` or ``line``.
        texts: the words of it, or what is written on each thing to click on.
        danger: whether the last of these warns.
    """

    kind: str
    texts: tuple[str, ...] = ()
    danger: bool = False


def drawn_discord(called: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """The messages that Discord gets.

    Args:
        called: what was called.
        messages: ``content`` and ``components`` of each.
    """
    rows = []
    for message in messages:
        rows += list(_markdown(message["content"], bold="**"))
        rows += [_clicks_on_discord(row["components"]) for row in message.get("components", ())]
    return _svg(called, rows, _DISCORD)


def drawn_slack(called: str, blocks: Sequence[Mapping[str, Any]]) -> str:
    """The blocks that Slack gets.

    Args:
        called: what was called.
        blocks: those of all messages, or of a view.
    """
    rows = []
    for block in blocks:
        match block["type"]:
            case "section":
                rows += list(_markdown(html.unescape(block["text"]["text"]), bold="*"))
            case "header":
                rows.append(_Row(kind="bold", texts=(block["text"]["text"],)))
            case "divider":
                rows.append(_Row(kind="line"))
            case "actions":
                rows.append(_clicks_on_slack(block["elements"]))
    return _svg(called, rows, _SLACK)


def _markdown(text: str, *, bold: str) -> Iterator[_Row]:
    is_code = False
    for line in text.split("\n"):
        if line.startswith("```") and (not is_code or line == "```"):
            is_code = not is_code
        elif is_code:
            yield from _wrapped(line, "code", _CODE_COLUMNS)
        else:
            whole = line.startswith(bold) and line.endswith(bold) and len(line) > 2 * len(bold)
            words = re.sub(rf"(?<!\w){re.escape(bold)}(.+?){re.escape(bold)}(?!\w)", r"\1", line)
            yield from _wrapped(words, "bold" if whole else "text", _COLUMNS)


def _wrapped(line: str, kind: str, columns: int) -> Iterator[_Row]:
    for part in textwrap.wrap(line, columns, drop_whitespace=False) or [""]:
        yield _Row(kind=kind, texts=(part,))


def _clicks_on_discord(items: Sequence[Mapping[str, Any]]) -> _Row:
    texts = tuple(f"{item['placeholder']} ▾" if item["type"] == _SELECT else item["label"] for item in items)
    return _Row(kind="clicks", texts=texts, danger=items[-1].get("style") == _DANGER)


def _clicks_on_slack(items: Sequence[Mapping[str, Any]]) -> _Row:
    texts = tuple(
        f"{item['placeholder']['text']} ▾" if item["type"] == "static_select" else item["text"]["text"]
        for item in items
    )
    return _Row(kind="clicks", texts=texts, danger=items[-1].get("style") == "danger")


def _svg(called: str, rows: Sequence[_Row], look: _Look) -> str:
    y = _MARGIN + 12
    drawn = [
        _text(_MARGIN, y, called, look.faint, size=13),
        _text(_MARGIN, y + 26, "Keepsake", look.text, weight="bold"),
    ]
    y += 52
    for row in rows:
        match row.kind:
            case "clicks":
                drawn += list(_clicks(row, y, look))
                y += 2 * _LINE
            case "line":
                drawn.append(f'<rect x="{_MARGIN}" y="{y - 8}" width="{_WIDTH - 2 * _MARGIN}" height="1" fill="#888"/>')
                y += _LINE
            case "code":
                box = f'x="{_MARGIN}" y="{y - 15}" width="{_WIDTH - 2 * _MARGIN}" height="{_LINE}"'
                drawn.append(f'<rect {box} fill="{look.code}"/>')
                drawn.append(_text(_MARGIN + 8, y, row.texts[0], look.text, font="monospace", size=13))
                y += _LINE
            case _:
                drawn.append(_text(_MARGIN, y, row.texts[0], look.text, weight="bold" if row.kind == "bold" else ""))
                y += _LINE
    size = f'width="{_WIDTH}" height="{y}" viewBox="0 0 {_WIDTH} {y}"'
    inside = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{look.font}">\n'
        f'<rect width="{_WIDTH}" height="{y}" rx="8" fill="{look.background}"/>\n{inside}\n</svg>\n'
    )


def _clicks(row: _Row, y: int, look: _Look) -> Iterator[str]:
    x = float(_MARGIN)
    for number, text in enumerate(row.texts, start=1):
        width = round(len(text) * _GLYPH) + 24
        warns = row.danger and number == len(row.texts)
        colour = look.danger if warns else look.button
        yield f'<rect x="{x:.0f}" y="{y - 10}" width="{width}" height="30" rx="5" fill="{colour}"/>'
        yield _text(x + 12, y + 10, text, "#ffffff" if warns else look.text, size=14)
        x += width + 8


def _text(x: float, y: int, text: str, fill: str, *, size: int = 15, weight: str = "", font: str = "") -> str:
    more = "".join(f' font-{name}="{value}"' for name, value in (("weight", weight), ("family", font)) if value)
    place = f'x="{x:.0f}" y="{y}" font-size="{size}"'
    return f'<text {place} fill="{fill}" xml:space="preserve"{more}>{html.escape(text, quote=False)}</text>'
