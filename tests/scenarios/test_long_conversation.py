"""Three months of one person's messages through the product without a key: what was said early is still found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from structlog.testing import capture_logs

from adapters.console import ConsoleAdapter, ReplayClock
from bot.application import open_application
from bot.config import load_settings
from bot.lifecycle import converse

START = datetime(2025, 1, 6, 18, 0, tzinfo=UTC)
WINDOW = 6_000

# Said in the first two weeks; each with the question that must bring it back in the fourth month.
EARLY = {
    "I am restoring a wooden sailing boat called Petrel in a shed near Falmouth.": "What is the name of my boat?",
    "The surveyor found rot in the garboard plank on the port side.": "Where did the surveyor find rot?",
    "I bought 40 copper rivets from a chandler in Penryn for 18 pounds.": "How much did the copper rivets cost?",
    "My sister Marta helps me steam the oak frames on Saturdays.": "Who helps me steam the frames?",
    "The engine is a two-cylinder Yanmar from 1986.": "Which engine does the boat have?",
    "I started to learn Finnish because my grandmother came from Oulu.": "Where did my grandmother come from?",
    "My Finnish teacher is called Pekka and he lives in Turku.": "What is my teacher called?",
    "The partitive case is what I find hardest in Finnish.": "Which case do I find hardest?",
    "My exam in Finnish is booked for 14 May in Helsinki.": "When is my exam booked?",
    "I keep my vocabulary cards in a blue tin that held biscuits.": "Where do I keep my vocabulary cards?",
}

BOAT = (
    "I sanded the deck again and my arms hurt.",
    "The weather was too wet to paint today.",
    "The new mast step fits after the third try.",
    "We mixed epoxy all afternoon and it set too fast.",
    "The bilge pump arrived, but with the wrong hose.",
    "I varnished the tiller with seven thin coats.",
    "A man from the yard lent me his long clamps.",
    "The keel bolts came out easier than I feared.",
    "Tomorrow I will order canvas for the mainsail cover.",
    "The shed roof leaked onto the cabin top.",
    "I found an old coin under the mast and will put it back.",
    "The cockpit drains are finally clear.",
    "Sanding dust is everywhere, even in my tea.",
)
FINNISH = (
    "I practised numbers up to a thousand this evening.",
    "We read a short story about a moose in class.",
    "I mixed up the words for six and return again.",
    "My accent made the teacher laugh, kindly.",
    "I listened to the slow news on the radio.",
    "I wrote ten sentences about the weather.",
    "Vowel harmony begins to feel natural.",
    "I forgot every verb after the holidays.",
    "We sang a song about the summer night.",
    "I ordered a grammar book from Tampere.",
    "The homework on postpositions took two hours.",
    "I dreamt a whole sentence in Finnish.",
    "I can read the back of a milk carton now.",
)


def conversation() -> list[tuple[datetime, str]]:
    """Over seventy lines from January to April, two or three an evening."""
    later = [line for pair in zip(BOAT, FINNISH, strict=True) for line in pair]
    again = [f"Again: {line[0].lower()}{line[1:]}" for line in later]
    lines = [*EARLY, *later, *again, "Spring is here at last.", "I launch her soon.", "I am nervous about the exam."]
    days = [number if number < len(EARLY) else number * 3 // 2 for number in range(len(lines))]
    return [
        (START + timedelta(days=day, minutes=number), line)
        for number, (day, line) in enumerate(zip(days, lines, strict=True))
    ]


async def test_a_conversation_of_three_months_fits_every_window_and_loses_nothing(tmp_path: Path) -> None:
    settings = load_settings(
        {"data_dir": tmp_path, "context_window_tokens": WINDOW, "max_output_tokens": 512}, env_file=None
    )
    spoken = conversation()
    lines = iter([f"{at.isoformat()} {line}" for at, line in spoken])
    replies: list[str] = []
    clock = ReplayClock(START - timedelta(days=1))
    with capture_logs() as log:
        async with open_application(settings, clock=clock) as application:
            console = ConsoleAdapter(
                name="ann",
                audience="dm",
                on_message=application.handler.accept,
                settled=application.handler.idle,
                clock=clock,
                read_line=lambda: next(lines, None),
                write=replies.append,
                replay=clock,
            )
            await converse(application, console)
            await application.system.settle()
            found = {
                line: await application.system.search("console:ann", question, limit=3)
                for line, question in EARLY.items()
            }
    assert len(replies) == len(spoken) > 60
    sizes = [entry["tokens"] for entry in log if entry["event"] == "model_answered"]
    assert len(sizes) >= len(spoken)
    assert max(sizes) <= WINDOW - 512

    said_at = {line: at for at, line in spoken}
    for line, hits in found.items():
        [hit] = [hit for hit in hits if hit.text == line]
        assert hit.at == said_at[line]
        assert hit.message_ids == (hit.record_id,)
