"""Token by token."""

from __future__ import annotations

import numpy as np
import pytest

from memory.policy.late_interaction import Places, best_matches, likenesses, query_tokens, telling
from memory.ports import EmbeddedText

NONE = 5  # beside a text of five


def nothing_beside(texts: int) -> Places:
    return np.zeros((texts, 0), dtype=np.intp)


def embedded(text: str) -> EmbeddedText:
    """Each word of the text as one token, all of one direction."""
    spans = []
    start = 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
    tokens = np.zeros((len(spans), 4), dtype=np.int8)
    tokens[:, 0] = 127
    return EmbeddedText(vector=np.ones(4, dtype=np.float32) / 2, tokens=tokens, spans=spans)


def weights(text: str) -> list[float]:
    return np.linalg.norm(query_tokens(text, embedded(text)), axis=1).round(3).tolist()


def test_words_without_content_weigh_a_quarter_and_all_weigh_one() -> None:
    assert weights("what did Clara eat ?") == pytest.approx(
        [0.25 / 2.75, 0.25 / 2.75, 1 / 2.75, 1 / 2.75, 0.25 / 2.75], abs=1e-3
    )
    assert sum(weights("what did Clara eat ?")) == pytest.approx(1.0, abs=1e-2)


def test_a_piece_of_a_word_weighs_as_the_word() -> None:
    text = "cardamom"
    pieces = EmbeddedText(
        vector=np.ones(4, dtype=np.float32),
        tokens=np.full((2, 4), 64, dtype=np.int8),
        spans=[(0, 4), (4, 8)],
    )
    lengths = np.linalg.norm(query_tokens(text, pieces), axis=1)
    assert lengths[0] == lengths[1] > 0.4


def test_a_text_without_tokens_matches_nothing() -> None:
    query = query_tokens("", embedded(""))
    assert query.shape == (0, 4)
    matches = best_matches(query, np.ones((3, 4), dtype=np.int8), [3])
    assert matches.shape == (1, 0)
    assert likenesses(matches, nothing_beside(1)).tolist() == [0.0]


def test_each_token_is_matched_by_the_best_of_each_text() -> None:
    query = np.eye(2, 4, dtype=np.float32) / 2
    tokens = np.array([[127, 0, 0, 0], [0, 64, 0, 0], [0, 127, 0, 0]], dtype=np.int8)
    assert best_matches(query, tokens, [2, 1]) == pytest.approx(np.array([[0.5, 0.252], [0.0, 0.5]]), abs=1e-3)
    assert best_matches(query, tokens[:0], []).shape == (0, 2)


def test_many_tokens_are_matched_as_each_text_alone_would_be() -> None:
    draw = np.random.default_rng(3)
    query = draw.standard_normal((40, 64)).astype(np.float32)
    lengths = (1, 300, 2, 77, 256)
    texts = [draw.integers(-90, 90, (length, 64)).astype(np.int8) for length in lengths]
    alone = np.stack([(text.astype(np.float32) @ query.T).max(axis=0) / 127 for text in texts])
    assert best_matches(query, np.concatenate(texts), lengths) == pytest.approx(alone, rel=1e-4)


def test_what_the_tokens_of_a_query_count_for_together_does_not_change() -> None:
    query = np.eye(3, 4, dtype=np.float32) * np.array([[0.5], [0.4], [0.1]], dtype=np.float32)
    counting = telling(query, np.array([[0.5, 0.1, 0.0]] * 30, dtype=np.float32))
    assert counting @ np.linalg.norm(query, axis=1) == pytest.approx(1.0)
    assert counting[0] < counting[1] < counting[2]
    assert telling(query, np.zeros((0, 3), dtype=np.float32)) == pytest.approx(np.ones(3))
    assert telling(query[:0], np.zeros((1, 0), dtype=np.float32)).shape == (0,)


def test_a_neighbour_answers_for_a_little_less() -> None:
    own, other, nothing = [0.4, 0.0], [0.0, 0.4], [0.0, 0.0]
    matches = np.array([own, other, own, nothing, other], dtype=np.float32)
    beside = np.array([[1, NONE], [0, NONE], [3, NONE], [2, 4], [3, NONE]])
    near, far = 0.4 + 0.85 * 0.4, 0.4 + 0.72 * 0.4
    assert likenesses(matches, beside) == pytest.approx([near, near, far, 2 * 0.85 * 0.4, far])


def test_what_was_learned_from_a_text_answers_for_a_little_less() -> None:
    matches = np.array([[0.4, 0.0], [0.4, 0.0]], dtype=np.float32)
    fact = np.array([0.1, 0.4], dtype=np.float32)
    assert likenesses(matches, nothing_beside(2), [(1, fact)]) == pytest.approx([0.4, 0.4 + 0.8 * 0.4])


def test_a_text_is_no_neighbour_of_its_neighbours() -> None:
    matches = np.array([[-0.4], [-0.5]], dtype=np.float32)
    assert likenesses(matches, np.array([[1], [0]])) == pytest.approx([-0.4, 0.85 * -0.4])
