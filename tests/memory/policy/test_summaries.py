from hypothesis import given
from hypothesis import strategies as st

from memory.policy.summaries import in_pieces, within_words


def test_a_text_within_the_limit_stays_as_it_is() -> None:
    assert within_words("Ann likes tea. She never eats nuts.", 10) == "Ann likes tea.\nShe never eats nuts."


def test_the_last_sentence_that_does_not_fit_is_left_out_whole() -> None:
    assert within_words("Ann likes tea. She never eats nuts.", 6) == "Ann likes tea."


def test_a_single_overlong_sentence_is_cut_at_a_word() -> None:
    assert within_words("one two three four", 2) == "one two"


@given(st.text(), st.integers(1, 20))
def test_no_text_passes_the_limit(text: str, limit: int) -> None:
    assert len(within_words(text, limit).split()) <= limit


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_pieces_keep_order_and_respect_the_limit(sizes: list[int], limit: int) -> None:
    items = list(range(len(sizes)))
    pieces = list(in_pieces(items, sizes, limit))
    assert [item for piece in pieces for item in piece] == items
    assert all(len(piece) == 1 or sum(sizes[item] for item in piece) <= limit for piece in pieces)
