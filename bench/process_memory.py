"""How much memory this process has taken."""

from __future__ import annotations

from pathlib import Path


def resident_mb() -> float:
    """What it has now, in MB."""
    return _status("VmRSS") / 1_024


def peak_mb() -> float:
    """The most it had at once, in MB. (``getrusage`` would count what the process that started it had.)"""
    return _status("VmHWM") / 1_024


def _status(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith(f"{name}:")]
    return int(kilobytes)
