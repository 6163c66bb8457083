"""Links, commands and paths in a text."""

import time

import pytest

from memory.policy.metadata import metadata_of


def test_links_commands_and_paths_are_found() -> None:
    text = (
        "See https://a.example/x?y=1. and (http://b.example/z), run `pip install keepsake` or:\n"
        "$ make test\nThe code is in ~/src/app/main.py, /etc/hosts and memory/policy/text.py; "
        "`foo` and/or 1/2/2024, he/she"
    )
    assert metadata_of(text) == {
        "urls": ["https://a.example/x?y=1", "http://b.example/z"],
        "commands": ["make test", "pip install keepsake"],
        "paths": ["~/src/app/main.py", "/etc/hosts", "memory/policy/text.py"],
    }
    assert metadata_of("C:\\Users\\Ann\\notes.txt") == {"paths": ["C:\\Users\\Ann\\notes.txt"]}
    assert metadata_of("User likes tea") == {}


def test_of_each_only_so_many_are_kept_and_each_once() -> None:
    many = " ".join(f"https://a.example/{n} `git log {n}` ~/a/{n}.txt" for n in (*range(20), *range(20)))
    found = metadata_of(many)
    assert {name: len(values) for name, values in found.items()} == {"urls": 10, "commands": 5, "paths": 10}
    assert found["urls"] == [f"https://a.example/{n}" for n in range(10)]


@pytest.mark.parametrize(
    ("command", "is_kept"),
    [("ls .", True), ("$ ls", False), ("git", False), ("git " + "x" * 195, True), ("git " + "x" * 196, False)],
)
def test_a_command_has_four_to_199_characters(command: str, is_kept: bool) -> None:
    assert ("commands" in metadata_of(f"Run `{command}` now")) == is_kept


@pytest.mark.parametrize(("path", "is_kept"), [("a/b.py", True), ("a/b.c", False), ("~/a/bc", True), ("~/a/b", False)])
def test_a_path_has_more_than_five_characters(path: str, is_kept: bool) -> None:
    assert ("paths" in metadata_of(f"It is in {path} there")) == is_kept


def test_the_path_of_a_link_is_no_file() -> None:
    assert metadata_of("Read https://a.example/src/app/main.py today") == {
        "urls": ["https://a.example/src/app/main.py"]
    }


@pytest.mark.parametrize("end", [".", ",", ";", ":", "!", "?", ")", "]", "。", "...", ").", '"'])
def test_punctuation_after_a_link_is_no_part_of_it(end: str) -> None:
    assert metadata_of(f"See https://a.example/x{end} And more")["urls"] == ["https://a.example/x"]


@pytest.mark.parametrize("unit", ["a/", "a.", "/a", "`", "$ ", "http://", "C:\\a ", "a+@-", "a b\\", "~/"])
def test_a_long_text_is_searched_in_linear_time(unit: str) -> None:
    started = time.process_time()
    metadata_of(unit * (50_000 // len(unit)))
    assert time.process_time() - started < 2.0
