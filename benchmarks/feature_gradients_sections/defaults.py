"""Fits without arguments, evaluated in outer folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common.data import missing, whole
from common.gisette import gisette_like
from common.kept import Kept
from common.measure import say
from common.options import Options
from common.table import Section, table
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from feature_gradients_sections import protocol
from secateur import FeatureGradientsSelector
from secateur.selectors.feature_gradients_input import ROWS_PER_FEATURE

N_FOLDS = 5
SEED = 7
NOW, BEFORE = "no arguments", 'cut="one_se"'
WAYS: dict[str, dict[str, Any]] = {NOW: {}, BEFORE: {"cut": "one_se"}}
"""The second is what the default was before it looked at the number of rows."""
DRAW = 203
TUNED_ON = ("riboflavin", "colon_continuous", "leukemia")
"""Sets by which the default was chosen; none but the first is shown."""


class Problem(NamedTuple):
    X: Any
    y: Any
    is_number: bool = False


def run(options: Options) -> Section:
    section = Section("defaults", is_timed=False)
    kept = Kept("feature_gradients", quick=options.quick)
    rows = []
    for name, make in PROBLEMS.items():
        problem = make()
        if problem is None:
            section.skip(missing(name))
            continue
        found = kept.get(_file(name), lambda problem=problem: _outer(problem))
        rows.append(_row(name, problem, found))
        if options.quick:
            break
    section.add(
        f"Logistic regression (AUC; of several classes the accuracy) or ridge regression (R^2) on "
        f"the selected columns, {N_FOLDS} outer folds; features are the median over folds (and the "
        "fewest), the difference has its standard error over folds.",
        table(["", "rows x columns", *_header(), "difference"], rows),
    )
    return section


def _header() -> list[str]:
    return [f"{what}, {way}" for way in WAYS for what in ("features", "score")]


def _row(name: str, problem: Problem, found: dict[str, dict[str, Any]]) -> list[Any]:
    new, old = (np.array(found[way]["scores"]) for way in WAYS)
    gap = new - old
    result: list[Any] = []
    for way in WAYS:
        sizes, scores = found[way]["sizes"], found[way]["scores"]
        result += [f"{np.median(sizes):.0f} ({min(sizes)})", float(np.mean(scores))]
    n_rows, n_features = problem.X.shape
    error = gap.std(ddof=1) / len(gap) ** 0.5
    return [name, f"{n_rows:,} x {n_features:,}", *result, f"{gap.mean():+.3f} ± {error:.3f}"]


def _file(name: str) -> str:
    return "defaults-" + name.replace(" ", "_").replace(",", "")


def _outer(problem: Problem) -> dict[str, Any]:
    """Sizes and scores of the outer folds: test rows took no part in the selection."""
    splitter = KFold if problem.is_number else StratifiedKFold
    found: dict[str, Any] = {way: {"sizes": [], "scores": []} for way in WAYS}
    folds = splitter(N_FOLDS, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        for train, test in folds.split(np.zeros(len(problem.y)), problem.y):
            for way, support in _supports(problem.X[train], problem.y[train]).items():
                found[way]["sizes"].append(len(support))
                found[way]["scores"].append(_score(problem, support, train, test))
                say(f"{way}: {len(support)} features, {found[way]['scores'][-1]:.3f}")
    return found


def _supports(X: Any, y: Any) -> dict[str, Any]:
    """What each way selects; a path that stays below the limit is the same for both."""
    old = FeatureGradientsSelector(**WAYS[BEFORE], random_state=0, n_jobs=1).fit(X, y)
    new = old
    if old.path_.n_features.max() > len(y) // ROWS_PER_FEATURE:  # or more, of several classes
        new = FeatureGradientsSelector(**WAYS[NOW], random_state=0, n_jobs=1).fit(X, y)
    return {NOW: np.flatnonzero(new.support_), BEFORE: np.flatnonzero(old.support_)}


def _score(problem: Problem, support: Any, train: Any, test: Any) -> float:
    y, y_test = problem.y[train], problem.y[test]
    if not len(support):
        return 0.0 if problem.is_number else 1.0 / len(np.unique(y))
    X, X_test = problem.X[train][:, support], problem.X[test][:, support]
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    if problem.is_number:
        model: Any = make_pipeline(scaler, RidgeCV(np.logspace(-2, 4, 13)))
        return float(model.fit(X, y).score(X_test, y_test))
    model = make_pipeline(scaler, LogisticRegression(max_iter=300)).fit(X, y)
    if len(model.classes_) > 2:
        return float(model.score(X_test, y_test))
    return float(protocol.roc_auc_score(y_test, model.decision_function(X_test)))


def _real(name: str, *, is_number: bool = False) -> Callable[[], Problem | None]:
    def make() -> Problem | None:
        found = whole(name)
        return None if found is None else Problem(*found, is_number)

    return make


def _gene(name: str) -> Callable[[], Problem | None]:
    """The column that varies most, which differs from the others."""

    def make() -> Problem | None:
        found = whole(name)
        if found is None:
            return None
        X = found[0]
        target = int(X.std(axis=0).argmax())
        return Problem(np.delete(X, target, axis=1), X[:, target], is_number=True)

    return make


def _some(n_rows: int, name: str) -> Callable[[], Problem | None]:
    """A few rows of a longer table of numbers, and the columns that lack none."""

    def make() -> Problem | None:
        found = whole(name)
        if found is None:
            return None
        rows = np.random.default_rng(SEED).permutation(len(found[1]))[:n_rows]
        X = found[0][:, ~np.isnan(found[0]).any(axis=0)]
        return Problem(X[rows], found[1][rows], is_number=True)

    return make


def _digits() -> Problem | None:
    data = protocol.mnist35(DRAW)
    return None if data is None else Problem(data.X_test, data.y_test)


def _gisette() -> Problem | None:
    parts = gisette_like(Options())
    return None if parts is None else Problem(parts.X_valid, parts.y_valid)


PROBLEMS: dict[str, Callable[[], Problem | None]] = {
    "riboflavin (tuned on)": _real("riboflavin", is_number=True),
    "GLIOMA, one gene": _gene("GLIOMA"),
    "communities_crime, 80 rows": _some(80, "communities_crime"),
    "lung_small": _real("lung_small"),
    "warpAR10P": _real("warpAR10P"),
    "chowdary": _real("chowdary"),
    "arcene": _real("arcene"),
    "dexter": _real("dexter"),
    "madelon": _real("madelon"),
    "BASEHOCK": _real("BASEHOCK"),
    "mnist35, 1,902 rows": _digits,
    "like Gisette, 2,000 rows": _gisette,
}
