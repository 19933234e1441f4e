"""Benchmark single boosted fits on small, wide, many-class and sparse tables against LightGBM.

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
from speed_sections import first, fits

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "small": fits.section("small", fits.SMALL),
    "wide": fits.section("wide", fits.WIDE),
    "classes": fits.section("classes", fits.CLASSES),
    "sparse": fits.section("sparse", fits.SPARSE),
    "first": first.run,
}

if __name__ == "__main__":
    benchmark(
        "speed",
        SECTIONS,
        "Benchmark single boosted fits against LightGBM.",
        DOCS / "benchmarks" / "speed.md",
    )
