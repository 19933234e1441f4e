"""Selections of the chapter's methods, at its own settings, fold by fold; each is kept on disk."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from statistics import multimode
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import whole
from common.kept import Kept, pieces_of
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from secateur.model_selection.relief import relief_of_classes

MOST = 100
"""p', and the largest size that is evaluated."""

SETS = {
    "colon": "Colon", "PCMAC": "PCMAC", "warpPIE10P": "WarpPIE10P", "warpAR10P": "WarpAR10P",
    "madelon": "Madelon", "RELATHE": "Relathe", "BASEHOCK": "Basehock", "TOX_171": "TOX",
    "ORL": "ORL", "orlraws10P": "Orlraws10P", "pixraw10P": "Pixraw10P", "Isolet": "Isolet",
    "COIL20": "Coil20",
}  # fmt: skip
"""Names here and in the chapter, those with cheap fits first."""

Order = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """``n_pieces``: how many of all folds are run; ``limit``: CPU seconds of one selection."""

    sets: tuple[str, ...]
    n_repeats: int = 3
    n_folds: int = 10
    n_pieces: int = 30
    limit: float = 25.0
    n_rounds: int = 100
    most: int = MOST

    def describe(self) -> str:
        return (
            f"{self.n_repeats} x {self.n_folds} folds planned, "
            f"at most {self.limit:.0f} CPU seconds for one selection"
        )


def planned(*, quick: bool) -> tuple[Plan, Kept]:
    """The plan, and the selections that are done."""
    if quick:
        small = Plan(("colon",), 1, 2, 2, 2.0, 5, 3)
        return small, pieces_of("featboost-runs", quick=True, minutes=0)
    return Plan(tuple(SETS)), pieces_of("featboost-runs", quick=False, minutes=0)


def first_fold(plan: Plan) -> Plan:
    """The same for one fold alone."""
    return replace(plan, n_pieces=1)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The rows of one fold."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def part_of(name: str, repeat: int, fold: int, n_folds: int) -> Part:
    """One fold of a set, classes as 0, 1, ..."""
    found = whole(name)
    assert found is not None, name
    X, y = found[0], np.unique(found[1], return_inverse=True)[1]
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        train, test = list(folds.split(np.zeros(len(y)), y))[fold]
    return Part(X[train], y[train], X[test], y[test])


# ---- methods, as section 4.4.1 has them -------------------------------------------------------


class Clock:
    """CPU seconds of this process after which no new fit of XGBoost begins."""

    end = float("inf")


@cache
def limited() -> Any:
    """XGBClassifier that raises KeyboardInterrupt where the time is over before a fit."""
    from xgboost import XGBClassifier

    class Limited(XGBClassifier):  # type: ignore[misc]  # untyped base
        def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Any:
            if time.process_time() > Clock.end:
                Clock.end = float("inf")  # the last fit, of what was accepted, may begin
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight=sample_weight)

    return Limited


def xgboost(n_rounds: int) -> Any:
    """100 trees of depth 20, otherwise XGBoost's defaults."""
    return limited()(n_estimators=n_rounds, max_depth=20, n_jobs=1, random_state=0)


def thresholded(X: Any, y: Any, plan: Plan) -> Order:
    importance = xgboost(plan.n_rounds).fit(X, y).feature_importances_
    chosen = np.flatnonzero(importance >= importance.mean())
    return {"order": _best_first(chosen, importance[chosen])}


def relieff(X: Any, y: Any, plan: Plan) -> Order:  # noqa: ARG001  # as the others
    """Ten neighbours; columns of at most ten values are compared as in Skrebate: equal or not."""
    X = _dense(X)
    few = np.array([len(np.unique(column)) <= 10 for column in X.T])
    score = relief_of_classes(X, y, few, np.arange(len(y)))
    chosen = np.flatnonzero(score >= score.mean())
    return {"order": _best_first(chosen, score[chosen])}


def boruta(X: Any, y: Any, plan: Plan) -> Order:
    from boruta import BorutaPy

    model = xgboost(plan.n_rounds)
    found = BorutaPy(model, n_estimators=plan.n_rounds, random_state=0).fit(_dense(X), y)
    chosen = np.flatnonzero(found.support_)
    if len(chosen) == 0:
        return {"order": []}
    importance = xgboost(plan.n_rounds).fit(_dense(X)[:, chosen], y).feature_importances_
    return {"order": _best_first(chosen, importance)}


@cache
def as_published() -> Any:
    """FeatBoost without the comparison with a constant that the library adds at the end."""
    from secateur import FeatBoostClassifier

    class AsPublished(FeatBoostClassifier):
        def _engine(self, *given: Any) -> Any:
            return [replace(search, finish=lambda path: path) for search in super()._engine(*given)]

    return AsPublished


def featboost(*, by_trees: bool = False, **params: Any) -> Callable[[Any, Any, Plan], Order]:
    """FeatBoost by the chapter's parameters; one that is stopped keeps what it has accepted."""

    def run(X: Any, y: Any, plan: Plan) -> Order:
        model = xgboost(plan.n_rounds)
        selector = as_published()(
            ranker=model,
            evaluator=model if by_trees else "nearest",
            standardize=False,
            max_features=plan.most,
            epsilon=1e-18,
            random_state=0,
            on_interrupt="keep",
            n_jobs=1,
            **params,
        ).fit(X, y)
        steps = [step for step in selector.path_ if len(step.support)]
        return {
            "order": steps[-1].order.tolist() if steps else [],
            "inner": [round(step.score.mean, 5) for step in steps],
            "ranks": [step.details.get("rank") for step in steps],
            "after_reset": [bool(step.details.get("after_reset")) for step in steps],
            "stopped": str(selector.stop_reason_) == "interrupted",
        }

    return run


METHODS = {
    "XGB-FS": thresholded,
    "FeatBoost (KNN)": featboost(),
    "ReliefF": relieff,
    "FeatBoost (XGB)": featboost(by_trees=True),
    "Boruta": boruta,
}
VARIANTS = {
    "AdaBoost weights": featboost(weighting="adaboost"),
    "no weights": featboost(weighting=None),
    "m = 50": featboost(reset=False),
    "m = 1": featboost(reset=False, n_candidates=1),
}
VALIDATORS = {"1-NN": lambda: KNeighborsClassifier(1), "naive Bayes": GaussianNB}


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def _best_first(chosen: Any, worth: Any) -> list[int]:
    found: list[int] = chosen[np.argsort(-worth, kind="stable")].tolist()
    return found


# ---- running them -----------------------------------------------------------------------------


def select(part: Part, method: str, plan: Plan) -> Order:
    """The order of a method on one fold, its CPU seconds, and 1-NN and naive Bayes on it."""
    start, found = time.process_time(), {"order": [], "stopped": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Clock.end = start + plan.limit
        try:
            found = {"stopped": False, **(METHODS | VARIANTS)[method](part.X, part.y, plan)}
        except KeyboardInterrupt:
            pass
        finally:
            Clock.end = float("inf")
        found["seconds"] = round(time.process_time() - start, 2)
        found["n_selected"] = len(found["order"])
        found["order"] = found["order"][: plan.most]
        for name, make in VALIDATORS.items():
            found[name] = accuracies(make, part, found["order"], range(1, len(found["order"]) + 1))
    return found


def accuracies(make: Callable[[], Any], part: Part, order: list[int], sizes: Any) -> list[float]:
    """Test accuracy of a model on the first features of an order."""
    train, test = _dense(part.X[:, order]), _dense(part.X_test[:, order])
    fitted = ((size, make().fit(train[:, :size], part.y)) for size in sizes)
    return [
        round(float((model.predict(test[:, :size]) == part.y_test).mean()), 4)
        for size, model in fitted
    ]


def run_all(
    plan: Plan,
    kept: Kept,
    methods: tuple[str, ...],
    is_time: Callable[[str], bool],
    sets: tuple[str, ...],
) -> dict[str, Any]:
    """Selections by set and method, fold after fold, while there is time (``is_time``).

    What gave nothing within the limit on the first fold is not tried on the others.
    """
    found: dict[str, Any] = {name: {m: [] for m in methods} for name in sets}
    pieces = [(r, f) for r in range(plan.n_repeats) for f in range(plan.n_folds)]
    pieces = pieces[: plan.n_pieces]
    for repeat, fold in pieces:
        for name, by_method in found.items():
            for method, done in by_method.items():
                hopeless = done and done[0]["stopped"] and not done[0]["order"]
                key = f"{name}-{method.replace(' ', '_')}-{repeat}-{fold}"
                if hopeless or not (kept.has(key) or is_time(key)):
                    continue
                done.append(
                    kept.get(
                        key,
                        lambda n=name, m=method, r=repeat, f=fold: select(
                            part_of(n, r, f, plan.n_folds), m, plan
                        ),
                    )
                )
    return found


def at_the_mode(done: list[Order]) -> tuple[int, list[Order]]:
    """The mode of the sizes (the smallest of several), and the subsets that reach it."""
    sizes = [len(each["order"]) for each in done if each["order"]]
    if not sizes:
        return 0, []
    mode = min(multimode(sizes))
    return mode, [each for each in done if len(each["order"]) >= mode]


def summary(done: list[Order]) -> dict[str, Any]:
    """What the figures show of the selections of one method on one set."""
    mode, some = at_the_mode(done)
    names = [name for name in VALIDATORS if some]
    return {
        "n_runs": len(done),
        "n_stopped": sum(each["stopped"] for each in done),
        "n_evaluated": len(some),
        "mode": mode,
        "seconds": round(float(np.mean([each["seconds"] for each in done])), 2) if done else None,
        "curves": {
            name: np.mean([each[name][:mode] for each in some], axis=0).round(4).tolist()
            for name in names
        },
        "se": {
            name: float(np.std([each[name][mode - 1] for each in some], ddof=1) / len(some) ** 0.5)
            for name in names
            if len(some) > 1
        },
    }
