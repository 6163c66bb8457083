"""Long texts in pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.policy.chunking import PIECE_CHARACTERS, pieces, without_heading


def test_a_short_text_is_one_piece_behind_its_heading() -> None:
    assert pieces("Tea at five.", heading="Ann (8 May 2023)") == ["Ann (8 May 2023): Tea at five."]


def test_every_piece_of_a_long_text_has_the_heading() -> None:
    cut = pieces("word " * 1_000, heading="Ann")
    assert len(cut) > 4
    assert all(piece.startswith("Ann: word") for piece in cut)


def test_a_line_end_is_preferred_to_a_sentence_and_a_sentence_to_a_word() -> None:
    words = "x " * 300
    by_line = pieces(f"{words}\n{'y ' * 100}Done. {'z ' * 400}", heading="A")[0]
    by_sentence = pieces(f"{words}Done. {'z ' * 400}", heading="A")[0]
    assert by_line == f"A: {words}".rstrip()
    assert by_sentence == f"A: {words}Done."


def test_a_text_without_any_break_is_cut_at_the_limit() -> None:
    assert [len(piece) for piece in pieces("x" * 2_500, heading="A")] == [1_003, 1_003, 503]


def test_a_text_without_spaces_is_cut_behind_its_full_stops() -> None:
    cut = pieces("猫" * 599 + "。" + "犬" * 700, heading="A")
    assert [piece[-1] for piece in cut] == ["。", "犬"]


@given(st.lists(st.text(alphabet="ab.!。\n ", min_size=1, max_size=400), max_size=30).map(" ".join))
def test_nothing_but_whitespace_is_lost_and_no_piece_is_too_long(text: str) -> None:
    cut = [piece.removeprefix("A: ") for piece in pieces(text, heading="A")]
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert all(len(piece) <= PIECE_CHARACTERS for piece in cut)


def test_a_piece_gives_back_what_was_said_without_its_heading() -> None:
    said = "Ann (8 May 2023): We met (again) in 2019: it was fun."
    assert [without_heading(piece) for piece in pieces(said, heading="Bob (B) (9 May 2023)")] == [said]
    assert (
        without_heading("User met Ann (8 times) in 2023: it was fun.") == "User met Ann (8 times) in 2023: it was fun."
    )
