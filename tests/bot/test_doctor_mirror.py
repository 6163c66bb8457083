"""The doctor says how the mirror stands."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.config import load_settings
from bot.doctor import Verdict, mirror_finding
from memory.ports import SystemClock
from memory.stores.mirror_changes import MirrorProgress

MIRRORED = load_settings({"turso_url": "libsql://keepsake.example"}, env_file=None)


@pytest.mark.parametrize(
    ("waiting", "hours_ago", "verdict", "words"),
    [
        (0, None, Verdict.NOTE, "Nothing is mirrored yet"),
        (3, 0.1, Verdict.OK, "6 minutes ago; 3 rows wait"),
        (0, 5, Verdict.OK, "0 rows wait"),
        (3, 5, Verdict.FAILED, "mirror_postponed"),
    ],
)
def test_a_mirror_that_lags_behind_is_named(
    waiting: int, hours_ago: float | None, verdict: Verdict, words: str
) -> None:
    at = None if hours_ago is None else SystemClock().now() - timedelta(hours=hours_ago)
    finding = mirror_finding(MirrorProgress(waiting=waiting, mirrored_at=at), MIRRORED)
    assert finding.verdict is verdict
    assert words in finding.sentence


def test_without_a_mirror_the_doctor_says_what_one_is_for() -> None:
    finding = mirror_finding(MirrorProgress(waiting=0, mirrored_at=None), load_settings({}, env_file=None))
    assert (finding.verdict, "TURSO_URL" in finding.sentence) == (Verdict.NOTE, True)
