"""Rankers against LightGBM's LambdaRank: all features, few features, and training time.

./dev bench ranking                 everything, as tables on the console
./dev bench ranking --full          the large set too
./dev bench ranking --quick         small sizes, to see that it runs
./dev bench ranking --only few      one section: all, few or time
./dev bench ranking --write         put the tables into docs/benchmarks/ranking.md
"""

from __future__ import annotations

from collections.abc import Callable

from common import page
from common.command import benchmark
from common.options import Options
from common.table import Section
from ranking_sections import all_features, few_features, time

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "all": all_features.run,
    "few": few_features.run,
    "time": time.run,
}

if __name__ == "__main__":
    benchmark(
        "ranking",
        SECTIONS,
        "Rankers against LightGBM's LambdaRank.",
        page.PAGE.with_name("benchmarks") / "ranking.md",
    )
