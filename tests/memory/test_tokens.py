"""Counting tokens: the genuine vocabulary, bounded time, and what the service's own counts teach."""

from __future__ import annotations

import base64
import hashlib
import inspect
import threading

import pytest
import tiktoken_ext.openai_public
from hypothesis import given
from hypothesis import strategies as st

from memory.tokens import _CHUNK_CHARACTERS, _PIECES, TiktokenCounter, _chunks, _encoding, _mergeable_ranks

COUNTER = TiktokenCounter()


def test_the_vocabulary_is_the_one_that_tiktoken_would_download() -> None:
    ranks = _mergeable_ranks()
    lines = (base64.b64encode(token) + f" {rank}\n".encode() for token, rank in ranks.items())
    expected = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    assert hashlib.sha256(b"".join(lines)).hexdigest() == expected
    assert expected in inspect.getsource(tiktoken_ext.openai_public.o200k_base)


def test_text_is_split_as_tiktoken_splits_it() -> None:
    source = inspect.getsource(tiktoken_ext.openai_public.o200k_base)
    assert all(f'r"""{piece}"""' in source for piece in _PIECES)
    assert source.count('r"""') == len(_PIECES)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("Hello, world!", 4), ("tiktoken is great!", 6), ("<|endoftext|>", 7)],
)
def test_known_texts_have_known_counts(text: str, tokens: int) -> None:
    assert TiktokenCounter().count(text) == tokens


@given(st.text(st.characters(codec="utf-8")) | st.text(st.sampled_from("𒀀🏴‍☠️\U000e0067ქ\x00")))
def test_no_text_counts_more_tokens_than_it_has_bytes(text: str) -> None:
    assert COUNTER.count(text) <= len(text.encode())


@given(st.text(min_size=1))
def test_any_text_counts_at_least_one_token_and_the_same_every_time(text: str) -> None:
    assert 1 <= COUNTER.count(text) == TiktokenCounter().count(text) <= 4 * len(text)


@given(st.text(alphabet=st.characters(categories=["Cs"]), min_size=1))
def test_lone_surrogates_are_counted(text: str) -> None:
    assert COUNTER.count(text) >= 1


@given(st.text(st.sampled_from(" \n\tab🙂我"), max_size=50), st.integers(100, 3_000))
def test_chunks_are_bounded_and_join_to_the_text(text: str, repeats: int) -> None:
    whole = text * repeats
    pieces = list(_chunks(whole))
    assert "".join(pieces) == whole
    assert all(len(piece) <= _CHUNK_CHARACTERS for piece in pieces)


def test_a_long_text_counts_as_its_parts_do() -> None:
    sentence = "She moved to Lisbon in May and took the cat with her. "
    long = sentence * 1_000
    assert COUNTER.count(long) == pytest.approx(len(_encoding().encode_ordinary(long)), abs=5)


@pytest.mark.parametrize("unit", [" ", "a", "\n", "x\t", "🙂", "我", "\0"])
def test_a_million_characters_of_anything_can_be_counted(unit: str) -> None:
    assert COUNTER.count(unit * (1_000_000 // len(unit))) >= 1_000


def test_more_texts_than_are_remembered_are_still_counted_right() -> None:
    counter = TiktokenCounter()
    counts = [counter.count(f"word {number}") for number in range(5_000)]
    assert counts == [counter.count(f"word {number}") for number in range(5_000)]
    assert len(counter._recent) == 4_096


def test_threads_count_alike() -> None:
    counter = TiktokenCounter()
    texts = [f"the {number}th message, about dinner" for number in range(200)]
    counts: list[list[int]] = []
    threads = [threading.Thread(target=lambda: counts.append([counter.count(text) for text in texts])) for _ in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [[COUNTER.count(text) for text in texts]] * 4


def test_before_any_observation_the_estimate_is_raised_by_a_third() -> None:
    counter = TiktokenCounter()
    assert counter.calibrated(1_000) == 1_350
    assert counter.calibrated(1) == 2
    assert counter.calibrated(0) == 0
    assert counter.calibration == (1.35, 0)


def test_the_first_observation_replaces_the_guess() -> None:
    counter = TiktokenCounter()
    counter.calibrate(estimated=100, actual=120)
    assert counter.calibration == (1.2, 1)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1), st.data())
def test_the_ratio_is_the_mean_of_all_observations_over_restarts_too(
    observations: list[tuple[int, int]], data: st.DataObject
) -> None:
    restart = data.draw(st.integers(0, len(observations)))
    counter = TiktokenCounter()
    for number, (estimated, actual) in enumerate(observations):
        if number == restart:
            ratio, samples = counter.calibration
            counter = TiktokenCounter()
            counter.resume(ratio=ratio, samples=samples)
        counter.calibrate(estimated=estimated, actual=actual)
    mean = sum(actual / estimated for estimated, actual in observations) / len(observations)
    assert counter.calibration == (pytest.approx(mean), len(observations))


@pytest.mark.parametrize(("estimated", "actual"), [(0, 10), (10, 0), (-1, 5)])
def test_an_observation_without_tokens_is_left_out(estimated: int, actual: int) -> None:
    counter = TiktokenCounter()
    counter.resume(ratio=1.2, samples=3)
    counter.calibrate(estimated=estimated, actual=actual)
    assert counter.calibration == (1.2, 3)
