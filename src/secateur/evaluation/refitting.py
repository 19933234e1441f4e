"""A selector fitted anew to some rows, nothing of it shared with another fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.evaluation.cloning import prepared, with_threads
from secateur.evaluation.folds import is_drawn
from secateur.evaluation.outer import group_folds
from secateur.evaluation.rows import Rows


def fit_anew(selector: Any, rows: Rows, seed: int, n_jobs: int | None) -> Any:
    """A clone fitted to some rows.

    Seeds and threads are set where they were left open. Where rows have groups, the folds that a
    selector draws for itself keep them together too.
    """
    fresh = with_threads(prepared(selector, seed), n_jobs)
    known = fresh.get_params(deep=False)
    if rows.groups is not None and "cv" in known and is_drawn(known["cv"]) and known["cv"] != 0:
        n_groups = len(np.unique(rows.groups))
        inner = group_folds(rows.target, rows.groups, min(known["cv"] or 5, n_groups), seed)
        fresh.set_params(cv=[tuple(fold) for fold in inner])
    return rows.fit(fresh)
