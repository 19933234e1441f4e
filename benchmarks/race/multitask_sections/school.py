"""Exam scores of pupils in 139 schools, a task each."""

from __future__ import annotations

import numpy as np
from common.data import missing
from common.options import Options
from common.table import Section

from multitask_sections.contest import Tasks, contest, stored


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
        "school's pupils train, the others judge; mean of 2 splits."
    )
    contest(section, Tasks(X, y, task, is_classes=False), options, n_splits=2)
    return section
