"""Three ways to learn several tasks, told alike and judged on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from common.data import ROOT
from common.measure import N_THREADS, say
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
    """One way: its predictions on the test rows, how many features, which ones by task."""

    predicted: Any
    n_features: int
    per_task: float
    seconds: float
    supports: Any = None


def stored(name: str) -> dict[str, Any] | None:
    import os

    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    file = folder / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as arrays:
        return dict(arrays)


def halves(tasks: Tasks, seed: int) -> tuple[Any, Any]:
    """Half of each task's rows to train on, class by class; the rest to judge by."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(tasks.y), bool)
    kind = tasks.y if tasks.is_classes else np.zeros(len(tasks.y))
    for key in np.unique(tasks.task):
        for label in np.unique(kind):
            rows = rng.permutation(np.flatnonzero((tasks.task == key) & (kind == label)))
            train[rows[: (len(rows) + 1) // 2]] = True
    return np.flatnonzero(train), np.flatnonzero(~train)


def told(options: Options) -> dict[str, Any]:
    """What all are told: a falling grid of penalties, judged on a fifth of the training rows."""
    return {
        "cv": 1,
        "cut": "best",
        "max_iter": 5 if options.quick else 150,
        "random_state": 0,
        "n_jobs": N_THREADS,
    }


def together(tasks: Tasks, train: Any, test: Any, options: Options, **more: Any) -> Entry:
    cls = MultitaskAGBMClassifier if tasks.is_classes else MultitaskAGBMRegressor
    model = cls(**told(options) | more)
    start = perf_counter()
    model.fit(tasks.X[train], tasks.y[train], task=tasks.task[train])
    seconds = perf_counter() - start
    if tasks.is_classes:
        predicted = model.predict_proba(tasks.X[test], task=tasks.task[test])[:, 1]
    else:
        predicted = model.predict(tasks.X[test], task=tasks.task[test])
    per_task = model.task_support_.sum(axis=1).mean()
    return Entry(predicted, int(model.support_.sum()), per_task, seconds, model.task_support_)


def alone(tasks: Tasks, train: Any, test: Any, options: Options) -> Entry:
    cls = AGBMClassifier if tasks.is_classes else AGBMRegressor
    predicted = np.empty(len(test))
    used, counts = np.zeros(tasks.X.shape[1], bool), []
    start = perf_counter()
    for key in np.unique(tasks.task):
        rows, asked = train[tasks.task[train] == key], tasks.task[test] == key
        model = cls(**told(options)).fit(tasks.X[rows], tasks.y[rows])
        X = tasks.X[test][asked]
        predicted[asked] = model.predict_proba(X)[:, 1] if tasks.is_classes else model.predict(X)
        used |= model.support_
        counts.append(model.support_.sum())
    return Entry(predicted, int(used.sum()), float(np.mean(counts)), perf_counter() - start)


def as_column(tasks: Tasks, train: Any, test: Any, options: Options) -> Entry:
    cls = AGBMClassifier if tasks.is_classes else AGBMRegressor
    frame = pd.DataFrame(tasks.X).add_prefix("x")
    frame["task"] = pd.Categorical(tasks.task)
    model = cls(**told(options))
    start = perf_counter()
    model.fit(frame.iloc[train], tasks.y[train])
    seconds = perf_counter() - start
    X = frame.iloc[test]
    predicted = model.predict_proba(X)[:, 1] if tasks.is_classes else model.predict(X)
    n_features = int(model.support_[:-1].sum())
    return Entry(predicted, n_features, float(n_features), seconds)


FIRST_SPLIT = 100
"""The numbers behind the defaults were chosen on splits from 0 on."""

WAYS: dict[str, Callable[..., Entry]] = {
    "multitask": together,
    "multitask, Eq. 2 as it is": partial(together, common_trees=False),
    "each task alone": alone,
    "one model, the task as a column": as_column,
}


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


def contest(section: Section, tasks: Tasks, options: Options, n_splits: int) -> None:
    """Mean test scores of the three ways over some splits into halves."""
    found: dict[str, list[Any]] = {name: [] for name in WAYS}
    for split in range(1 if options.quick else n_splits):
        train, test = halves(tasks, FIRST_SPLIT + split)
        for name, way in WAYS.items():
            say(f"split {split}: {name}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                entry = way(tasks, train, test, options)
            scores = mean_score(tasks, test, entry.predicted)
            found[name].append([*scores, entry.n_features, entry.per_task, entry.seconds])
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    spread = {name: np.std(values, axis=0)[0] for name, values in found.items()}
    metric = "AUC" if tasks.is_classes else "R2"
    rows = [
        [
            name,
            f"{m[0]:.4f} ± {spread[name]:.4f}",
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
        best = max(means[name][place] for name in list(WAYS)[2:])
        lost = best - means["multitask"][place]
        section.aim(f"mean test {metric}{how} lost against the better of the others", lost, 0.0)
