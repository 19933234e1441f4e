"""The data sets of the leaderboard, and their outer folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from common import data
from sklearn.model_selection import KFold, StratifiedKFold

N_FOLDS = 3
NUMBERS = ("riboflavin", "communities_crime", "school", "appliances_energy")
CLASSES = (
    "lung_small", "colon", "leukemia", "spambase", "lymphoma", "GLIOMA", "arcene", "PCMAC",
    "madelon", "TOX_171", "warpAR10P", "chowdary", "adult", "RELATHE", "dexter", "BASEHOCK",
    "flight_delay_100k", "uspst", "mfeat", "warpPIE10P", "Yale", "text1_mac_mswindows",
    "adult_a9a", "USPS", "COIL20", "ORL", "Isolet", "kddcup99_10pct",
)  # fmt: skip
SETS = (*NUMBERS, *CLASSES)
"""In the order in which they are run: small ones of each kind first."""
QUICK = ("lung_small", "riboflavin")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Training and test rows of one fold; classes are codes from 0 on."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    is_classes: bool
    categories: list[int]


def load(name: str, fold: int) -> Part | None:
    """One outer fold of a set, or None where it is not there."""
    found = data.whole(name)
    if found is None:
        return None
    X, y = found
    is_classes = name in CLASSES
    if name == "kddcup99_10pct":  # attacks against normal connections
        y = data.array_of(name, "y_names", y)[y] != "normal"
    rows = np.arange(len(y))
    if is_classes:
        y = np.unique(y, return_inverse=True)[1]
        rows = np.flatnonzero(np.bincount(y)[y] >= N_FOLDS)  # the others are in no fold
        y = np.unique(y[rows], return_inverse=True)[1]
        X = X[rows]
    splitter = (StratifiedKFold if is_classes else KFold)(N_FOLDS, shuffle=True, random_state=0)
    train, test = list(splitter.split(np.zeros(len(y)), y))[fold]
    categories = np.flatnonzero(data.array_of(name, "categorical", np.zeros(X.shape[1], bool)))
    return Part(X[train], y[train], X[test], y[test], is_classes, categories.tolist())
