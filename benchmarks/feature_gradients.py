"""Benchmark Feature Gradients against plain numpy, and its subsets against those of filters.

    ./dev bench feature_gradients                 speed and memory, as tables on the console
    ./dev bench feature_gradients --quality       the paper's protocol
    ./dev bench feature_gradients --quick         small sizes, to see that it runs
    ./dev bench feature_gradients --only sparse   one section; may be given several times
    ./dev bench feature_gradients --write         put the tables into the page

All numbers that have a target are ratios within one run, or do not depend on the machine's speed.
"""

from __future__ import annotations

from collections.abc import Callable

from common.command import benchmark
from common.options import Options
from common.page import DOCS
from common.table import Section
from feature_gradients_sections import (
    defaults,
    epoch,
    penalty_effect,
    quality,
    scaling,
    sparse,
    words,
)

SPEED: dict[str, Callable[[Options], Section]] = {
    "epoch": epoch.run,
    "scaling": scaling.run,
    "sparse": sparse.run,
}
QUALITY = {
    "quality": quality.run,
    "defaults": defaults.run,
    "penalty_effect": penalty_effect.run,
    "words": words.run,
}

if __name__ == "__main__":
    benchmark(
        "feature_gradients",
        SPEED,
        "Benchmark Feature Gradients against plain numpy and against filters.",
        DOCS / "benchmarks" / "feature_gradients.md",
        QUALITY,
    )
