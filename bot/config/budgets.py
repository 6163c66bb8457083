"""Settings: what may be used in a day, and at the same time."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from bot.config.fields import setting
from memory.policy.limits import Limit

_Limit = Annotated[int | None, Field(ge=0, le=1_000_000_000_000)]


class BudgetSettings(BaseModel):
    """What may be used in a day, and at the same time."""

    person_turns_per_day: _Limit = setting(None, "Answers that one person gets in a day, at most.", "200")
    person_tokens_per_day: _Limit = setting(None, "Tokens of one person's conversations in a day, at most.", "1000000")
    community_turns_per_day: _Limit = setting(
        None, "Answers that a server or workspace gets in a day, at most; its admins may choose less.", "2000"
    )
    community_tokens_per_day: _Limit = setting(
        None, "Tokens of the conversations in a server or workspace in a day, at most.", "10000000"
    )
    limits_spare_admins: bool = setting(
        True, "Whether these limits do not hold for admins, in their own server or workspace.", "false"
    )
    parallel_model_calls: int = setting(
        16, "Calls of models at the same time; more wait, and everybody is served in turns.", "8", ge=1, le=1_000
    )

    @property
    def limits(self) -> dict[Limit, int]:
        """The limits of a day that are set."""
        given = {
            Limit.PERSON_TURNS: self.person_turns_per_day,
            Limit.PERSON_TOKENS: self.person_tokens_per_day,
            Limit.COMMUNITY_TURNS: self.community_turns_per_day,
            Limit.COMMUNITY_TOKENS: self.community_tokens_per_day,
        }
        return {limit: most for limit, most in given.items() if most is not None}
