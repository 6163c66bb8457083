"""The search for remains: which pieces are looked for, and that every occurrence is found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.policy.residue import SHORTEST_PIECE, Needles, fragments, word_middles


def occurrences(data: bytes, pieces: set[str]) -> list[tuple[int, str]]:
    return sorted(
        (position, piece)
        for piece in pieces
        for position in range(len(data))
        if data.startswith(piece.encode(), position)
    )


FEW_LETTERS = st.text(st.sampled_from("abé"), min_size=SHORTEST_PIECE, max_size=9)


@given(pieces=st.sets(FEW_LETTERS, min_size=1, max_size=5), around=st.lists(FEW_LETTERS, max_size=5), used=st.data())
def test_every_occurrence_is_found_and_nothing_else(pieces: set[str], around: list[str], used: st.DataObject) -> None:
    planted = used.draw(st.lists(st.sampled_from(sorted(pieces)), max_size=4))
    data = "".join(used.draw(st.permutations(around + planted))).encode()
    assert sorted(Needles(pieces).find(data)) == occurrences(data, pieces)


def test_bytes_shorter_than_a_piece_hold_none() -> None:
    needles = Needles(["kumquat"])
    assert [list(needles.find(data)) for data in (b"", b"kum", b"kumqua")] == [[], [], []]


def test_pieces_too_short_to_mean_anything_are_left_out() -> None:
    needles = Needles(["tea", "kumquat", "kumquat"])
    assert len(needles) == 1
    assert needles.longest == 7
    assert list(Needles([]).find(b"anything at all")) == []


def test_fragments_hold_no_character_that_json_writes_differently() -> None:
    pieces = fragments(['She said "my kumquat tree\nfell over" to C:\\temp\\kumquats'], limit=10)
    assert pieces == ["She said ", "my kumquat tree", "fell over", "kumquats"]


def test_pieces_are_taken_evenly_and_at_most_as_many_as_asked_for() -> None:
    texts = [f"sentence number {number:04}" for number in range(1000)]
    pieces = fragments([*texts, *texts], limit=40)
    assert len(pieces) == len(set(pieces)) == 40
    assert pieces[0] == texts[0]
    assert pieces[-1] > "sentence number 0950"
    assert fragments([], limit=40) == []


def test_the_middles_of_long_words_are_what_a_full_text_index_keeps() -> None:
    assert word_middles(["The Kumquattery is extraordinary"], limit=5) == ["mquatte", "traordi"]
