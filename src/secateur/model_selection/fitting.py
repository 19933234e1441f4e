"""Fits that need nothing of each other, in processes side by side where they take long enough."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any

import numpy as np

from secateur._kernels.threads import resolve_n_jobs
from secateur.data.memory import available_memory
from secateur.model_selection.folds import is_drawn
from secateur.model_selection.outer_folds import group_folds
from secateur.model_selection.rows import Rows
from secateur.model_selection.scorers import prepared, with_threads
from secateur.storage.stored_table import StoredTable


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


WORTH_SECONDS = 6.0
"""Fits that take less are done one after another: processes have libraries to load."""

COPIES = 4
"""How many times a process may need the memory of the table."""

Work = Callable[[], Any]


def n_processes(estimator: Any, X: Any, n_jobs: int | None, seconds: float) -> int:
    """How many processes fits of an estimator should share; 1 is none but this.

    A fit shares loops between threads, and where tables are short these meet all the time: as many
    fits with a thread each are quicker. The results are the same.

    Parameters
    ----------
    estimator : estimator
    X : table
    n_jobs : int or None
        Where the estimator has no number of its own.
    seconds : float
        What one such fit has taken.
    """
    own = getattr(estimator, "n_jobs", None)
    cores = resolve_n_jobs(n_jobs if own is None else own)
    elsewhere = getattr(estimator, "executor", None) is not None or isinstance(X, StoredTable)
    watched = any(getattr(estimator, name, None) for name in ("_skl_callbacks", "verbose"))
    if cores < 2 or seconds < WORTH_SECONDS or elsewhere or watched:
        return 1
    memory = available_memory()
    fitting = cores if memory is None else memory // max(1, COPIES * n_bytes(X))
    return int(max(1, min(cores, fitting)))


def n_bytes(X: Any) -> int:
    """About how much memory a table takes.

    >>> n_bytes(np.zeros((10, 2)))
    160
    """
    if hasattr(X, "indptr"):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(np.prod(np.shape(X))) * 8


def single_threaded(estimator: Any) -> Any:
    """A clone with one thread, where it has such a parameter."""
    from sklearn.base import clone

    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(n_jobs=1) if "n_jobs" in known else clone(estimator)


def results_of(tasks: Iterable[Work], processes: int) -> Generator[Any, None, None]:
    """What tasks give, in their order; closing it ends those that are still at work.

    >>> list(results_of([lambda: 1, lambda: 2], 1))
    [1, 2]
    """
    if processes == 1:
        for task in tasks:
            yield task()
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=processes, backend="loky", return_as="generator", max_nbytes=None)
    with closing(pool(delayed(_done)(task) for task in tasks)) as results:
        yield from results


def _done(task: Work) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say the fit to all rows has said
        return task()
