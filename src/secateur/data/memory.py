"""How much memory there is: asked before much of it is taken."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from secateur.exceptions import OutOfMemoryError, ParameterError

MEMINFO = Path("/proc/meminfo")
"""Where Linux tells; elsewhere nothing is known, and nothing refused."""

STATM = Path("/proc/self/statm")
"""Where it tells of this process."""

LEAST = 10**8
"""The smallest limit: Python and its libraries take as much."""

UNKNOWN = 4 * 10**9
"""The default limit where the system does not tell how much there is."""

_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def available_memory() -> int | None:
    """The bytes that can be had without swapping, or None where the system does not tell."""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def resident_memory() -> int:
    """The bytes that this process holds now, or 0 where the system does not tell."""
    try:
        pages = int(STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * mmap.PAGESIZE


def resolve_limit(memory_limit: float | str | None) -> int:
    """A limit of memory in bytes; half of what there is by default.

    >>> resolve_limit("1.5GB"), resolve_limit(2e9)
    (1500000000, 2000000000)
    """
    if memory_limit is None:
        available = available_memory()
        return available // 2 if available is not None else UNKNOWN
    if isinstance(memory_limit, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?)B?\s*", memory_limit)
        memory_limit = float(found[1]) * _UNITS[found[2]] if found else -1.0
    if isinstance(memory_limit, bool) or not memory_limit >= LEAST:
        msg = (
            f"'memory_limit' must be at least {LEAST // 10**6} MB, as bytes or as text. Got "
            f"{memory_limit!r}. Use '2GB', or None for half of what is free."
        )
        raise ParameterError(msg)
    return int(memory_limit)


def require_memory(n_bytes: int, what: str, advice: str) -> None:
    """Refuse what cannot fit, before anything is taken.

    >>> require_memory(1000, "The sums of groups", "Raise 'leaf_size'.")
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise OutOfMemoryError(
            f"{what} need {told_bytes(n_bytes)} of memory. Got {told_bytes(available)} available. "
            f"{advice}"
        )


def told_bytes(n_bytes: int) -> str:
    """Bytes as people say them.

    >>> told_bytes(2_500_000_000), told_bytes(800_000_000), told_bytes(1_500_000)
    ('2.5 GB', '800 MB', '1.5 MB')
    """
    if n_bytes >= 10**9:
        return f"{n_bytes / 1e9:.1f} GB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 10**8 else f"{n_bytes / 1e6:.1f} MB"
