"""What looks like an answer."""

from __future__ import annotations

import pytest

from memory.policy.question_kinds import fitness, kinds_asked_for


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("When did Ann move?", "We moved last Friday.", "We moved to Rome."),
        ("what year was that", "It was in 2019!", "It was a good one."),
        ("Wann war das?", "Im Jahr 2019.", "In Rom."),
        ("How many children does Ann have?", "I have 3 children.", "I have children."),
        ("How long have they been married?", "Five years already!", "They are married."),
        ("Where does Ann live?", "I live in Rome.", "Where do you live?"),
    ],
)
def test_what_looks_like_an_answer_counts_for_more(question: str, answer: str, other: str) -> None:
    wanted = kinds_asked_for(question)
    assert 0.95 <= fitness(other, wanted) < fitness(answer, wanted) <= 1.1


def test_a_query_that_wants_no_kind_is_answered_by_any_statement() -> None:
    assert kinds_asked_for("Ann's trip to Rome") == ()
    assert fitness("We saw Rome in 2019.", ()) == fitness("", ()) == 1.0
    assert fitness("你住在哪里？", ()) < 1.0


def test_the_date_under_which_a_text_is_indexed_is_no_answer() -> None:
    wanted = kinds_asked_for("When did Ann see Rome?")
    assert fitness("Ann (8 May 2023): I saw Rome.", wanted) == 1.0
    assert fitness("Ann (8 May 2023): I saw Rome in April.", wanted) > 1.0
    assert fitness("Ann (8 May 2023): Who saw Rome?", wanted) < 1.0
