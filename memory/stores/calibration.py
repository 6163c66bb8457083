"""How the token estimate of each model compares with what its service counted. Holds nothing about people."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select, update

from memory.database import Database, Transaction
from memory.schema import token_calibration

# The ratio is a mean over all observations: after many of them each further one hardly moves it.
_LITTLE = 0.005
_FEW = 0.05  # of the observations that are saved

# Made once, since making a statement takes longer than running it.
_LEARNED = (
    update(token_calibration)
    .where(token_calibration.c.model == bindparam("of_model"))
    .values(ratio=bindparam("ratio"), samples=bindparam("samples"))
)


class CalibrationStore:
    """One row per model.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._saved: dict[str, tuple[float, int]] = {}

    async def load(self, model: str) -> tuple[float, int] | None:
        """The ratio of counted to estimated tokens and the number of observations, or None."""
        query = select(token_calibration.c.ratio, token_calibration.c.samples).where(token_calibration.c.model == model)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else (row.ratio, row.samples)

    async def save(self, tx: Transaction, *, model: str, ratio: float, samples: int) -> None:
        """Replace the row of a model, unless the one that was saved before says the same but for a little."""
        saved_ratio, saved_samples = self._saved.get(model, (0.0, 0))
        if abs(ratio - saved_ratio) < _LITTLE and samples - saved_samples < _FEW * saved_samples:
            return
        learned = {"ratio": ratio, "samples": samples}
        if (await tx.connection.execute(_LEARNED, {"of_model": model, **learned})).rowcount == 0:
            await tx.connection.execute(insert(token_calibration).values(model=model, **learned))
        tx.after_commit(lambda: self._saved.update({model: (ratio, samples)}))
