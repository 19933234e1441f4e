"""A-GBM and LightGBM on one table: tuned to as many features, then timed in turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adapters.lightgbm import LightGBM
from adapters.secateur_boosted import AGBM, binned
from common.data import Split
from common.measure import TOTAL, Run, Times, say
from common.table import Section, table
from common.tuning import search_level
from sklearn.metrics import roc_auc_score

MOST_FEATURES = 40
"""The penalty is set so that A-GBM keeps at most so many."""

PENALTIES = (1e-6, 0.3)
TRADEOFFS = (1e-4, 1e5)

OURS = "A-GBM"
THEIRS = "LightGBM"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two with their parameters; ``estimator`` variants are the same through fit(X, y)."""

    ours: AGBM
    theirs: LightGBM


def plain(split: Split, n_rounds: int) -> Pair:
    """No penalty for features on either side; LightGBM in the layout that suits it best."""
    say("finding the best layout for LightGBM")
    theirs = LightGBM(n_rounds).fastest_layout(split.X, split.y)
    AGBM(2).run(split.X, split.y)  # compile
    return Pair(AGBM(n_rounds), theirs)


def priced(split: Split, free: Pair, most: int = MOST_FEATURES) -> Pair:
    """Prices that leave A-GBM at most so many features, and LightGBM as many as A-GBM."""
    say(f"finding the penalty of A-GBM that keeps at most {most} features")
    with binned(split.X, split.y) as data:
        penalty = search_level(
            lambda level: replace(free.ours, penalty=level).count(data, most),
            most,
            *PENALTIES,
            at_most=True,
        )
        ours = replace(free.ours, penalty=penalty)
        n_features = ours.count(data, most)
    say(f"A-GBM keeps {n_features} at {penalty:.3g}; finding the tradeoff of LightGBM for as many")
    tradeoff = search_level(
        lambda level: replace(free.theirs, tradeoff=level).run(split.X, split.y).n_features,
        n_features,
        *TRADEOFFS,
        at_most=False,
    )
    return Pair(ours, replace(free.theirs, tradeoff=tradeoff))


def auc(run: Run, split: Split) -> float:
    return float(roc_auc_score(split.y_test, run.decide(split.X_test)))


def methods_table(found: Mapping[str, Times], split: Split) -> str:
    """Who kept what, how good it is on rows not seen, and the seconds of each stage."""
    header = ["", "features", "test AUC", "binning s", "training s", "all s", "all s, median"]
    rows = []
    for name, times in found.items():
        stages = times.runs[0]
        rows.append(
            [
                name,
                times.last.n_features,
                f"{auc(times.last, split):.4f}",
                times.best("binning") if "binning" in stages else None,
                times.best("training") if "training" in stages else None,
                times.best(TOTAL),
                times.median(TOTAL),
            ]
        )
    return table(header, rows)


def ratio(found: Mapping[str, Times], ours: str, theirs: str, stage: str = TOTAL) -> float:
    """Best against best."""
    return found[ours].best(stage) / found[theirs].best(stage)


def ratios_table(found: Mapping[str, Times], compared: list[tuple[str, str, str, str]]) -> str:
    """Rows of (what, ours, theirs, stage) as ratios of the best and of the median."""
    rows = [
        [
            what,
            found[ours].best(stage) / found[theirs].best(stage),
            found[ours].median(stage) / found[theirs].median(stage),
        ]
        for what, ours, theirs, stage in compared
    ]
    return table([f"{OURS} / {THEIRS}", "best", "median"], rows)


def aim(section: Section, found: Mapping[str, Times], what: str, **limits: float) -> None:
    """Hold the ratio of each stage against its limit."""
    words = {"training": "training", TOTAL: "binning and training"}
    for stage, limit in limits.items():
        value = ratio(found, OURS, THEIRS, stage)
        section.aim(f"{what}: {words[stage]}, ratio", value, limit)
