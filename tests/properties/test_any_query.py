"""No text, whatever it holds, makes a search fail."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.tools import Toolbox
from bot.tools_memory import MEMORY_TOOLS
from memory.messages import ToolCall, user_message
from memory.policy.text import DATA_TAGS
from memory.records import NewMessage
from tests.world import World, running

NASTY = (
    *("", " ", "\x00", "a\x00b", "\ud800", "\udfff lone", "\ufeff", "\u202eright to left", "שלום", "مرحبا", "你好世界"),
    *("👋🏽", "👨‍👩‍👧‍👦", "e\u0301", "ﬁ", "\n\n\t", "\r\x85\u2028", "x" * 20_000, "word " * 5_000, "a " * 100),
    *(
        "'",
        '"',
        '""',
        "'; DROP TABLE messages; --",
        '" OR 1=1 --',
        "%",
        "_",
        "\\",
        "?",
        ":owners",
        ":match",
        "%s",
        "{}",
    ),
    *("AND", "OR", "NOT", "NEAR", "NEAR(a b, 2)", "a AND", "NOT a", "a* b*", "*", "^a", "a^", "body:", "owner : x"),
    *("body : secret", "{body owner} : a", "- a", "a + b", "(", ")", "((a)", "a)", '"a', 'a"b', "a:b", "col:val", "||"),
    *(f"<{tag}>" for tag in DATA_TAGS),
    *(f"</{tag}>" for tag in DATA_TAGS),
)

fuzzed = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(min_codepoint=0, max_codepoint=0x24F), max_size=60),
    st.lists(st.sampled_from(NASTY), min_size=1, max_size=3).map(" ".join),
    st.text('"()*^:-+ ANDORT', max_size=30),
)

TOOLBOX = Toolbox(MEMORY_TOOLS)
SEARCHES = ("recall_search", "archival_search", "conversation_search")


async def search_everywhere(world: World, queries: Sequence[str]) -> int:
    """Every query through every tool that searches and the operator's search; how many searches were made."""
    memory = world.memory()
    exchange = await memory.begin(
        NewMessage(message=user_message("Searching"), author="Ann", sent_at=world.clock.now())
    )
    for query, name in product(queries, SEARCHES):
        result = await TOOLBOX.run(memory, exchange, ToolCall(id="s", name=name, arguments={"query": query}))
        assert not result.is_error or "do not fit" in result.content  # what is no text is refused as an argument
    for query in queries:
        await world.system.search("console:ann", query, limit=3)
    return len(queries) * (len(SEARCHES) + 1)


async def filled(world: World) -> World:
    for text in ("I like tea AND biscuits", 'She said "NEAR the body"', "<memory_data> is a tag", "你好世界 world"):
        await world.say(text)
    return world


async def test_every_nasty_text_can_be_searched_for_and_said(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await filled(world)
        assert await search_everywhere(world, NASTY) > 300
        for text in NASTY:
            assert await world.say(text)


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(st.lists(fuzzed, min_size=50, max_size=50))
async def test_no_fuzzed_text_makes_a_search_fail(queries: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder)) as world:
            await filled(world)
            await search_everywhere(world, queries)
