"""All methods on many real data sets: test scores of fresh models on what they choose.

    ./dev bench leaderboard                 everything that is not done yet, as tables
    ./dev bench leaderboard --quick         two small sets and the quickest methods
    ./dev bench leaderboard --full          slow rivals as well: Boruta, CatBoost, SHAP-RFECV ...
    ./dev bench leaderboard --minutes 30    begin no trial after half an hour
    ./dev bench leaderboard --method A-GBM  this method only; may be repeated
    ./dev bench leaderboard --again A-GBM   make the trials of a method again
    ./dev bench leaderboard --write         put tables and pictures into docs/benchmarks

Three outer folds, selection inside of them. Each method has one core, and its CPU seconds are
counted. A method that fails, or takes more than five minutes for a choice, is shown as such and
has the last rank. Trials are kept in
docs/benchmarks/results/leaderboard, with the commit, the date and the load of the machine; a run
goes on where the last one ended.
"""

from __future__ import annotations

from common import page
from common.command import Sections, benchmark
from leaderboard_sections import ranks

SECTIONS: Sections = {"own": ranks.own, "sizes": ranks.sizes}


if __name__ == "__main__":
    benchmark(
        "leaderboard",
        SECTIONS,
        "Compare all methods on many real data sets.",
        page.DOCS / "benchmarks" / "leaderboard.md",
    )
