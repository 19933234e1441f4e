"""Which sets, folds and limits the experiments have; small ones to see that it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from common.data import whole
from common.kept import Kept
from common.options import Options
from sklearn.model_selection import StratifiedKFold

SETS = (
    "madelon", "Isolet", "BASEHOCK", "PCMAC", "ORL", "orlraws10P", "pixraw10P", "warpAR10P",
    "warpPIE10P", "TOX_171", "colon",
)  # fmt: skip
VARIANT_SETS = ("madelon", "warpPIE10P", "ORL")


@dataclass(frozen=True, slots=True)
class Plan:
    """``limit``: seconds after which FeatBoost is stopped, ``patience``: the same for others;
    others that took more than ``limit`` see the first fold alone. ``most``: features of a curve."""

    sets: tuple[str, ...]
    variant_sets: tuple[str, ...]
    n_folds: int
    most: int
    limit: float
    patience: float

    @property
    def sizes(self) -> list[int]:
        """Numbers of features at which validators evaluate."""
        return [size for size in (1, 2, 3, 5, 10, 15, 20) if size <= self.most]

    def describe(self) -> str:
        """Sets, folds and limits in a sentence."""
        return (
            f"{self.n_folds} stratified folds, one repeat, the selection inside the folds; up to "
            f"{self.most} features. FeatBoost is stopped after {self.limit:.0f} s and keeps what "
            f"it has; the others are given up after {self.patience:.0f} s, and where they took "
            f"more than {self.limit:.0f} s they saw the first fold alone. "
            "Seconds are to read along."
        )


def planned(options: Options) -> tuple[Plan, Kept]:
    """The full plan, or a small one; and the pieces of it that are done."""
    kept = Kept("featboost", quick=options.quick)
    if options.quick:
        return Plan(("warpAR10P", "colon"), ("warpPIE10P",), 2, 5, 8.0, 20.0), kept
    return Plan(SETS, VARIANT_SETS, 3, 20, 18.0, 75.0), kept


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One fold of one set."""

    name: str
    fold: int
    X: Any
    y: Any
    X_test: Any
    y_test: Any


def parts(name: str, n_folds: int) -> Iterator[Part]:
    """The folds of a set, classes as 0, 1, ...; nothing where the set is not there."""
    found = whole(name)
    if found is None:
        return
    X, y = found[0], np.unique(found[1], return_inverse=True)[1]
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    for fold, (train, test) in enumerate(folds):
        yield Part(name, fold, X[train], y[train], X[test], y[test])
