"""Rankers against LightGBM's LambdaRank: all features, few features, and training time.

./dev bench ranking                     everything, as tables on the console
./dev bench ranking --full              the large set too
./dev bench ranking --quick             small sizes, to see that it runs
./dev bench ranking --only few          one section
./dev bench ranking --write             put the tables into docs/benchmarks/ranking.md
./dev bench ranking --fresh             forget the subsets that were selected before
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from common import page
from common.command import benchmark
from common.options import Options
from common.table import Section
from ranking_sections import all_features, few_features, time
from ranking_sections.problems import large, small

SECTIONS: dict[str, Callable[[Options], Section]] = {
    name: partial(module.run, title=name, problems=problems)
    for problems, prefix in ((small, ""), (large, "large_"))
    for name, module in (
        (f"{prefix}all", all_features),
        (f"{prefix}few", few_features),
        (f"{prefix}time", time),
    )
}

if __name__ == "__main__":
    benchmark(
        "ranking",
        SECTIONS,
        "Rankers against LightGBM's LambdaRank.",
        page.PAGE.with_name("benchmarks") / "ranking.md",
    )
