"""Available memory: that of the machine, or of the container that limits the process."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from secateur.exceptions import OutOfMemoryError, ParameterError

ROOT = Path("/")  # the folder with ``proc`` and ``sys`` of Linux; elsewhere no limit is known
MIN_LIMIT = 10**8  # the smallest limit: Python and its libraries take as much
UNKNOWN = 4 * 10**9  # the default limit where the system does not report its memory
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_CGROUP = Path("sys/fs/cgroup")


def available_memory(root: Path = ROOT) -> int | None:
    """Bytes that can be taken without swapping, in all cgroups; None where they are unknown."""
    found = [1024 * n_bytes for n_bytes in _values(root / "proc/meminfo", "MemAvailable:")]
    # of each cgroup with a limit, from that of the process up to the root
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = (*line.split(":", 2), "?", "?")[:3]
        if controllers == "":  # version 2: one hierarchy for all controllers
            top, names = root / _CGROUP, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = root / _CGROUP / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        folder = Path(path.lstrip("/"))
        # Inside a container the path may be that on the host: then its cgroup is at the top.
        for below in dict.fromkeys([folder, *folder.parents, Path()]):
            limit, used = (_lines(top / below / name) for name in names[:2])
            if not limit or not limit[0].strip().isdigit():
                continue  # no such cgroup, or "max": no limit
            n_used = int(used[0]) if used and used[0].strip().isdigit() else 0
            # pages of files that were not used lately count as free
            cache = sum(_values(top / below / "memory.stat", names[2]))
            found.append(max(0, int(limit[0]) - max(0, n_used - cache)))
    return min(found, default=None)


def _values(file: Path, name: str) -> list[int]:
    """The numbers that follow a name at the beginning of a line."""
    return [int(line.split()[1]) for line in _lines(file) if line.startswith(f"{name} ")]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def resident_memory() -> int:
    """Bytes that this process has in memory, or 0 where the system does not report them."""
    lines = _lines(ROOT / "proc/self/statm")
    return int(lines[0].split()[1]) * mmap.PAGESIZE if lines else 0


def resolve_limit(memory_limit: float | str | None) -> int:
    """Return a memory limit in bytes; half of the available memory by default."""
    if memory_limit is None:
        available = available_memory()
        return available // 2 if available is not None else UNKNOWN
    given = memory_limit
    if isinstance(memory_limit, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kMGT]?)B?\s*", memory_limit)
        memory_limit = float(found[1]) * _UNITS[found[2]] if found else -1.0
    if isinstance(memory_limit, bool) or not memory_limit >= MIN_LIMIT:
        raise ParameterError(
            f"'memory_limit' must be at least {MIN_LIMIT // 10**6} MB, as bytes or as text. Got "
            f"{given!r}. Use '2GB', or None for half of what is free."
        )
    return int(memory_limit)


def require_memory(n_bytes: int, what: str, advice: str) -> None:
    """Raise an error if there is not enough memory for an allocation."""
    available = available_memory()
    if available is not None and n_bytes > available:
        raise OutOfMemoryError(
            f"{what} need {format_bytes(n_bytes)} of memory. Got {format_bytes(available)} "
            f"available. {advice}"
        )


def format_bytes(n_bytes: int) -> str:
    """Return a number of bytes as text.

    >>> format_bytes(2_500_000_000), format_bytes(800_000_000), format_bytes(1_500_000)
    ('2.5 GB', '800 MB', '1.5 MB')
    """
    if n_bytes >= 10**9:
        return f"{n_bytes / 1e9:.1f} GB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 10**8 else f"{n_bytes / 1e6:.1f} MB"
