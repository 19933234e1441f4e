"""Few rows and very many columns: accuracy of fresh models on what was chosen inside of folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common.data import missing, whole
from common.kept import Kept
from common.measure import N_THREADS
from common.options import Options
from common.table import Section, table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from answer_sections import rivals
from secateur import AGBMClassifier, FeatureGradientsSelector, GraftingClassifier

SETS = ("colon", "leukemia", "lymphoma", "GLIOMA", "TOX_171", "arcene", "warpAR10P")
POINT = 0.01
OURS = ("A-GBM", "Grafting", "Feature Gradients")


def choosers() -> dict[str, Callable[[Any, Any], Any]]:
    """Every way of choosing, from rows to features."""
    params = {"random_state": 0, "n_jobs": N_THREADS}
    return {
        "A-GBM": lambda X, y: _support(AGBMClassifier(**params), X, y),
        "Grafting": lambda X, y: _support(GraftingClassifier(n_jobs=N_THREADS), X, y),
        "Feature Gradients": lambda X, y: _support(FeatureGradientsSelector(**params), X, y),
        "CEGB, tuned": rivals.tuned_cegb,
        **{
            f"{name} {size}": _top(name, size)
            for name in ("top by ANOVA F", "top by mutual information")
            for size in (20, 50)
        },
        "all": lambda X, _: np.arange(X.shape[1]),
    }


def _support(selector: Any, X: Any, y: Any) -> Any:
    return np.flatnonzero(selector.fit(X, y).get_support())


def _top(name: str, size: int) -> Callable[[Any, Any], Any]:
    return lambda X, y: rivals.top(rivals.rankings(X, y)[name], size)


def run(options: Options) -> Section:
    section, kept = Section("wide", is_timed=False), Kept("answer", quick=options.quick)
    rows, scores = [], {}
    names = SETS[:2] if options.quick else SETS
    for name, choose in choosers().items():
        found = []
        for each in names:
            data = whole(each)
            if data is None:
                section.skip(missing(each))
                return section
            found.append(kept.get(f"wide-{each}-{name}", lambda: _score(choose, *data)))  # noqa: B023
        mean = {key: float(np.mean([f[key] for f in found])) for key in found[0]}
        scores[name] = mean
        cells = [f"{f['features']:.0f}: {f['trees']:.3f} {f['linear']:.3f}" for f in found]
        rows.append([name, *cells, mean["features"], mean["trees"], mean["linear"]])
    ours = scores["A-GBM"]
    others = {
        n: s for n, s in scores.items() if n not in {"A-GBM", "Grafting", "Feature Gradients"}
    }
    for judge in ("trees", "linear"):
        best = max(others, key=lambda name: others[name][judge])
        section.aim(f"{judge}: accuracy below {best}", others[best][judge] - ours[judge], POINT)
        section.aim(f"features / those of {best}", ours["features"] / others[best]["features"], 0.5)
    section.add(
        "Features: accuracy of LightGBM, of logistic regression, means of three stratified folds.",
        table(["", *names, "features", "trees", "linear"], rows),
    )
    return section


def _score(choose: Callable[[Any, Any], Any], X: Any, labels: Any) -> dict[str, float]:
    y = np.unique(labels, return_inverse=True)[1]
    sizes, trees, linear = [], [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        known, codes = np.unique(y[train], return_inverse=True)
        chosen = choose(X[train], codes)
        sizes.append(len(chosen))
        trees.append(_accuracy_of_trees(X[:, chosen], y, train, test, known))
        linear.append(_accuracy_of_linear(X[:, chosen], y, train, test))
    return {
        "features": float(np.mean(sizes)),
        "trees": float(np.mean(trees)),
        "linear": float(np.mean(linear)),
    }


def _accuracy_of_trees(X: Any, y: Any, train: Any, test: Any, known: Any) -> float:
    if X.shape[1] == 0:
        return float(np.mean(y[test] == np.bincount(y[train]).argmax()))
    codes = np.searchsorted(known, y[train])
    model = rivals.train(X[train], codes, max_depth=-1, num_leaves=31)
    predicted = np.asarray(model.predict(X[test]))
    best = predicted.argmax(axis=1) if predicted.ndim == 2 else (predicted > 0.5).astype(int)
    return float(np.mean(known[best] == y[test]))


def _accuracy_of_linear(X: Any, y: Any, train: Any, test: Any) -> float:
    if X.shape[1] == 0:
        return float(np.mean(y[test] == np.bincount(y[train]).argmax()))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))
    return float(model.fit(X[train], y[train]).score(X[test], y[test]))
