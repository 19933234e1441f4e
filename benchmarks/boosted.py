"""Benchmark boosted trees that pay for their features against LightGBM and HistGradientBoosting.

    ./dev bench boosted                 everything, as tables on the console
    ./dev bench boosted --quick         small sizes, to see that it runs
    ./dev bench boosted --only dense    one section; may be given several times
    ./dev bench boosted --write         put the tables into docs/benchmarks.md

All numbers that have a target are ratios within one run, or do not depend on the machine's speed.
"""

from __future__ import annotations

from collections.abc import Callable

from boosted_sections import compilation, dense, lazy, memory, quality, scaling, sparse
from common.command import benchmark
from common.options import Options
from common.table import Section

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "dense": dense.run,
    "sparse": sparse.run,
    "scaling": scaling.run,
    "memory": memory.run,
    "lazy": lazy.run,
    "compilation": compilation.run,
    "quality": quality.run,
}


if __name__ == "__main__":
    benchmark("boosted", SECTIONS, "Benchmark boosted trees that pay for their features.")
