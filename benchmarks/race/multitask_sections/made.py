"""A made problem in which it is known which features are common and which are a task's own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from common.options import Options
from common.table import Section, table

from multitask_sections.contest import FIRST_SPLIT, Tasks, contest, halves, mean_score, together

N_TASKS, N_COMMON, N_OWN = 6, 4, 2


def run(options: Options) -> Section:
    section = Section("made", is_timed=False)
    tasks, truth = problem(200 if options.quick else 500)
    section.add(
        f"{N_TASKS} tasks of {len(tasks.y) // N_TASKS:,} rows, {tasks.X.shape[1]} features: "
        f"{N_COMMON} matter to all, {N_OWN} more to each task alone, with effects of the task's "
        "own; half of the rows train, the others judge; mean of 3 splits."
    )
    contest(section, tasks, options, n_splits=3)
    _recovery(section, tasks, truth, options)
    return section


CUTS: dict[str, dict[str, Any]] = {
    "best": {},
    "Eq. 2 as it is, best": {"common_trees": False},
    "Eq. 2 as it is, 1-SE": {"common_trees": False, "cut": None},
}


def _recovery(section: Section, tasks: Tasks, truth: Any, options: Options) -> None:
    """Which of the features that matter each task was given, on the first split."""
    train, test = halves(tasks, FIRST_SPLIT)
    common = np.zeros_like(truth)
    common[:, :N_COMMON] = True
    own = truth & ~common
    rows = []
    for name, told in CUTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry = together(tasks, train, test, options, **told)
        found = entry.supports.to_numpy()
        score = mean_score(tasks, test, entry.predicted)[0]
        hits = (found & common).sum(), (found & own).sum(), (found & ~truth).sum()
        rows.append([name, *map(int, hits), f"{score:.4f}"])
        if name != "best":
            section.aim(f"{name}: common features missed", int((common & ~found).sum()), 0)
            section.aim(f"{name}: own features missed", int((own & ~found).sum()), 0)
    rows.append(["there are", int(common.sum()), int(own.sum()), int((~truth).sum()), "-"])
    header = ["features of tasks (first split)", "common", "own", "neither", "R2"]
    section.add(table(header, rows))


def problem(n_each: int, seed: int = 11) -> tuple[Tasks, np.ndarray]:
    """Numbers from common features with effects that differ by task, and from own features."""
    rng = np.random.default_rng(seed)
    n, d = N_TASKS * n_each, 60
    X = rng.normal(size=(n, d))
    task = rng.permutation(np.repeat(np.arange(N_TASKS), n_each))
    truth = np.zeros((N_TASKS, d), bool)
    y = 0.5 * rng.normal(size=n)
    for t in range(N_TASKS):
        own = N_COMMON + N_OWN * t + np.arange(N_OWN)
        truth[t, :N_COMMON] = truth[t, own] = True
        rows = task == t
        effects = rng.choice([-1.0, 1.0], N_COMMON) * rng.uniform(0.6, 1.0, N_COMMON)
        y[rows] += X[rows, :N_COMMON] @ effects
        y[rows] += X[np.ix_(rows, own)] @ rng.uniform(0.6, 1.0, N_OWN)
    return Tasks(X, y, task, is_classes=False), truth
