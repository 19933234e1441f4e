"""Several ways to learn several tasks, with the same parameters and the same test rows.

The protocol. A split gives half of each task's rows, class by class, to training, and the other
half to testing; no method sees these. Splits have the numbers 3000, 3001 ...: all that
is behind the defaults (penalties, task-split penalties, the rule that keeps one of the variants)
was chosen on splits and synthetic problems with numbers below 2000. Of the scores of a split, the
mean over tasks counts, and that by rows; over splits, their mean. Aimed at is a mean no lower than
that of the better of the other two, whichever that is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from common.data import ROOT
from common.measure import say
from common.options import Options
from common.table import Section, table
from sklearn.metrics import r2_score, roc_auc_score

from secateur import (
    AGBMClassifier,
    AGBMRegressor,
    MultitaskAGBMClassifier,
    MultitaskAGBMRegressor,
)


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """Rows of several tasks; two classes, 0 and 1, or numbers."""

    X: Any
    y: Any
    task: Any
    is_classes: bool


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One way: its predictions on the test rows, how many features, how long it took.

    ``model`` is that of all tasks, where there is one.
    """

    predicted: Any
    n_features: int
    per_task: float
    seconds: float
    model: Any = None


def stored(name: str) -> dict[str, Any] | None:
    import os

    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    file = folder / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as arrays:
        return dict(arrays)


def halves(tasks: Tasks, seed: int) -> tuple[Any, Any]:
    """Half of each task's rows to train on, class by class; the rest to test on."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(tasks.y), bool)
    kind = tasks.y if tasks.is_classes else np.zeros(len(tasks.y))
    for key in np.unique(tasks.task):
        for label in np.unique(kind):
            rows = rng.permutation(np.flatnonzero((tasks.task == key) & (kind == label)))
            train[rows[: (len(rows) + 1) // 2]] = True
    return np.flatnonzero(train), np.flatnonzero(~train)


def params(options: Options) -> dict[str, Any]:
    """For all: a falling grid of penalties, scored on a fifth of the training rows."""
    return {
        "cv": 1,
        "cut": "best",
        "max_iter": 5 if options.quick else 150,
        "random_state": 0,
        "n_jobs": 1,
    }


def together(tasks: Tasks, train: Any, test: Any, options: Options, **more: Any) -> Entry:
    cls = MultitaskAGBMClassifier if tasks.is_classes else MultitaskAGBMRegressor
    model = cls(**params(options) | more)
    start = perf_counter()
    model.fit(tasks.X[train], tasks.y[train], task=tasks.task[train])
    seconds = perf_counter() - start
    predicted = predict(model, tasks, test)
    per_task = model.task_support_.sum(axis=1).mean()
    return Entry(predicted, int(model.support_.sum()), per_task, seconds, model)


def predict(model: Any, tasks: Tasks, rows: Any) -> Any:
    """Numbers, or the probability of the second class, by a model of all tasks."""
    X, task = tasks.X[rows], tasks.task[rows]
    if tasks.is_classes:
        return model.predict_proba(X, task=task)[:, 1]
    return model.predict(X, task=task)


def alone(tasks: Tasks, train: Any, test: Any, options: Options) -> Entry:
    cls = AGBMClassifier if tasks.is_classes else AGBMRegressor
    predicted = np.empty(len(test))
    used, counts = np.zeros(tasks.X.shape[1], bool), []
    start = perf_counter()
    for key in np.unique(tasks.task):
        rows, asked = train[tasks.task[train] == key], tasks.task[test] == key
        model = cls(**params(options)).fit(tasks.X[rows], tasks.y[rows])
        X = tasks.X[test][asked]
        predicted[asked] = model.predict_proba(X)[:, 1] if tasks.is_classes else model.predict(X)
        used |= model.support_
        counts.append(model.support_.sum())
    return Entry(predicted, int(used.sum()), float(np.mean(counts)), perf_counter() - start)


def as_column(tasks: Tasks, train: Any, test: Any, options: Options) -> Entry:
    cls = AGBMClassifier if tasks.is_classes else AGBMRegressor
    frame = pd.DataFrame(tasks.X).add_prefix("x")
    frame["task"] = pd.Categorical(tasks.task)
    model = cls(**params(options))
    start = perf_counter()
    model.fit(frame.iloc[train], tasks.y[train])
    seconds = perf_counter() - start
    X = frame.iloc[test]
    predicted = model.predict_proba(X)[:, 1] if tasks.is_classes else model.predict(X)
    n_features = int(model.support_[:-1].sum())
    return Entry(predicted, n_features, float(n_features), seconds)


FIRST_SPLIT = 3000
"""No number behind the defaults has seen splits from this one on; 2026 to 2035 were used before."""

WAYS: dict[str, Callable[..., Entry]] = {
    "multitask": together,
    "multitask, trees of their own": partial(together, common_trees=False),
    "each task alone": alone,
    "one model, the task as a column": as_column,
}
FIRST, *_, _ALONE, _COLUMN = WAYS
RIVALS = (_ALONE, _COLUMN)


def mean_score(tasks: Tasks, test: Any, predicted: Any) -> tuple[float, float]:
    """The mean over tasks of AUC or R2, and the same with tasks weighted by their rows."""
    scores, sizes = [], []
    for key in np.unique(tasks.task):
        rows = tasks.task[test] == key
        y = tasks.y[test][rows]
        if len(np.unique(y)) < 2:
            continue
        score = roc_auc_score if tasks.is_classes else r2_score
        scores.append(score(y, predicted[rows]))
        sizes.append(rows.sum())
    return float(np.mean(scores)), float(np.average(scores, weights=sizes))


def compare_methods(section: Section, splits: Sequence[Tasks], options: Options) -> list[Entry]:
    """Mean test scores of all ways over some splits into halves; gives the fits of the first.

    ``splits`` are the tasks of each split: the same ones, or newly generated.
    """
    found: dict[str, list[Any]] = {name: [] for name in WAYS}
    firsts = []
    for split, tasks in enumerate(splits[:1] if options.quick else splits):
        train, test = halves(tasks, FIRST_SPLIT + split)
        for name, way in WAYS.items():
            say(f"split {split}: {name}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                entry = way(tasks, train, test, options)
            scores = mean_score(tasks, test, entry.predicted)
            found[name].append([*scores, entry.n_features, entry.per_task, entry.seconds])
            if name == FIRST:
                firsts.append(entry)
    _report(section, {name: np.array(values) for name, values in found.items()}, splits[0])
    kept = sum(entry.model.common_trees_ for entry in firsts)
    section.add(f"Trees in common were kept in {kept} of {len(firsts)} splits.")
    return firsts


def _report(section: Section, found: dict[str, Any], tasks: Tasks) -> None:
    """A row for each way, and how far the first is ahead."""
    metric = "AUC" if tasks.is_classes else "R2"
    means = {name: values.mean(axis=0) for name, values in found.items()}
    rows = [
        [
            name,
            f"{m[0]:.4f} ± {found[name].std(axis=0)[0]:.4f}",
            f"{m[1]:.4f}",
            f"{m[2]:.1f}",
            f"{m[3]:.1f}",
            m[4],
        ]
        for name, m in means.items()
    ]
    header = ["", f"mean test {metric}", "by rows", "features", "features per task", "s"]
    section.add(table(header, rows))
    for place, how in enumerate(("", " by rows")):
        rival = max(RIVALS, key=lambda name: means[name][place])
        lost = found[rival][:, place] - found[FIRST][:, place]
        error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.nan
        what = f"mean test {metric}{how} lost against the better of the others"
        section.add(
            f"Against {rival}{how or ', task by task'}: {-lost.mean():+.4f}, with a standard error "
            f"of {error:.4f} over the splits."
        )
        section.aim(what, float(lost.mean()), 0.0)
