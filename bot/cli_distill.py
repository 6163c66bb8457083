"""keepsake memory distill | extract-metadata: what a text comes to. Nothing of anybody's memory is looked at.

Invariant: the result goes to standard output as JSON, everything else to standard error.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli_memory import DataDir, print_json
from bot.cli_scope import LlmEndpoint, endpoint_at
from bot.config import Settings, load_settings
from bot.logs import configure_logs
from bot.measures import Measures
from bot.models import Models
from memory.errors import InvalidInput
from memory.policy.distillation import FACT_BYTES
from memory.policy.metadata import KINDS, metadata_of
from memory.policy.text import clean
from memory.ports import ChatModel, SystemClock
from memory.processes.distiller import Distillation, Distiller

distill_commands = typer.Typer()

_DEADLINE_SECONDS = 10.0
_LARGEST_FILE = 1_000_000  # bytes


class DistillMode(StrEnum):
    """What distils."""

    RULE = "rule"
    LLM = "llm"


@distill_commands.command("distill")
def distill(  # noqa: PLR0917  # Typer makes options of them
    text: Annotated[str | None, typer.Option("--text", help="What was said.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with it.", show_default=False)] = None,
    mode: Annotated[
        DistillMode | None, typer.Option("--mode", help="rule; or llm, as with --llm-endpoint.", show_default=False)
    ] = None,
    llm_endpoint: LlmEndpoint = None,
    core_summary: Annotated[bool, typer.Option("--core-summary", help="Also in less than 30 bytes.")] = False,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=20, max=1_000, help="Of the fact.")] = FACT_BYTES,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.", show_default=False)] = None,
    data_dir: DataDir = None,
) -> None:
    """Distil what was said to a fact of at most 80 characters, with people, topics, actions, emotion and outcome."""
    said = clean(_given(text, file))
    if not said:
        raise InvalidInput("There is nothing to distil. Give --text with some words, or --file.")
    wanted = mode or (DistillMode.LLM if llm_endpoint else DistillMode.RULE)
    if wanted is DistillMode.RULE and llm_endpoint:
        raise InvalidInput("--mode rule asks no model, so leave out --llm-endpoint.")
    configure_logs("ERROR")  # that the rule stood in is told below
    done = asyncio.run(_distilled(said, wanted, llm_endpoint, max_bytes, data_dir))
    if done.note:
        print(done.note, file=sys.stderr)
    _put(_as_row(said, done, with_core=core_summary), output)


@distill_commands.command("extract-metadata")
def extract_metadata(
    file: Annotated[Path, typer.Option("--file", help="A file with text.", show_default=False)],
) -> None:
    """The links, commands and file paths that stand in a file."""
    found = metadata_of(clean(read_text_file(file)))
    metadata = {kind: found.get(kind, []) for kind in KINDS}
    counts = {f"{kind}_count": len(values) for kind, values in metadata.items()}
    print_json({"file": str(file), "metadata": metadata, **counts})


def read_text_file(path: Path) -> str:
    """The text of a file. Raises InvalidInput where it cannot be read, is too large, or no text."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no text in UTF-8.") from error
    if len(data) > _LARGEST_FILE:
        raise InvalidInput(f"{path} is larger than {_LARGEST_FILE:,} bytes. Cut it into smaller files.")
    return text


def _given(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise InvalidInput("Give either --text or --file.")
    return read_text_file(file) if file is not None else text or ""


async def _distilled(
    text: str, mode: DistillMode, url: str | None, max_bytes: int, data_dir: Path | None
) -> Distillation:
    async with _model(mode, url, data_dir) as model:
        return await Distiller(model, deadline=_DEADLINE_SECONDS).distil(text, max_bytes=max_bytes)


@asynccontextmanager
async def _model(mode: DistillMode, url: str | None, data_dir: Path | None) -> AsyncIterator[ChatModel | None]:
    """The model to ask: behind the endpoint, else the memory model; None for the rule."""
    if mode is DistillMode.RULE or url is not None:
        async with endpoint_at(url, deadline=_DEADLINE_SECONDS) as model:
            yield model
        return
    settings: Settings = load_settings({"data_dir": data_dir})
    if settings.anthropic_api_key is None:
        raise InvalidInput("--mode llm needs a model: give --llm-endpoint URL, or set ANTHROPIC_API_KEY.")
    memory_model = Models(settings, SystemClock(), Measures()).of(settings.memory_model)
    try:
        yield memory_model
    finally:
        await memory_model.close()


def _as_row(said: str, done: Distillation, *, with_core: bool) -> dict[str, Any]:
    found, size, original = done.found, len(done.found.fact.encode()), len(said.encode())
    core = {"core_summary": found.core, "core_size": len(found.core.encode())} if with_core else {}
    return {
        "fact": found.fact,
        "emotion": found.emotion,
        "people": list(found.people),
        "topics": list(found.topics),
        "actions": list(found.actions),
        "outcome": found.outcome,
        "metadata": dict(found.metadata),
        "mode": done.mode,
        "timestamp": SystemClock().now().isoformat(timespec="seconds"),
        "original_size": original,
        "distilled_size": size,
        "compression_ratio": round(original / size, 2) if size else None,
        **core,
    }


def _put(value: dict[str, Any], output: Path | None) -> None:
    if output is None:
        print_json(value)
        return
    try:
        output.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{output} cannot be written: {error.strerror}.") from error
    print(f"Written to {output}.", file=sys.stderr)
