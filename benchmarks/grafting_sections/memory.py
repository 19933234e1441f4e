"""A sparse table of 100,000 x 1,000,000: what a fit needs beyond it."""

from __future__ import annotations

from common.measure import N_THREADS, say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table

LIMIT_GIB = 1.0
CASES = {"one penalty, l1=0.005": "0.005", "all defaults: a path, one part held out": "auto"}


def run(options: Options) -> Section:
    section = Section("memory", is_timed=False)
    n_rows, n_features = (10_000, 50_000) if options.quick else (100_000, 1_000_000)
    rows = []
    for name, l1 in CASES.items():
        say(name)
        found = spawn("grafting_memory", n_rows, n_features, l1)
        beyond = found["beyond"] / 2**30
        rows.append(
            [name, found["input"] / 2**20, 1024 * beyond, found["steps"], found["selected"],
             found["seconds"]]
        )  # fmt: skip
        section.aim(f"{name}: GiB beyond the input", beyond, LIMIT_GIB)
    section.add(
        f"A CSR matrix of {n_rows:,} x {n_features:,} with about 100 stored cells in a row; "
        f"standardised, with an intercept, {N_THREADS} threads, in a fresh process after a fit on "
        "a small table. Seconds are to read along.",
        table(["", "input MiB", "MiB beyond", "steps", "features selected", "s"], rows),
    )
    return section
