"""A made problem in which it is known which features are common and which are a task's own.

Four problems, made from the seeds 3000 to 3003, with one split each. Beside the scores it is
counted what `task_support_` of the default has right, over all four: of the features that matter to
a task none may be missed, and of those that do not, at the most a tenth may be held to matter; both
for the best score ("best") and for the fewest features within a standard error of it ("1-SE"),
which is what the selector does if nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from common.options import Options
from common.table import Section, table

from multitask_sections.comparison import (
    FIRST_SPLIT,
    Entry,
    Tasks,
    compare_methods,
    halves,
    mean_score,
    predict,
)

N_TASKS, N_COMMON, N_OWN, N_PROBLEMS = 6, 4, 2, 4

MOST_FALSE = 0.1
"""Of the features that do not matter to a task."""

CUTS = {"best": "best", "1-SE": None}


def run(options: Options) -> Section:
    section = Section("made", is_timed=False)
    n_each = 200 if options.quick else 500
    made = [problem(n_each, FIRST_SPLIT + number) for number in range(N_PROBLEMS)]
    tasks = [each for each, _ in made]
    section.add(
        f"{N_TASKS} tasks of {n_each:,} rows, {tasks[0].X.shape[1]} features: {N_COMMON} matter to "
        f"all, {N_OWN} more to each task alone, with effects of the task's own; half of the rows "
        f"train, the others test; mean of {N_PROBLEMS} problems."
    )
    firsts = compare_methods(section, tasks, options)
    _recovery(section, tasks, [truth for _, truth in made], firsts)
    return section


def _recovery(
    section: Section, problems: Sequence[Tasks], truths: Sequence[Any], firsts: Sequence[Entry]
) -> None:
    """Which of the features that matter each task was given, by the default."""
    rows = []
    for name, cut in CUTS.items():
        counts, scores = [], []
        for split, (tasks, truth, entry) in enumerate(zip(problems, truths, firsts, strict=False)):
            model = entry.model.with_cut(cut)
            counts.append(_count(model.task_support_.to_numpy(), truth))
            test = halves(tasks, FIRST_SPLIT + split)[1]
            scores.append(mean_score(tasks, test, predict(model, tasks, test))[0])
        common, own, neither = np.mean(counts, axis=0)
        rows.append(
            [name, f"{common:.1f}", f"{own:.1f}", f"{neither:.1f}", f"{np.mean(scores):.4f}"]
        )
        n_common, n_own, n_neither = _count(np.ones_like(truths[0]), truths[0])
        section.aim(f"{name}: common features missed", float(n_common - common), 0.0)
        section.aim(f"{name}: own features missed", float(n_own - own), 0.0)
        section.aim(
            f"{name}: share of the others that tasks are given", neither / n_neither, MOST_FALSE
        )
    rows.append(["there are", n_common, n_own, n_neither, "-"])
    header = ["features of tasks, by default", "common", "own", "neither", "R2"]
    section.add(table(header, rows))


def _count(found: Any, truth: Any) -> tuple[int, int, int]:
    """How many features of tasks are common, their own, and neither."""
    common = np.zeros_like(truth)
    common[:, :N_COMMON] = True
    kinds = (found & common, found & truth & ~common, found & ~truth)
    return tuple(int(kind.sum()) for kind in kinds)  # type: ignore[return-value]  # three


def problem(n_each: int, seed: int) -> tuple[Tasks, np.ndarray]:
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
