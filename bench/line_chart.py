"""Draws lines over time as SVG, in panels one below the other. Pure.

Invariant: the same series give the same text, and each panel says what it shows in which unit.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WIDTH = 800
_PANEL = 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 40, 30
_TICKS = 4
_STEPS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10)
_COLOURS = ("#3b6fb6", "#c8553d", "#4f8a4b", "#8a5fa8")
_FONT = "Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: at each place its value."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Lines on one scale.

    Attributes:
        highest: what the scale must hold; it begins at 0 and ends at a round number.
        limit: a value that is marked, and what it is; None for none.
    """

    title: str
    lines: Sequence[Line]
    highest: float
    limit: tuple[float, str] | None = None


def drawn(title: str, panels: Sequence[Panel], *, last: float, unit: str) -> str:
    """The picture.

    Args:
        title: stands above.
        panels: from top to bottom.
        last: the end of the horizontal scale, which begins at 0 and is marked at whole numbers.
        unit: of the horizontal scale.
    """
    height = _TOP + len(panels) * _PANEL
    body = [_text(_LEFT, 22, title, size=16)]
    for number, panel in enumerate(panels):
        body += _panel(panel, _TOP + number * _PANEL, last, unit)
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="{_FONT}">\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n{lines}\n</svg>\n'
    )


def _panel(panel: Panel, top: float, last: float, unit: str) -> Iterator[str]:
    bottom, right = top + _PANEL - _BOTTOM - 22, _WIDTH - _RIGHT
    step = _round_step(panel.highest)

    def x(place: float) -> float:
        return _LEFT + (right - _LEFT) * place / last

    def y(value: float) -> float:
        return bottom - (bottom - top - 16) * value / (step * _TICKS)

    yield _text(_LEFT, top + 6, panel.title, size=12)
    for tick in range(_TICKS + 1):
        value = step * tick
        yield _rule(_LEFT, y(value), right, y(value), "#e4e4e4")
        yield _text(_LEFT - 6, y(value) + 4, f"{value:,g}", anchor="end")
    for mark in range(int(last) + 1):
        yield _text(x(mark), bottom + 16, str(mark), anchor="middle")
    yield _text(right + 8, bottom + 16, unit)
    if panel.limit is not None:
        value, name = panel.limit
        yield _rule(_LEFT, y(value), right, y(value), "#999999", dashed=True)
        yield _text(right + 8, y(value) + 4, name, colour="#777777")
    for number, line in enumerate(panel.lines):
        colour = _COLOURS[number % len(_COLOURS)]
        places = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in line.points)
        yield f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield _text(right + 8, y(line.points[-1][1]) + 4, line.name, colour=colour)


def _round_step(highest: float) -> float:
    """The smallest round step of which so many as there are ticks reach the highest value."""
    scale = 10.0 ** math.floor(math.log10(highest / _TICKS))
    return next(step * scale for step in _STEPS if step * scale * _TICKS >= highest)


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashes}/>'


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start", colour: str = "#333333") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">'
        f"{html.escape(text)}</text>"
    )
