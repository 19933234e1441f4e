"""Figure 4: several tasks by a common set of features, or by sets of their own as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.kept import Kept
from common.options import Options
from common.table import table
from multitask_sections.comparison import Entry, Tasks, as_column, halves, stored, together
from sklearn.metrics import average_precision_score

from papers.drawing import subplots
from papers.figure import Figure, Shown

N_SPLITS = 5
SIZES = {"T1": 2_000, "T2": 1_000, "T3": 400}
N_FEATURES, N_COMMON, N_OWN = 60, 4, 3
GRID = (0.06, 0.03, 0.015, 0.008, 0.004)
SHARES = (0.0, 0.3, 1.0)  # of the group penalty, for a feature that is new to a task


def made(seed: int, quick: bool) -> Tasks:
    """Three tasks of unequal sizes: four features matter to all, three more to each alone."""
    rng = np.random.default_rng(seed)
    task = np.repeat(list(SIZES), [n // 5 if quick else n for n in SIZES.values()])
    X = rng.normal(size=(len(task), N_FEATURES))
    raw = np.zeros(len(task))
    for t, name in enumerate(SIZES):
        rows = task == name
        own = N_COMMON + N_OWN * t + np.arange(N_OWN)
        raw[rows] += X[rows, :N_COMMON] @ rng.uniform(0.5, 1.0, N_COMMON)
        raw[rows] += X[np.ix_(rows, own)] @ rng.uniform(0.5, 1.0, N_OWN)
    y = (raw + rng.logistic(size=len(raw)) > 1.5).astype(float)
    return Tasks(X, y, task, is_classes=True)


def mines(seed: int, quick: bool) -> Tasks:
    """The first fields of the mine data."""
    del seed
    arrays = stored("landmine")
    assert arrays is not None
    rows = np.isin(arrays["task"], np.unique(arrays["task"])[: 2 if quick else 6])
    X, y, task = (arrays[key][rows] for key in ("X", "y", "task"))
    return Tasks(X.astype(float), y.astype(float), task, is_classes=True)


def multitask(tasks: Tasks, train: Any, test: Any, options: Options, **more: Any) -> Entry:
    """Both penalties: at each share of the group penalty its grid, the lowest held-out loss."""
    entries = []
    for share in SHARES[::2] if options.quick else SHARES:
        for penalty in GRID[1:2] if options.quick else GRID:
            own = {"group_penalty": [penalty], "task_penalty": share * penalty}
            entries.append(together(tasks, train, test, options, **own, **more))
    return min(entries, key=_loss)


def _loss(entry: Entry) -> float:
    return min(-step.score.utility for step in entry.model.path_ if step.score is not None)


def group_sparse(tasks: Tasks, train: Any, test: Any, options: Options) -> Entry:
    """One common set: no penalty for what is new to a task only."""
    grid = list(GRID[1:2] if options.quick else GRID)
    return together(tasks, train, test, options, group_penalty=grid, task_penalty=0.0)


WAYS: dict[str, Callable[..., Entry]] = {
    "SingleTask": as_column,
    "GroupSparse": group_sparse,
    "Multitask": multitask,
    "Multitask, default": together,
}
MAKERS = {"synthetic": made, "mine fields": mines}


def run_fig4(quick: bool, kept: Kept) -> dict[str, Any]:
    found: dict[str, Any] = {name: {way: [] for way in WAYS} for name in MAKERS}
    for split in range(1 if quick else N_SPLITS):
        for name in list(MAKERS)[: 1 if quick else None]:
            for way in WAYS:
                label = f"{split}-{name}-{way}".replace(" ", "-")
                if kept.has(label):
                    found[name][way].append(kept.get(label, partial(_one, name, way, split, quick)))
    return {
        "protocol": "Half of each task's rows train, half test; penalties by a fifth of the "
        f"training rows. Synthetic: tasks of {', '.join(f'{n:,}' for n in SIZES.values())} rows, "
        f"{N_FEATURES} features, {N_COMMON} matter to all, {N_OWN} more to each alone. Mine "
        "fields: the first six. SingleTask has the task as a category and the automatic grid; "
        f"group penalties of the others: {', '.join(map(str, GRID))}; task penalties: "
        f"{', '.join(map(str, SHARES))} of it. The default has automatic penalties.",
        "sets": found,
    }


def _one(name: str, way: str, split: int, quick: bool) -> dict[str, Any]:
    tasks = MAKERS[name](3000 + split, quick)
    train, test = halves(tasks, 3000 + split)
    entry = WAYS[way](tasks, train, test, Options(quick=quick))
    y, task = tasks.y[test], tasks.task[test]
    areas = {
        str(t): float(average_precision_score(y[task == t], entry.predicted[task == t]))
        for t in np.unique(task)
    }
    sizes = {str(t): int((task == t).sum()) for t in np.unique(task)}
    total = float(np.average(list(areas.values()), weights=list(sizes.values())))
    return {**areas, "Total": total, "features": entry.n_features, "per task": entry.per_task}


def show_fig4(values: dict[str, Any], picture: Path) -> Shown:
    sets = {name: each for name, each in values["sets"].items() if each["Multitask"]}
    with subplots(picture, 1, max(1, len(sets)), width=4.4, height=2.8) as axes:
        for axis, (name, ways) in zip(axes, sets.items(), strict=False):
            tasks = [key for key in ways["Multitask"][0] if key not in ("features", "per task")]
            for k, (way, splits) in enumerate(ways.items()):
                if splits:
                    heights = [np.mean([each[t] for each in splits]) for t in tasks]
                    axis.bar(np.arange(len(tasks)) + 0.2 * (k - 1.5), heights, 0.19, label=way)
            axis.set_xticks(range(len(tasks)), tasks)
            axis.set(title=name, ylabel="area under precision-recall")
        axes[0].legend(fontsize=6, loc="lower left")
    rows, texts = [], []
    for name, ways in sets.items():
        totals = {way: np.array([each["Total"] for each in splits]) for way, splits in ways.items()}
        for way, splits in ((w, s) for w, s in ways.items() if s):
            counts = [np.mean([each[key] for each in splits]) for key in ("features", "per task")]
            error = totals[way].std(ddof=1) / len(splits) ** 0.5 if len(splits) > 1 else None
            total = f"{totals[way].mean():.4f}"
            rows.append(
                [f"{name}, {way}", len(splits), total, error, *(f"{c:.1f}" for c in counts)]
            )
        for other in ("SingleTask", "GroupSparse"):
            n = min(len(totals[other]), len(totals["Multitask"]))
            more = totals["Multitask"][:n] - totals[other][:n]
            texts.append(f"{name}: Multitask less {other} {more.mean():+.4f}, {n} splits")
    header = ["", "splits", "Total", "standard error", "features", "per task"]
    return Shown(
        f"Area under the precision-recall curve, weighted by rows. {'; '.join(texts)}.",
        "The queries of the paper are not public: the tasks are synthetic, made so that some "
        "features are common and some a task's own, and six fields of the mine data. These fields "
        "have about 300 training rows each, of which 10 to 24 have a mine, too few for trees of "
        "their own, which the paper's method grows. The library's default tries common trees too.",
        (table(header, rows),),
    )


FIG4 = Figure(
    "Figure 4: several tasks",
    "Multitask, which may choose features for a task alone, is ahead of GroupSparse, which has one "
    "common set, and of SingleTask, one model with the task as a column, in all three tasks.",
    run_fig4, show_fig4, ("landmine",), is_slow=True,
)  # fmt: skip
