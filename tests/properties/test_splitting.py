"""Whatever the text, its parts can be sent, leave no code block open and lose nothing."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from adapters.text import SMALLEST_LIMIT, split

_limits = st.integers(min_value=SMALLEST_LIMIT, max_value=400)
_words = st.text(alphabet="abcäß字あ.!?#*_é😀", min_size=1, max_size=40)
_prose = st.lists(_words, min_size=1, max_size=30).flatmap(
    lambda words: st.lists(st.sampled_from([" ", "\n", "\n\n", ". "]), min_size=len(words), max_size=len(words)).map(
        lambda gaps: "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    )
)
_languages = st.sampled_from(["", "python", "c++", "l" * 20, "l" * 40])
_code = st.builds("```{}\n{}\n```".format, _languages, _prose)
_markdown = st.lists(st.one_of(_prose, _code), min_size=1, max_size=5).map("\n".join)
_anything = st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("`\n a.")), max_size=600)
_FENCE = re.compile(r"(?<!`)`{3,8}(?!`)")


@given(text=st.one_of(_markdown, _anything), limit=_limits)
@example(text="`" * 500, limit=64)
@example(text=" " * 500, limit=64)
@example(text="a" * 40 + "\n" * 40 + "b" * 60, limit=64)
@example(text="```" + "i" * 390 + "\nx\n```", limit=64)
@example(text="```\n" + "\n" * 500 + "x\n```", limit=64)
def test_every_part_fits_and_is_not_blank(text: str, limit: int) -> None:
    parts = split(text, limit)

    assert all(part.strip() and not part.startswith("\n") and len(part) <= limit for part in parts)
    assert bool(parts) == bool(text.strip())


@given(text=_markdown, limit=_limits)
def test_every_part_has_its_fences_in_pairs(text: str, limit: int) -> None:
    assert all(len(_FENCE.findall(part)) % 2 == 0 for part in split(text, limit))


@given(text=_markdown, limit=_limits)
def test_the_parts_joined_are_the_text_but_for_whitespace_and_fence_lines(text: str, limit: int) -> None:
    assert _letters("\n".join(split(text, limit))) == _letters(text)


def _letters(text: str) -> str:
    return re.sub(r"```[^\n]*|\s", "", text)
