"""Radar features of 29 mine fields, a task each: is there a mine?

One class is rare, so single splits say little: 10 splits, from 3000 on.
"""

from __future__ import annotations

import numpy as np
from common.data import missing
from common.options import Options
from common.table import Section

from multitask_sections.comparison import Tasks, compare_methods, stored

N_SPLITS = 10


def run(options: Options) -> Section:
    section = Section("landmine", is_timed=False)
    arrays = stored("landmine")
    if arrays is None:
        section.skip(missing("landmine"))
        return section
    X, y, task = arrays["X"].astype(float), arrays["y"].astype(float), arrays["task"]
    if options.quick:
        rows = np.isin(task, np.unique(task)[:3])
        X, y, task = X[rows], y[rows], task[rows]
    section.add(
        f"{len(y):,} points, {X.shape[1]} features, {len(np.unique(task))} fields; half of each "
        f"field's points train, the others test; mean of {N_SPLITS} splits."
    )
    compare_methods(section, [Tasks(X, y, task, is_classes=True)] * N_SPLITS, options)
    return section
