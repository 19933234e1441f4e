"""Few rows and very many columns: accuracy of fresh models on what was chosen inside of folds.

The defaults of A-GBM were chosen on other tables than these: see docs/design/boosted_trees.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common.data import missing, whole
from common.kept import Kept, pieces_of_rivals
from common.measure import N_THREADS
from common.options import Options
from common.table import Section, table
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from answer_sections import rivals
from secateur import AGBMClassifier, FeatureGradientsSelector, GraftingClassifier
from secateur.model_selection.baselines import Baseline

SETS = ("colon", "leukemia", "lymphoma", "GLIOMA", "TOX_171", "arcene", "warpAR10P")
POINT = 0.01
OURS = ("A-GBM", "Grafting", "Feature Gradients")
JUDGES = ("trees", "linear", "1-NN")


def choosers() -> dict[str, Callable[[Any, Any], Any]]:
    """Every way of choosing, from rows to features."""
    params = {"random_state": 0, "n_jobs": N_THREADS}
    return {
        "A-GBM": lambda X, y: _support(AGBMClassifier(**params), X, y),
        "Grafting": lambda X, y: _support(GraftingClassifier(n_jobs=N_THREADS), X, y),
        "Feature Gradients": lambda X, y: _support(FeatureGradientsSelector(**params), X, y),
        "CEGB, tuned": rivals.tuned_cegb,
        **{f"{name} {size}": _top(name, size) for name in RANKERS for size in (20, 50)},
        "L1, tuned": lambda X, y: _support(Baseline("l1", random_state=0), X, y),
        "all": lambda X, _: np.arange(X.shape[1]),
    }


def _support(selector: Any, X: Any, y: Any) -> Any:
    return np.flatnonzero(selector.fit(X, y).get_support())


def _top(name: str, size: int) -> Callable[[Any, Any], Any]:
    return lambda X, y: rivals.top(RANKERS[name](X, y), size)


def _forest(X: Any, y: Any) -> Any:
    forest = RandomForestClassifier(500, n_jobs=N_THREADS, random_state=0)
    return forest.fit(X, y).feature_importances_


RANKERS: dict[str, Callable[[Any, Any], Any]] = {
    "top by ANOVA F": lambda X, y: np.nan_to_num(f_classif(X, y)[0]),
    "top by mutual information": lambda X, y: mutual_info_classif(
        X, y, random_state=0, n_jobs=N_THREADS
    ),
    "top by random forest": _forest,
}


def run(options: Options) -> Section:
    section, quick = Section("wide", is_timed=False), options.quick
    of_ours, of_rivals = Kept("answer", quick=quick), pieces_of_rivals("wide", quick=quick)
    rows, scores = [], {}
    names = SETS[:2] if options.quick else SETS
    for name, choose in choosers().items():
        found, kept = [], of_ours if name in OURS else of_rivals
        for each in names:
            data = whole(each)
            if data is None:
                section.skip(missing(each))
                return section
            found.append(kept.get(f"{each}-{name}", lambda: _score(choose, *data)))  # noqa: B023
        mean = {key: float(np.mean([f[key] for f in found])) for key in found[0]}
        scores[name] = mean
        mean["mean"] = float(np.mean([mean[judge] for judge in JUDGES]))
        cells = [_cell(f) for f in found]
        rows.append([name, *cells, mean["features"], *(mean[key] for key in (*JUDGES, "mean"))])
    ours, others = scores["A-GBM"], {n: s for n, s in scores.items() if n not in OURS}
    for judge in ("mean", *JUDGES):
        best = max(others, key=lambda name: others[name][judge])
        section.aim(f"{judge}: accuracy below {best}", others[best][judge] - ours[judge], POINT)
        section.aim(f"features / those of {best}", ours["features"] / others[best]["features"], 0.5)
    section.add(
        "Features: accuracy of LightGBM, logistic regression, 1-NN, means of three stratified "
        "folds; the last columns are means over the sets, at the end over the models as well.",
        table(["", *names, "features", *JUDGES, "mean"], rows),
    )
    return section


def _cell(found: dict[str, float]) -> str:
    return f"{found['features']:.0f}: " + " ".join(f"{found[judge]:.3f}" for judge in JUDGES)


def _score(choose: Callable[[Any, Any], Any], X: Any, labels: Any) -> dict[str, float]:
    y = np.unique(labels, return_inverse=True)[1]
    sizes, accuracies = [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        known, codes = np.unique(y[train], return_inverse=True)
        chosen = choose(X[train], codes)
        sizes.append(len(chosen))
        trees = _accuracy_of_trees(X[:, chosen], y, train, test, known)
        others = [LogisticRegression(max_iter=2_000), KNeighborsClassifier(1)]
        of_others = [_accuracy(model, X[:, chosen], y, train, test) for model in others]
        accuracies.append([trees, *of_others])
    found = dict(zip(JUDGES, np.mean(accuracies, axis=0).tolist(), strict=True))
    return {"features": float(np.mean(sizes)), **found}


def _accuracy_of_trees(X: Any, y: Any, train: Any, test: Any, known: Any) -> float:
    if X.shape[1] == 0:
        return float(np.mean(y[test] == np.bincount(y[train]).argmax()))
    codes = np.searchsorted(known, y[train])
    model = rivals.train(X[train], codes, max_depth=-1, num_leaves=31)
    predicted = np.asarray(model.predict(X[test]))
    best = predicted.argmax(axis=1) if predicted.ndim == 2 else (predicted > 0.5).astype(int)
    return float(np.mean(known[best] == y[test]))


def _accuracy(model: Any, X: Any, y: Any, train: Any, test: Any) -> float:
    if X.shape[1] == 0:
        return float(np.mean(y[test] == np.bincount(y[train]).argmax()))
    model = make_pipeline(StandardScaler(), model)
    return float(model.fit(X[train], y[train]).score(X[test], y[test]))
