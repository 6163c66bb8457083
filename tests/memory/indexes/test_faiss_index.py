"""The vector index against a plain reference, with any calls in any order and from any threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.indexes.faiss_index import FaissIndex
from memory.ports import Vectors

DIMENSIONS = 8


def unit_vectors(count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Vectors:
    """Vectors as the database gives them back, in half precision."""
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    kept: Vectors = unit.astype(np.float16).astype(np.float32)
    return kept


def nearest(reference: dict[int, Vectors], vector: Vectors) -> list[int]:
    return sorted(reference, key=lambda entry_id: -float(reference[entry_id] @ vector))


def test_the_nearest_come_first_with_their_cosine() -> None:
    index = FaissIndex(2)
    index.add([7, 8, 9], np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32))
    found = index.search(np.array([1, 0], dtype=np.float32), 2)
    assert [entry_id for entry_id, _ in found] == [7, 9]
    assert [similarity for _, similarity in found] == pytest.approx([1.0, 0.6], abs=1e-3)


def test_an_empty_index_finds_nothing() -> None:
    index = FaissIndex(DIMENSIONS)
    index.remove([1])
    index.add([], np.zeros((0, DIMENSIONS), dtype=np.float32))
    assert index.search(unit_vectors(1)[0], 5) == []
    assert (len(index), index.size_bytes) == (0, 0)


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (-1, 0), (2, 2), (100, 3)])
def test_a_limit_of_any_size_is_kept(limit: int, found: int) -> None:
    index = FaissIndex(DIMENSIONS)
    index.add([1, 2, 3], unit_vectors(3))
    assert len(index.search(unit_vectors(1)[0], limit)) == found


def test_vectors_of_another_shape_are_refused_and_change_nothing() -> None:
    index = FaissIndex(DIMENSIONS)
    with pytest.raises(ValueError, match="shape"):
        index.add([1, 2], unit_vectors(3))
    with pytest.raises(ValueError, match="shape"):
        index.add([1], unit_vectors(1, dimensions=4))
    assert len(index) == 0


def test_the_largest_id_is_kept_exactly() -> None:
    index = FaissIndex(DIMENSIONS)
    largest = 2**63 - 1
    index.add([largest, largest - 1], unit_vectors(2))
    assert index.search(unit_vectors(2)[0], 1)[0][0] == largest


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "remove"]), st.lists(st.integers(0, 12), max_size=6), st.integers(0, 99)),
    max_size=12,
)


@given(OPERATIONS)
def test_any_sequence_of_changes_leaves_what_a_dictionary_would_hold(
    operations: list[tuple[str, list[int], int]],
) -> None:
    index, reference = FaissIndex(DIMENSIONS), dict[int, Vectors]()
    for operation, ids, seed in operations:
        if operation == "add":
            vectors = unit_vectors(len(ids), seed)
            index.add(ids, vectors)
            reference.update(zip(ids, vectors, strict=True))
        else:
            index.remove(ids)
            for entry_id in ids:
                reference.pop(entry_id, None)
    query = unit_vectors(1, seed=1_000)[0]
    found = index.search(query, 100)
    assert len(index) == len(reference)
    assert {entry_id for entry_id, _ in found} == set(reference)
    for entry_id, similarity in found:
        assert similarity == pytest.approx(float(reference[entry_id] @ query), abs=1e-5)


def test_vectors_are_kept_in_two_bytes_a_dimension_and_lose_nothing() -> None:
    size, dimensions = 5_000, 64
    vectors = unit_vectors(size, dimensions=dimensions)
    index = FaissIndex(dimensions)
    index.add(range(size), vectors)
    assert index.size_bytes < size * dimensions * 4
    for row in (0, 17, size - 1):
        [(found, similarity)] = index.search(vectors[row], 1)
        assert (found, similarity) == (row, pytest.approx(float(vectors[row] @ vectors[row]), abs=1e-6))


def test_threads_that_add_remove_and_search_end_with_what_each_left() -> None:
    index, vectors = FaissIndex(DIMENSIONS), unit_vectors(800)

    def work(first: int) -> None:
        for round_number in range(5):
            for start in range(first, first + 100, 20):
                index.add(range(start, start + 20), vectors[start : start + 20])
                assert all(0 <= entry_id < 800 for entry_id, _ in index.search(vectors[start], 10))
            index.remove(range(first + round_number, first + 50))
        index.remove(range(first, first + 50))

    with ThreadPoolExecutor(max_workers=8) as threads:
        for done in [threads.submit(work, first) for first in range(0, 800, 100)]:
            done.result()
    expected = {entry_id for entry_id in range(800) if entry_id % 100 >= 50}
    assert {entry_id for entry_id, _ in index.search(vectors[0], 1_000)} == expected
    assert nearest({key: vectors[key] for key in expected}, vectors[60])[:5] == [
        entry_id for entry_id, _ in index.search(vectors[60], 5)
    ]


def test_the_vectors_of_what_is_held_are_given_back() -> None:
    index, vectors = FaissIndex(DIMENSIONS), unit_vectors(4)
    index.add([10, 11, 12, 13], vectors)
    index.remove([11])
    held, given = index.vectors_of([13, 11, 99, 10])
    assert held == [13, 10]
    assert given == pytest.approx(vectors[[3, 0]], abs=1e-6)
    assert index.vectors_of([11])[1].shape == (0, DIMENSIONS)


def test_a_search_keeps_to_the_thread_that_asks() -> None:
    index, vectors = FaissIndex(DIMENSIONS), unit_vectors(3)
    index.add(range(3), vectors)

    def search() -> int:
        index.search(vectors[0], 1)
        threads: int = faiss.omp_get_max_threads()
        return threads

    with ThreadPoolExecutor(max_workers=1) as other:
        assert other.submit(search).result() == 1
