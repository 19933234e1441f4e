"""Compare grafting with sparse linear solvers, and repeat the experiments of its paper.

    ./dev bench grafting                      everything, as tables on the console
    ./dev bench grafting --quick              small sizes, to see that it runs
    ./dev bench grafting --only speed         one section; may be given several times
    ./dev bench grafting --write              put the tables into docs/benchmarks/grafting.md

Times that have a target are ratios within one run.
"""

from __future__ import annotations

from collections.abc import Callable

from common.command import benchmark
from common.options import Options
from common.page import DOCS
from common.table import Section
from grafting_sections import experiments, memory, paths, speed

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "speed": speed.run,
    "paths": paths.run,
    "memory": memory.run,
    "experiments": experiments.run,
}

if __name__ == "__main__":
    benchmark(
        "grafting",
        SECTIONS,
        "Compare grafting with sparse linear solvers; repeat its paper's experiments.",
        DOCS / "benchmarks" / "grafting.md",
    )
