"""Exam scores of pupils in 139 schools, a task each: 2 splits, from 3000 on."""

from __future__ import annotations

import numpy as np
from common.data import missing
from common.options import Options
from common.table import Section

from multitask_sections.comparison import Tasks, compare_methods, stored

N_SPLITS = 2


def run(options: Options) -> Section:
    section = Section("school", is_timed=False)
    arrays = stored("school")
    if arrays is None:
        section.skip(missing("school"))
        return section
    X, y, task = arrays["X"].astype(float), arrays["y"].astype(float), arrays["task"]
    if options.quick:
        rows = np.isin(task, np.unique(task)[:6])
        X, y, task = X[rows], y[rows], task[rows]
    section.add(
        f"{len(y):,} pupils, {X.shape[1]} features, {len(np.unique(task))} schools; half of each "
        f"school's pupils train, the others test; mean of {N_SPLITS} splits."
    )
    compare_methods(section, [Tasks(X, y, task, is_classes=False)] * N_SPLITS, options)
    return section
