"""A made problem in which it is known which features are common and which are a task's own."""

from __future__ import annotations

import warnings

import numpy as np
from common.options import Options
from common.table import Section, table

from multitask_sections.contest import Tasks, contest, halves, together

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
    train, test = halves(tasks, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry = together(tasks, train, test, options)
    found = entry.supports.to_numpy()
    common = np.zeros_like(truth)
    common[:, :N_COMMON] = True
    rows = [
        ["common", int((found & common).sum()), int(common.sum())],
        ["own", int((found & truth & ~common).sum()), int((truth & ~common).sum())],
        ["neither", int((found & ~truth).sum()), 0],
    ]
    section.add(table(["features of tasks (first split)", "found", "there are"], rows))
    section.aim("common features missed", int((common & ~found).sum()), 0)
    section.aim("own features missed", int((truth & ~common & ~found).sum()), 0)
    return section


def problem(n_each: int, seed: int = 0) -> tuple[Tasks, np.ndarray]:
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
