"""Small paths, evidence and comparisons to make pages of."""

from __future__ import annotations

import math

import numpy as np

from secateur.model_selection.comparison import Comparison, Subset, Trial
from secateur.path import Score, SelectionPath, Step, StopReason
from secateur.report import gather_evidence

HOSTILE = '<script>alert("x")</script> & <b>bold</b>'


def score(loss, standard_error=0.01, origin="held_out"):
    return None if loss is None else Score(loss, standard_error, (), origin, "log_loss")


def make_path(losses=(0.5, 0.4, 0.35, 0.345), *, names=None, costs=None, unit="", **changes):
    """Step k uses features 0..k, entered from the last to the first; feature j weighs j + 1."""
    n_features = len(losses) + 2
    costs = [math.nan] * len(losses) if costs is None else costs
    steps = [
        Step.of(
            list(range(size, -1, -1)),
            np.arange(1.0, n_features + 1),
            penalty=1.0 / (size + 1),
            cost=cost,
            score=score(loss),
        )
        for size, (loss, cost) in enumerate(zip(losses, costs, strict=True))
    ]
    names = [f"f{feature}" for feature in range(n_features)] if names is None else names
    options = {"cost_unit": unit, "parameters": {"max_depth": 4, "loss": "auto"}, **changes}
    return SelectionPath(steps, StopReason.FINISHED, names, "DemoSelector", **options)


def make_table(path, n_rows=200, seed=0):
    """Columns of noise; the last is a copy of the first with a little noise; two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, path.n_features_in))
    y = (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)
    X[:, -1] = X[:, 0] + 0.1 * rng.normal(size=n_rows)
    return X, np.array(["no", "yes"])[y]


def make_evidence(path, **changes):
    X, y = make_table(path)
    folds = [path, path, SelectionPath(path.steps[:1], path.stop_reason, path.feature_names, "a")]
    options = {
        "target_type": "classification",
        "fold_paths": folds,
        "all_features": score(0.34),
        **changes,
    }
    return gather_evidence(X, y, path, **options)


def make_comparison(methods=("agbm", "grafting", "random", HOSTILE), seed=0):
    """Better methods come first; the last of them fails on one fold."""
    rng = np.random.default_rng(seed)
    trials = []
    for at, method in enumerate(methods):
        for fold in range(3):
            if method == methods[-1] and fold == 2:
                trials.append(Trial(method, fold, "failed", "no luck: <b>singular</b>", 0.1))
                continue
            subsets = [
                Subset(
                    size,
                    rng.permutation(12)[: size or 4] if at else np.arange(size or 4),
                    {
                        validator: 0.9 - 0.1 * at - 0.2 / (size or 4) + 0.01 * rng.normal()
                        for validator in ("logistic", "knn")
                    },
                )
                for size in (1, 2, 5, None)
            ]
            trials.append(Trial(method, fold, "done", "", 0.5 * 3.0**at, subsets))
    return Comparison(
        trials,
        methods,
        ("logistic", "knn"),
        (1, 2, 5),
        [f"f{feature}" for feature in range(12)],
        [(80, 40)] * 3,
        "classification",
        "accuracy",
        True,
        seed=0,
        parameters={"time_limit": 60.0},
        versions={"secateur": "0.1.0"},
    )
