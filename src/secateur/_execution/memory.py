"""How much memory there is: asked before much of it is taken."""

from __future__ import annotations

from pathlib import Path

from secateur.exceptions import OutOfMemoryError

MEMINFO = Path("/proc/meminfo")
"""Where Linux tells; elsewhere nothing is known, and nothing refused."""


def available_memory() -> int | None:
    """The bytes that can be had without swapping, or None where the system does not tell."""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def require_memory(n_bytes: int, what: str, advice: str) -> None:
    """Refuse what cannot fit, before anything is taken.

    >>> require_memory(1000, "The sums of groups", "Raise 'leaf_size'.")
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise OutOfMemoryError(
            f"{what} need {_told(n_bytes)} of memory. Got {_told(available)} available. {advice}"
        )


def _told(n_bytes: int) -> str:
    """Bytes as people say them."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
