"""Benchmark the most common calls: no arguments, and a wanted number of features.

    ./dev bench answer                 everything, as tables on the console
    ./dev bench answer --quick         small sizes, to see that it runs
    ./dev bench answer --only sizes    one section; may be given several times
    ./dev bench answer --write         put the tables into docs/benchmarks/answer.md

Subsets are compared by the test score of a fresh model, times as ratios within one run.
"""

from __future__ import annotations

from answer_sections import sizes, times, wide
from common import page
from common.command import Sections, benchmark

SECTIONS: Sections = {"sizes": sizes.run, "times": times.run, "wide": wide.run}


if __name__ == "__main__":
    benchmark(
        "answer",
        SECTIONS,
        "Benchmark fits without arguments and with a wanted number of features.",
        page.DOCS / "benchmarks" / "answer.md",
    )
