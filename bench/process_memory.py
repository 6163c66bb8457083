"""How much memory this process has taken."""

from __future__ import annotations

from pathlib import Path


def peak_mb() -> float:
    """The most it had at once, in MB. (``getrusage`` would count what the process that started it had.)"""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kilobytes) / 1_024
