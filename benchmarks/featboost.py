"""FeatBoost beside other selectors: the paper's experiments, and times.

    ./dev bench featboost                 everything, at most an hour on two cores
    ./dev bench featboost --quick         small sizes, under five minutes
    ./dev bench featboost --only speed    one section; may be given several times
    ./dev bench featboost --write         put tables and pictures into docs/benchmarks/featboost.md
    ./dev bench featboost --fresh         forget the pieces that are done

Pieces that are done (a selector on a fold of a set) are kept in benchmarks/results, and an
interrupted run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable

from common.command import benchmark
from common.options import Options
from common.page import DOCS
from common.table import Section
from featboost_sections import curves, speed, variants

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "speed": speed.run,
    "variants": variants.run,
    "curves": curves.run,
}

if __name__ == "__main__":
    benchmark(
        "featboost",
        SECTIONS,
        "FeatBoost beside other selectors.",
        DOCS / "benchmarks" / "featboost.md",
    )
