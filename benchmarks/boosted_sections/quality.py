"""Few features that are enough: a fresh model on the chosen features, evaluated on new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from adapters.lightgbm import LightGBM, features_of
from common.data import Split
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table
from sklearn.metrics import roc_auc_score

from secateur import AGBMClassifier, GBFSClassifier
from secateur.datasets import Generated, make_wide

MOST = 26
TRADEOFFS = (5.0, 20.0, 50.0, 100.0)
PENALTIES = (0.003, 0.01, 0.02, 0.05)
DEFAULT = "A-GBM, no arguments"

Chooser = Callable[[Split], Any]
"""From training rows to the indices of the chosen features."""


def run(options: Options) -> Section:
    section = Section("quality")
    problem, split = _problem(options)
    everything = np.arange(problem.X.shape[1])
    all_auc = evaluate(split, everything, options)
    rows: list[list[Any]] = [_row("all", problem, everything, all_auc, None, None)]
    for name, choose in choosers(options):
        say(name)
        start = perf_counter()
        chosen = np.asarray(choose(split))
        seconds = perf_counter() - start
        auc = evaluate(split, chosen, options)
        enough = len(chosen) <= MOST and auc >= all_auc
        rows.append(_row(name, problem, chosen, auc, seconds, enough))
        if name in {DEFAULT, "A-GBM, penalty 0.003"}:
            section.aim(f"{name}: features", len(chosen), MOST)
            section.aim(f"{name}: test AUC lost against all features", all_auc - auc, 0.0)
    header = ["", "features", "informative", "redundant", "noise", "test AUC", "s", "enough"]
    section.add(
        f"`make_wide`: {split.shape}, {len(problem.relevant)} informative and "
        f"{len(problem.redundant)} redundant features, the rest noise. Test AUC of a fresh "
        f"LightGBM on the chosen features, on {len(split.y_test):,} new rows; seconds of choosing "
        f"(one run); enough: at most {MOST} features and an AUC no lower than all give.",
        table(header, rows),
    )
    return section


def _problem(options: Options) -> tuple[Generated, Split]:
    problem = make_wide(4_000, 60, 6, 6) if options.quick else make_wide(30_000)
    half = len(problem.y) // 2
    y = problem.y.astype(np.float64)
    return problem, Split(problem.X[:half], y[:half], problem.X[half:], y[half:])


def evaluate(split: Split, chosen: Any, options: Options) -> float:
    """The test AUC of a model that knows the chosen features only."""
    if len(chosen) == 0:
        return 0.5
    model = LightGBM(20 if options.quick else 100, max_depth=-1, num_leaves=31)
    fitted = model.run(np.ascontiguousarray(split.X[:, chosen]), split.y)
    return float(roc_auc_score(split.y_test, fitted.decide(split.X_test[:, chosen])))


def choosers(options: Options) -> Iterator[tuple[str, Chooser]]:
    """Every way of choosing, by name."""
    for tradeoff in TRADEOFFS:
        yield f"LightGBM, coupled CEGB, tradeoff {tradeoff:g}", _cegb(tradeoff)
    for penalty in PENALTIES:
        yield f"A-GBM, penalty {penalty:g}", _selector(AGBMClassifier(penalty=penalty, **_TOLD))
    yield DEFAULT, _selector(AGBMClassifier(**_TOLD))
    yield "GBFS, no arguments", _selector(GBFSClassifier(**_TOLD))
    if options.full:
        yield "RFECV (LightGBM, step 0.2, 3 folds)", _rfecv


_TOLD: dict[str, Any] = {"random_state": 0, "n_jobs": N_THREADS}


def _selector(selector: Any) -> Chooser:
    return lambda split: np.flatnonzero(selector.fit(split.X, split.y).support_)


def _cegb(tradeoff: float) -> Chooser:
    def choose(split: Split) -> Any:
        model = LightGBM(100, tradeoff, max_depth=-1, num_leaves=31)
        return features_of(model.run(split.X, split.y).facts["model"])

    return choose


def _rfecv(split: Split) -> Any:
    import lightgbm as lgb
    from sklearn.feature_selection import RFECV

    model = lgb.LGBMClassifier(n_jobs=N_THREADS, verbosity=-1)
    found = RFECV(model, step=0.2, cv=3, scoring="roc_auc").fit(split.X, split.y)
    return np.flatnonzero(found.support_)


def _row(
    name: str,
    problem: Generated,
    chosen: Any,
    auc: float,
    seconds: float | None,
    enough: bool | None,
) -> list[Any]:
    informative = len(np.intersect1d(chosen, problem.relevant))
    redundant = len(np.intersect1d(chosen, problem.redundant))
    noise = len(chosen) - informative - redundant
    return [name, len(chosen), informative, redundant, noise, f"{auc:.4f}", seconds, enough]
