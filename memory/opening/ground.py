"""What every process of an installation rests on.

Invariant: made once, before the first process.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory.database import Database
from memory.ids import IdSource
from memory.note_files import NoteFiles
from memory.parameters import MemoryParameters, ParametersInForce
from memory.ports import ChatModel, Clock, TokenCounter
from memory.process_lock import ProcessLock
from memory.services import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the processes share.

    Attributes:
        database: the open database.
        stores: every store over it.
        model: looks after memory.
        counter: counts tokens.
        in_force: the numbers, which may change while the process runs.
        clock: where the time comes from.
        ids: where ids come from.
        process: tells what other processes on the database live.
        files: notes that people can read.
    """

    database: Database
    stores: Stores
    model: ChatModel
    counter: TokenCounter
    in_force: ParametersInForce
    clock: Clock
    ids: IdSource
    process: ProcessLock
    files: NoteFiles

    @property
    def parameters(self) -> MemoryParameters:
        """The numbers as they are while everything is made."""
        return self.in_force.current
