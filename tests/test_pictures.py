"""The pictures in the documentation show what people are sent now."""

from __future__ import annotations

from pathlib import Path

from scripts.pictures import FOLDER, pictures

COMMANDS = (Path(__file__).parent.parent / "docs/commands.md").read_text(encoding="utf-8")


async def test_the_pictures_are_of_the_present_payloads() -> None:
    drawn = await pictures()
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
    assert kept == drawn, "draw them anew: python -m scripts.pictures"


async def test_every_picture_is_shown_in_the_documentation() -> None:
    assert all(f"(pictures/{path.name})" in COMMANDS for path in FOLDER.glob("*.svg"))
