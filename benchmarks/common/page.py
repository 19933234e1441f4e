"""The page of results: text by hand, tables between markers."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from common import figures

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "benchmarks.md"
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "lightgbm")


def machine() -> str:
    """What kind of machine this is, without its name."""
    memory = psutil.virtual_memory().total / 2**30
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB; "
        f"Python {platform.python_version()}, {libraries}."
    )


def cpu() -> str:
    """The model of the processor, or what is known of it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(models), platform.processor() or platform.machine())


def commit() -> str:
    """The commit that was measured; "+" where files had been changed since."""
    asked = ["git", "-C", str(DOCS), "describe", "--always", "--dirty=+"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.strip() or "unknown"


def put(text: str, name: str, block: str) -> str:
    """Replace what stands between the markers of a name.

    >>> put("<!-- a --> old <!-- /a -->", "a", "new")
    '<!-- a -->\\n\\nnew\\n\\n<!-- /a -->'
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        msg = f"The page must have the markers {begin} and {end}. Got none. Add them to it."
        raise ValueError(msg)
    return pattern.sub(lambda _: f"{begin}\n\n{block}\n\n{end}", text)


def write(name: str, block: str, others: float, page: Path = PAGE) -> None:
    """Keep a block as results, with where and when it was measured, and put it into a page."""
    section = figures.section_of(
        block,
        machine=machine(),
        cpu=cpu(),
        busy_cores_of_others=round(others, 2),
        commit=commit(),
        date=datetime.now(UTC).date().isoformat(),
    )
    figures.keep(*name.split(":"), section)
    text = page.read_text(encoding="utf-8")
    page.write_text(put(text, name, figures.render(section)), encoding="utf-8")
