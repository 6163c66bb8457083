"""How the token estimate of each model compares with what its service counted. Holds nothing about people."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select, update

from memory.database import Database, Transaction
from memory.schema import token_calibration

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

    async def load(self, model: str) -> tuple[float, int] | None:
        """The ratio of counted to estimated tokens and the number of observations, or None."""
        query = select(token_calibration.c.ratio, token_calibration.c.samples).where(token_calibration.c.model == model)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else (row.ratio, row.samples)

    async def save(self, tx: Transaction, *, model: str, ratio: float, samples: int) -> None:
        """Replace the row of a model."""
        learned = {"ratio": ratio, "samples": samples}
        if (await tx.connection.execute(_LEARNED, {"of_model": model, **learned})).rowcount == 0:
            await tx.connection.execute(insert(token_calibration).values(model=model, **learned))
