"""Makes what keeps the mirror and this database alike.

Invariant: telling and taking speak of the same stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory.mirror.process import MirrorProcess
from memory.opening.ground import Ground
from memory.processes.indexer import Indexer
from memory.processes.mirror_register import MirrorRegister
from memory.processes.mirror_taking import MirrorTaking
from memory.processes.mirror_telling import MirrorTelling
from memory.processes.mirroring import Mirroring
from memory.stores.mirror_merge import MirrorMerge
from memory.stores.mirror_state import RegistrationStore
from memory.stores.mirrored import Mirrored


def open_mirroring(
    ground: Ground, process: MirrorProcess, mirrored: Sequence[Mirrored], *, indexer: Indexer
) -> Mirroring:
    """The mirror of an installation.

    Args:
        ground: what it rests on.
        process: talks to the mirror's worker.
        mirrored: what is mirrored row by row.
        indexer: embeds what comes from the mirror.
    """
    stores = ground.stores
    shared: dict[str, Any] = {"database": ground.database, "changes": stores.mirror_changes}
    as_they_are: dict[str, Any] = {"hot": stores.hot, "tree": stores.tree}
    merge = MirrorMerge((*stores.imported, stores.recall), blocks=stores.blocks, search=stores.search)
    return Mirroring(
        process,
        **shared,
        register=MirrorRegister(
            process,
            **shared,
            registrations=RegistrationStore(ground.database),
            merge=merge,
            clock=ground.clock,
            stores=mirrored,
        ),
        telling=MirrorTelling(process, **shared, **as_they_are, ids=ground.ids, clock=ground.clock, stores=mirrored),
        taking=MirrorTaking(**shared, **as_they_are, merge=merge, indexer=indexer),
        jobs=stores.jobs,
        clock=ground.clock,
        stores=mirrored,
    )
