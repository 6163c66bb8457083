"""The bundled embedder, as it runs in production: no download, its own thread, unit vectors."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from memory.embedding import MiniLmEmbedder, MiniLmTokenEmbedder, _batches
from memory.errors import EmbedderError
from memory.ports import TokenEmbedder, Vectors

_ROUNDED = 0.998  # the cosine of a text's vectors from two batches: what is rounded together differs


def _cosines(first: Vectors, second: Vectors) -> Vectors:
    return np.einsum("ij,ij->i", first, second)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def embedder() -> AsyncIterator[MiniLmEmbedder]:
    embedder = MiniLmEmbedder()
    yield embedder
    await embedder.close()


async def test_related_sentences_are_closer_than_unrelated_ones(embedder: MiniLmEmbedder) -> None:
    pairs = [
        ("Where do I live?", "Ann: I moved to a flat in Oslo last year."),
        ("food she must not eat", "My sister is allergic to peanuts."),
        ("plans for the summer", "In July we will go hiking in the Alps."),
    ]
    questions = await embedder.embed([question for question, _ in pairs])
    answers = await embedder.embed([answer for _, answer in pairs])
    assert (questions @ answers.T).argmax(axis=1).tolist() == [0, 1, 2]


async def test_known_sentences_have_the_similarity_that_the_model_is_published_with(
    embedder: MiniLmEmbedder,
) -> None:
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = await embedder.embed(texts)
    # Sentence Transformers' documentation shows these figures for the same model with full precision weights.
    published = np.array([[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]])
    assert vectors @ vectors.T == pytest.approx(published, abs=0.02)


async def test_vectors_have_length_one_and_the_promised_shape(embedder: MiniLmEmbedder) -> None:
    vectors = await embedder.embed(["a", "", " ", "\0", "\ud800", "🙂", "我住在奥斯陆", "word " * 5_000])
    assert vectors.shape == (8, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(8), abs=1e-5)


async def test_no_text_gives_no_vector(embedder: MiniLmEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)


async def test_a_question_does_not_wait_for_the_end_of_a_long_list(embedder: MiniLmEmbedder) -> None:
    import_of_years = asyncio.create_task(embedder.embed(["We walked and talked."] * 200))
    await asyncio.sleep(0)  # the list comes first
    await embedder.embed(["Where do I live?"])
    assert not import_of_years.done()
    assert (await import_of_years).shape == (200, 384)


async def test_a_batch_keeps_the_order_and_gives_what_single_texts_give(embedder: MiniLmEmbedder) -> None:
    texts = [f"Day {number}: " + "we walked and talked. " * (number * 7 % 23) for number in range(40)]
    batch = await embedder.embed(texts)
    singles = np.vstack([await embedder.embed([text]) for text in texts[:12]])
    assert _cosines(batch[:12], singles).min() > _ROUNDED
    assert len(np.unique(batch.round(4), axis=0)) == 40


async def test_only_the_beginning_of_a_long_text_counts(embedder: MiniLmEmbedder) -> None:
    long = "I live in Oslo. " * 200
    first, second = await embedder.embed([long, long + "Bananas are yellow."])
    assert first == pytest.approx(second, abs=1e-3)


async def test_the_event_loop_runs_on_while_texts_are_embedded(embedder: MiniLmEmbedder) -> None:
    work = asyncio.ensure_future(embedder.embed(["a text of some length, about nothing much. " * 20] * 8))
    beats = 0
    while not work.done():
        await asyncio.sleep(0)
        beats += 1
    assert beats > 10
    assert len(work.result()) == 8


async def test_many_callers_at_once_each_get_their_own(embedder: MiniLmEmbedder) -> None:
    texts = [f"the number {number}" for number in range(20)]
    together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert _cosines(np.vstack(together), await embedder.embed(texts)).min() > _ROUNDED


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
async def test_a_missing_or_broken_model_is_an_error_in_plain_words(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    embedder = MiniLmEmbedder(model=path)
    with pytest.raises(EmbedderError, match="model"):
        await embedder.embed(["hello"])
    await embedder.close()


async def test_a_closed_embedder_says_so() -> None:
    embedder = MiniLmEmbedder()
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbedderError, match="closed"):
        await embedder.embed(["hello"])


def test_batches_hold_every_row_once_and_stay_small() -> None:
    lengths = [number * 37 % 256 + 1 for number in range(100)]
    batches = list(_batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(100))
    assert all(len(batch) <= 16 and len(batch) * max(lengths[row] for row in batch) <= 256 for batch in batches)
    assert list(_batches([])) == []


@pytest.fixture(scope="module")
async def token_embedder() -> AsyncIterator[MiniLmTokenEmbedder]:
    embedder = MiniLmTokenEmbedder()
    yield embedder
    await embedder.close()


async def test_tokens_come_with_the_vector_of_their_text(token_embedder: MiniLmTokenEmbedder) -> None:
    texts = ["Where do I live?", "Ann: I moved to a flat in Oslo last year.", "", "我住在奥斯陆", "word " * 5_000]
    embedded = await token_embedder.embed_tokens(texts)
    assert np.stack([one.vector for one in embedded]) == pytest.approx(await token_embedder.embed(texts), abs=1e-5)
    for text, one in zip(texts, embedded, strict=True):
        assert one.tokens.shape == (len(one.spans), token_embedder.token_dimensions)
        assert one.tokens.dtype == np.int8
        assert np.linalg.norm(one.tokens.astype(float), axis=1) == pytest.approx(127, abs=5)
        assert all(0 <= start < end <= len(text) for start, end in one.spans)
    assert [texts[0][start:end] for start, end in embedded[0].spans] == ["Where", "do", "I", "live", "?"]


async def test_a_token_is_nearest_to_its_like_in_another_text(token_embedder: MiniLmTokenEmbedder) -> None:
    question, answer = await token_embedder.embed_tokens(["the cat", "A kitten sat upon a chair of wood"])
    cat, *_ = [row for row, (start, _) in enumerate(question.spans) if start == 4]
    likeness = answer.tokens.astype(np.float32) @ question.tokens[cat].astype(np.float32)
    start, end = answer.spans[int(likeness.argmax())]
    assert "A kitten sat upon a chair of wood"[start:end] == "kitten"


def test_only_the_one_with_tokens_is_a_token_embedder() -> None:
    assert isinstance(MiniLmTokenEmbedder(), TokenEmbedder)
    assert not isinstance(MiniLmEmbedder(), TokenEmbedder)
    assert MiniLmEmbedder.name != MiniLmTokenEmbedder.name


def test_its_library_leaves_no_id_of_the_machine_and_so_reports_nothing(tmp_path: Path) -> None:
    program = "from memory.embedding import _load; _load(None)"
    environment = {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
