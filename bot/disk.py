"""Whether the disk that memory is kept on lasts.

Invariant: only looks; what it cannot tell counts as a disk that lasts.
"""

from __future__ import annotations

import os
from pathlib import Path

from bot.config import Settings

# Hosts with a Procfile wipe their disk on every deploy; they show themselves by these variables.
_WIPING_HOSTS = {"DYNO": "Heroku", "RENDER": "Render", "RAILWAY_ENVIRONMENT": "Railway", "K_SERVICE": "Cloud Run"}
_WIPED_FILE_SYSTEMS = {"overlay": "a container's own layer", "tmpfs": "memory", "ramfs": "memory"}


def wiped_disk(settings: Settings) -> str | None:
    """What to tell the operator where a deploy or restart may wipe all memory; None where the disk lasts.

    Args:
        settings: checked settings. A database named by DATABASE_URL is the operator's own choice, and a mirror brings
            memory back.
    """
    if settings.database_url is not None or settings.turso_url is not None:
        return None
    folder = existing(settings.data_dir)
    host = next((host for variable, host in _WIPING_HOSTS.items() if variable in os.environ), None)
    kind = host or _WIPED_FILE_SYSTEMS.get(file_system(folder) or "")
    if kind is None:
        return None
    return (
        f"{folder} is on a disk that does not last ({kind}): a deploy or restart may wipe all memory. "
        "Set DATA_DIR to a mounted volume, or TURSO_URL to a database that mirrors memory."
    )


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists already."""
    folder = folder.expanduser().resolve()
    while not folder.exists():
        folder = folder.parent
    return folder


def file_system(folder: Path) -> str | None:
    """The kind of file system a folder is on, as the kernel calls it; None where it does not say."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return None
    best = max(
        (fields for fields in map(str.split, mounts.read_text().splitlines()) if folder.is_relative_to(fields[1])),
        key=lambda fields: len(fields[1]),
        default=None,
    )
    return best[2] if best else None
