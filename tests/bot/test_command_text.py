"""Commands written as text are taken apart as they are meant."""

import pytest

from bot.command_table import COMMAND_TABLE
from bot.command_text import help_text, parse
from bot.commands import Command, Group
from memory.errors import InvalidInput

TO_3 = {"person": "a:b", "version": "3"}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/memory rollback console:ann 3", {"person": "console:ann", "version": "3"}),
        ("!memory rollback person:console:ann version:3", {"person": "console:ann", "version": "3"}),
        ("memory ROLLBACK version:3 console:ann", {"person": "console:ann", "version": "3"}),
        ("/memory rollback a:b 3 human guild:1", {**TO_3, "block": "human", "audience": "guild:1"}),
        ("/memory rollback a:b 3 audience:guild:1", {**TO_3, "audience": "guild:1"}),
        ("/memory audit two words", {"person": "two words"}),
        ("/mydata show", {}),
        ("/mydata erase ERASE", {"confirm": "ERASE"}),
    ],
)
def test_arguments_stand_in_order_or_by_name(text: str, arguments: dict[str, str]) -> None:
    typed = parse(text, COMMAND_TABLE)
    assert dict(typed.arguments) == arguments
    assert not typed.confirmed


def test_a_command_is_confirmed_in_words() -> None:
    typed = parse("/memory rollback console:ann 3 confirmed:yes", COMMAND_TABLE)
    assert (typed.group, typed.name, typed.confirmed) == (Group.MEMORY, "rollback", True)
    assert dict(typed.arguments) == {"person": "console:ann", "version": "3"}
    assert not parse("/memory rollback console:ann 3 confirmed:no", COMMAND_TABLE).confirmed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/memory", "`/memory view <person> [audience]`"),
        ("/mydata help", "`/mydata show`"),
        ("/memory fly", "There is no command /memory fly."),
        ("/hello", "There is no command /hello."),
        ("/", "There is no command /."),
        ("/mydata show me", "more than this command needs: 'me'"),
    ],
)
def test_what_cannot_be_read_is_answered_with_what_there_is(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse(text, COMMAND_TABLE)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("command", COMMAND_TABLE, ids=lambda command: command.usage)
def test_help_names_every_command_and_its_arguments(command: Command) -> None:
    assert f"`/{command.usage}`" in help_text(COMMAND_TABLE, command.group)
