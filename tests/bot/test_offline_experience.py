"""What the rule-based model answers from past sessions and approved procedures that its prompt shows."""

from __future__ import annotations

from datetime import date

import pytest

from bot.offline_rules.experience import approved, days_asked_about, past_sessions, told_how, told_of_a_time

FRIDAY = date(2026, 3, 20)
BLOCK = """<memory_data>
<past_interactions>
- [2026-03-17, episode] Ann said: We took the iron keel. It broke. (outcome: partial)
  Goal: Which keel is best?
  Decision: We took the iron keel.
  Decision: We leave the mast for May. (It is late.)
  Problem: The saw broke.
- [2026-03-12, episode] Ann said: We met Tom. (outcome: success)
</past_interactions>
<procedures>
- Weekly report
  How Ann wants it.
  1. Numbers first.
  2. Then the risks.
  Input: Report?
- Bread
  Baking.
  1. Knead.
</procedures>
</memory_data>"""


def told(question: str, today: date | None = FRIDAY) -> str | None:
    sessions = past_sessions(BLOCK)
    return told_of_a_time(question, sessions, days_asked_about(question, [one.day for one in sessions], today))


def notes(*lines: str) -> str:
    return "\n".join(f'My notes of Tuesday 17 March 2026 say: "{line}"' for line in lines)


KEEL, MAST = "We took the iron keel.", "We leave the mast for May. (It is late.)"


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("What did we decide last Tuesday?", (KEEL, MAST)),
        ("What did we decide last Tuesday about the mast?", (MAST,)),
        ("What went wrong on 17 March?", ("The saw broke.",)),
        ("What did we talk about last Tuesday?", ("Ann said: We took the iron keel. It broke.",)),
        ("What did we talk about last time?", ("Ann said: We took the iron keel. It broke.",)),
        ("What went wrong in our last conversation?", ("The saw broke.",)),
    ],
)
def test_a_question_about_a_day_is_answered_from_its_sessions(question: str, lines: tuple[str, ...]) -> None:
    assert told(question) == notes(*lines)


@pytest.mark.parametrize(
    "question",
    ["What did we decide last Monday?", "What did we learn last Tuesday?", "Who built the ship last Tuesday?", "Why?"],
)
def test_what_the_sessions_of_that_day_do_not_say_is_not_answered(question: str) -> None:
    assert told(question) is None
    assert told(question, today=None) is None


@pytest.mark.parametrize("question", ["How do I like my weekly report?", "How should you write reports?"])
def test_how_something_is_done_is_answered_by_the_steps_of_its_procedure(question: str) -> None:
    assert told_how(question, approved(BLOCK)) == (
        'Approved for "Weekly report":\n1. Numbers first.\n2. Then the risks.'
    )


@pytest.mark.parametrize(
    "question", ["How do I like my tea?", "When is the weekly report due?", "How old is my bread?"]
)
def test_other_questions_are_not_answered_by_a_procedure(question: str) -> None:
    assert told_how(question, approved(BLOCK)) is None
    assert told_how(question, approved("Nothing there.")) is None
