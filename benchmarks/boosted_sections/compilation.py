"""The time of compiling: import, the first fit on a fresh machine, the next process."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from common.measure import say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table

IMPORT_LIMIT = 0.3
FIRST_FIT_LIMIT = 30.0


def run(options: Options) -> Section:
    section = Section("compilation")
    _imports(section, options)
    rows = []
    for job, name in (("one", "one fit"), ("many", "nine fits, all losses, dense and sparse")):
        if options.quick and job == "many":
            continue
        first, second = _fits(job)
        rows.append(
            [name, first["wall"], second["wall"], int(first["files"]), int(second["files"])]
        )
        if job == "one":
            section.aim("first fit, empty cache, whole process, s", first["wall"], FIRST_FIT_LIMIT)
        section.aim(f"{name}: compiled again by the second process", second["files"], 0.0)
    section.add(
        "**A fresh process**, from its start to its end: import, fit and predict on 2,000 x 50, "
        "first with an empty cache, then once more with what the first left there.",
        table(
            ["", "first, s", "second, s", "kernels compiled by the first", "by the second"], rows
        ),
    )
    return section


def _imports(section: Section, options: Options) -> None:
    say("import")
    found = [spawn("import_time") for _ in range(2 if options.quick else 7)]
    loaded = found[0]["loaded"]
    package = statistics.median(run["package"] for run in found)
    selector = statistics.median(run["selector"] for run in found)
    what = ", ".join(loaded) if loaded else "none of numpy, scipy, scikit-learn and numba"
    section.add(
        f"**Import**, median of {len(found)} fresh processes: `import secateur` {package:.3f} s, "
        f"loading {what}; with a first look at a selector {selector:.2f} s."
    )
    section.aim("import secateur, s", package, IMPORT_LIMIT)
    section.aim("import secateur: numba loaded (1) or not (0)", float("numba" in loaded), 0.0)


def _fits(job: str) -> tuple[dict[str, float], dict[str, float]]:
    """The same job in two processes that share one new cache."""
    results = []
    with tempfile.TemporaryDirectory() as cache:
        n_before = 0
        for turn in ("first", "second"):
            say(f"{turn} process, {job}")
            found = spawn("first_fit", job, NUMBA_CACHE_DIR=cache)
            n_files = len(list(Path(cache).rglob("*.nbc")))
            results.append({"wall": float(found["wall"]), "files": float(n_files - n_before)})
            n_before = n_files
    return results[0], results[1]
