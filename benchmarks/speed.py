"""Benchmark single boosted fits against LightGBM, other engines, and the command, by their speed.

./dev bench speed                 everything, as tables on the console
./dev bench speed --quick         few rounds, to see that it runs
./dev bench speed --only wide     one section; may be given several times
./dev bench speed --write         put the tables into docs/benchmarks/speed.md
"""

from __future__ import annotations

from collections.abc import Callable

from common.command import benchmark
from common.options import Options
from common.page import DOCS
from common.table import Section
from grafting_sections import paths
from grafting_sections import speed as solvers
from scale_sections import cluster
from speed_sections import command, engines, first, fits

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "small": fits.section("small", fits.SMALL),
    "wide": fits.section("wide", fits.WIDE),
    "classes": fits.section("classes", fits.CLASSES),
    "sparse": fits.section("sparse", fits.SPARSE),
    "first": first.run,
    "command": command.run,
    "solvers": solvers.run,
    "paths": paths.run,
    "networks": engines.networks,
    "forward": engines.forward,
    "epoch": engines.epoch,
    "dask": cluster.run,
}

if __name__ == "__main__":
    benchmark(
        "speed",
        SECTIONS,
        "Benchmark single fits, whole searches of other engines, and the command.",
        DOCS / "benchmarks" / "speed.md",
    )
