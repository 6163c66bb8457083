"""Calls commands as people do on any platform: as a line of text, by somebody, somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bot.chat import Conversation
from bot.command_table import COMMAND_TABLE
from bot.command_text import parse
from bot.commands import Caller, CommandReply, Commands, Group, Invocation, Services, Suggestion
from bot.config import Settings, load_settings
from memory.messages import ModelRequest
from memory.system import MemorySystem
from tests.fakes import FakeClock, Script, ScriptedModel
from tests.world import World, dm


@cache
def usual_settings() -> Settings:
    """The settings where nothing is set; nobody can change them, so that one does for all."""
    return load_settings(env_file=None)


def channel(guild: int, name: str = "general") -> Conversation:
    """A public channel of a server, on a platform of one's own."""
    return Conversation(platform="console", key=f"console:{guild}-{name}", audience=f"guild:{guild}")


def admin(name: str, *communities: str) -> Caller:
    """Somebody who administers communities."""
    return Caller(person=f"console:{name}", name=name, admin_of=frozenset(communities))


OPERATOR = Caller(person="console:op", name="op", is_operator=True)


def summing_up(*summaries: Script, then: str = "A digest.") -> ScriptedModel:
    """A memory model that writes these summaries, in order, and learns nothing else."""
    left = list(summaries)

    def answer(request: ModelRequest) -> Any:
        if request.system[0].name != "summarize_session":
            return '{"facts": [], "events": []}'
        script = left.pop(0) if left else then
        return script(request) if callable(script) else script

    return ScriptedModel(default=answer)


def learning(taught: Mapping[str, list[dict[str, str]]]) -> ScriptedModel:
    """A memory model that finds these facts in messages of these words, and always adds what it finds."""

    def answer(request: ModelRequest) -> Any:
        text = request.messages[0].text
        if request.system[0].name != "extract_facts":
            count = len(re.findall(r"^\d+\. ", text, re.MULTILINE))
            adds = [
                {"candidate": n, "reason": "new", "op": "ADD", "id": None, "text": None} for n in range(1, count + 1)
            ]
            return json.dumps({"ops": adds})
        said = text.split("<user_message>")[1].split("</user_message>")[0]
        found = [fact for words, facts in taught.items() if words in said for fact in facts]
        return json.dumps({"candidates": [{"kind": "fact", **fact} for fact in found]})

    return ScriptedModel(default=answer)


@dataclass(slots=True, kw_only=True)
class Desk:
    """Where commands are called.

    Attributes:
        owners: who may act everywhere.
        reads_dms: SLACK_ADMIN_READS_DMS.
    """

    system: MemorySystem
    clock: FakeClock
    owners: frozenset[str] = field(default_factory=frozenset)
    reads_dms: bool = True

    @classmethod
    def of(cls, world: World, *, owners: frozenset[str] = frozenset(), reads_dms: bool = True) -> Desk:
        """The desk of a running application."""
        return cls(system=world.system, clock=world.clock, owners=owners, reads_dms=reads_dms)

    @property
    def commands(self) -> Commands:
        """The real command table."""
        services = Services(
            system=self.system,
            settings=usual_settings(),
            clock=self.clock,
            owners=self.owners,
            admin_reads_dms=self.reads_dms,
        )
        return Commands(COMMAND_TABLE, services)

    async def call(self, text: str, *, by: Caller | str = "ann", where: Conversation | None = None) -> CommandReply:
        """Call a command; ``by`` a name is somebody without rights, in their own direct chat."""
        caller = Caller(person=f"console:{by}", name=by) if isinstance(by, str) else by
        typed = parse(text, COMMAND_TABLE)
        return await self.commands.run(
            typed.group,
            typed.name,
            Invocation(
                caller=caller,
                conversation=where or dm(caller.name),
                arguments=typed.arguments,
                confirmed=typed.confirmed,
            ),
        )

    async def suggest(
        self, name: str, argument: str, by: Caller, where: Conversation, **filled_in: str
    ) -> Sequence[Suggestion]:
        """What is offered for an argument of an admin command about ann."""
        call = Invocation(caller=by, conversation=where, arguments={"person": "console:ann", **filled_in})
        return await self.commands.suggest(Group.MEMORY, name, argument, call)
