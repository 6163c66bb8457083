"""The page that monitoring systems read."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.backups import Backups
from bot.circuit_breaker import CircuitBreaker
from bot.config import ConfigurationError, load_settings
from bot.fair_slots import FairSlots
from bot.loop_watch import watching_the_loop
from bot.measures import MeasuredModel, Measures
from bot.metrics import CONTENT_TYPE, Observed, metrics_page
from bot.web import build_app, build_metrics_app, serve
from memory.errors import ModelUnavailable
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart, Usage, user_message
from memory.mirror.process import MirrorAddress
from memory.parameters import MemoryParameters
from memory.records import Change, NewEntry, Scope
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running

USED = Usage(input_tokens=1_000, output_tokens=100, cache_read_tokens=600, cache_write_tokens=200)
ANSWER = ModelResponse(parts=(TextPart(text="Hello."),), stop_reason=StopReason.END_TURN, model="scripted", usage=USED)


def observed(world: World, measures: Measures, **changes: object) -> Observed:
    given = {
        "measures": measures,
        "system": world.system,
        "slots": FairSlots(1),
        "breakers": (),
        "prices": {},
        "platforms": {
            "discord": {"connected": True, "shards": 2, "latency": None},
            "slack": {"mode": "socket", "connected": False},
        },
        "now": world.clock.now(),
        "backups": None,
        **changes,
    }
    return Observed(**given)  # type: ignore[arg-type]  # as the test says


async def numbers(page: Observed) -> Mapping[str, float]:
    """The samples of the page, by name and labels."""
    text = (await metrics_page(page)).decode()
    return {
        sample.name.removeprefix("keepsake_") + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_turns_tokens_and_their_cost_are_counted(tmp_path: Path) -> None:
    measures = Measures()
    model = MeasuredModel(ScriptedModel(ANSWER, default=ANSWER), measures)
    async with running(tmp_path, chat_model=model, measures=measures) as world:
        await world.say("I live in Oslo.")
        await world.say("Where do I live?")
        found = await numbers(observed(world, measures, prices={"scripted": (10.0, 100.0)}))
    assert {name: found[f"phase_seconds_count {name}"] for name in ("turn", "memory", "delivery")} == {
        "turn": 2, "memory": 2, "delivery": 2,
    }  # fmt: skip
    assert found["model_calls_total scripted end_turn"] == 2
    kinds = ("input", "output", "cache_read", "cache_write")
    assert [found[f"model_tokens_total {kind} scripted"] for kind in kinds] == [400, 200, 1_200, 400]
    assert found["model_cost_dollars_total scripted"] == pytest.approx(2 * (0.002 + 0.01 + 0.0006 + 0.0025))
    assert found["platform_connected discord"] == 1
    assert found["platform_connected slack"] == 0
    assert found["platform_shards discord"] == 2
    assert not {"platform_latency discord", "platform_shards slack"} & found.keys()
    assert found["job_oldest_seconds"] == 0
    assert found["database_up"] == 1
    assert found["jobs done"] >= 1
    assert found["retrieval_seconds_count"] >= 1
    assert found["texts_to_embed"] == 0


async def test_no_word_and_no_id_of_a_person_stands_there_and_only_the_most_active_are_named(tmp_path: Path) -> None:
    measures = Measures()
    model = MeasuredModel(ScriptedModel(default=ANSWER), measures)
    async with running(tmp_path, chat_model=model, measures=measures) as world:
        for count in range(25):
            await model.complete(ModelRequest(messages=(user_message("Hi"),), person_hash=f"hash-{count}"))
        await world.say("I live in Oslo.")
        text = (await metrics_page(observed(world, measures))).decode()
    assert "Oslo" not in text
    assert "console:ann" not in text
    assert text.count("keepsake_person_tokens{") == 20


async def test_evictions_and_index_builds_are_counted(tmp_path: Path) -> None:
    parameters = MemoryParameters(max_conversation_history=4, history_target=2)
    async with running(tmp_path, parameters=parameters) as world:
        for count in range(4):
            await world.say(f"My cat number {count} is called Tom.")
        found = await numbers(observed(world, Measures()))
    assert found["evicted_messages_total history_limit"] >= 2
    assert found["index_builds_total"] >= 1
    assert found["prompt_tokens_total instructions"] > 0


async def test_a_model_that_fails_is_counted_and_shown_as_resting(tmp_path: Path) -> None:
    measures = Measures()
    broken = ScriptedModel(default=ModelUnavailable("Out of reach."))
    breaker = CircuitBreaker(MeasuredModel(broken, measures), clock=FakeClock())
    async with running(tmp_path, chat_model=breaker, measures=measures) as world:
        for _ in range(3):
            await world.say("Hello")
        found = await numbers(observed(world, measures, breakers=(breaker,)))
    assert found["model_resting scripted"] == 1
    assert found["model_calls_total scripted ModelUnavailable"] == 3


async def test_it_is_told_how_long_the_oldest_job_waits(tmp_path: Path) -> None:
    busy = ScriptedModel(default=ModelUnavailable("Out of reach."))
    async with running(tmp_path, memory_model=busy) as world:
        await world.say("I live in Oslo.")
        world.clock.advance(minutes=5)
        await world.say("I have a cat.")
        found = await numbers(observed(world, Measures()))
    assert found["jobs pending"] == 2
    assert found["job_oldest_seconds"] == 300


async def test_a_database_that_does_not_answer_is_said_to_be_down_and_the_rest_is_shown(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        with closing(sqlite3.connect(tmp_path / "keepsake.db")) as other:
            other.execute("DROP TABLE jobs")
        found = await numbers(observed(world, Measures()))
    assert found["database_up"] == 0
    assert "jobs pending" not in found
    assert found["platform_connected discord"] == 1


async def test_a_loop_that_stands_still_is_noticed() -> None:
    measures, lags, passed, watched = Measures(), [0.0, 3.0, 0.25], [0.0], asyncio.Event()

    async def sleep(seconds: float) -> None:
        if not lags:
            watched.set()
            await asyncio.Future[None]()
        passed[0] += seconds + lags.pop(0)

    async with watching_the_loop(measures, sleep=sleep, now=lambda: passed[0]):
        await watched.wait()
    assert measures.worst_lag == 3.0
    assert measures.lag.total == 3


async def test_the_numbers_are_on_a_server_of_their_own() -> None:
    async def page() -> bytes:
        return b"keepsake_jobs 1\n"

    world_facing = await serve(build_app(health=dict, is_ready=lambda: False), "127.0.0.1", 0)
    inner = await serve(build_metrics_app(page, content_type=CONTENT_TYPE), "127.0.0.1", 0)
    async with aiohttp.ClientSession() as session:

        async def get(port: int, path: str) -> tuple[int, str]:
            async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                return response.status, await response.text()

        assert await get(inner.port, "/metrics") == (200, "keepsake_jobs 1\n")
        assert (await get(world_facing.port, "/metrics"))[0] == 404
        assert await get(world_facing.port, "/readyz") == (503, "not ready")
    await world_facing.close()
    await inner.close()


def test_prices_are_read_and_mistakes_in_them_named() -> None:
    assert load_settings({"model_prices": "a-1=3/15, b=0.5/2"}, env_file=None).prices == {
        "a-1": (3.0, 15.0), "b": (0.5, 2.0),
    }  # fmt: skip
    with pytest.raises(ConfigurationError, match="MODEL_PRICES: 'cheap' is no price of a model"):
        load_settings({"model_prices": "cheap"}, env_file=None)


async def test_the_tiers_are_told_of_together(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        now, tiers = world.clock.now(), world.system.stores.warm
        change = Change(actor="system", reason="test")
        for scope in (Scope(person="console:ann", audience="dm"), Scope(person="console:bob", audience="dm")):
            new = NewEntry(text="Moved to Oslo.", created_at=now, importance=0.8)
            async with world.system.transaction() as tx:
                entry = await tiers.add(scope, tx, new=new, change=change, at=now)
            assert entry is not None
            async with world.system.transaction() as tx:
                await tiers.reinforce(tx, [(scope, entry.id)], at=now)
            await world.system.consolidator.run(scope)
        await world.system.consolidator.run(scope)
        found = await numbers(observed(world, Measures()))
    assert (found["warm_entries"], found["scopes_consolidated"], found["tree_nodes"]) == (2, 2, 10)
    assert found["tier_bytes warm"] == 2 * len("Moved to Oslo.")
    assert found["tier_bytes hot"] > 0
    assert found["last_consolidation_timestamp_seconds"] == now.timestamp()
    kinds = ("retrievals", "reinforcements", "consolidations", "evictions")
    assert [found[f"tier_events_total {kind}"] for kind in kinds] == [2, 2, 3, 0]


async def test_the_age_of_the_mirror_and_of_the_newest_backup_are_shown(tmp_path: Path) -> None:
    nowhere = MirrorAddress(url="http://127.0.0.1:1", folder=tmp_path / "mirror")
    async with running(tmp_path, mirror=nowhere) as world:
        assert "mirror_age_seconds" not in await numbers(observed(world, Measures()))
        every = timedelta(hours=24)
        backups = Backups(tmp_path / "keepsake.db", tmp_path / "kept", every=every, keep=2, clock=world.clock)
        await backups.run_due()
        async with world.system.transaction() as tx:
            await world.system.stores.mirror_changes.note_mirrored(tx, at=world.clock.now())
        await world.say("Hello")
        world.clock.advance(minutes=2)
        shown = await numbers(observed(world, Measures(), backups=backups))
    assert (shown["mirror_age_seconds"], shown["backup_age_seconds"]) == (120, 120)
    assert shown["mirror_rows_waiting"] > 0
