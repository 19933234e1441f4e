"""Trials kept in a file as they are finished, and taken up again from there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.folds import Fold
from secateur.data.frames import read_table
from secateur.exceptions import ComparisonError
from secateur.model_selection.comparison import Comparison, Trial, TrialStatus
from secateur.model_selection.rows import Rows
from secateur.path.values import thawed_json

COLUMNS_AT_ONCE = 256

NO_MATTER = ("n_jobs", "executor", "verbose")
"""Parameters that change no result."""


def mark_of(rows: Rows, folds: Sequence[Fold]) -> str:
    """A mark of the table, its target, weights, groups and folds: equal if all of it is.

    >>> from secateur.model_selection.rows import read_rows
    >>> one, two = (read_rows([[0.0], [x]], [0, 1], target_type=None) for x in (1.0, 2.0))
    >>> mark_of(one, []) == mark_of(one, []), mark_of(one, []) == mark_of(two, [])
    (True, False)
    """
    found = hashlib.sha256()
    table = read_table(rows.X, categorical_features="from_dtype")
    if table.is_sparse:
        for part in (table.csc.data, table.csc.indices.astype(np.int64), table.csc.indptr):
            found.update(np.ascontiguousarray(part).tobytes())
    else:
        for start in range(0, table.n_features, COLUMNS_AT_ONCE):
            found.update(table.block(start, start + COLUMNS_AT_ONCE).tobytes("F"))
    found.update("\x00".join(table.names).encode())
    found.update(rows.target.values.tobytes())
    found.update(str(rows.target.classes).encode())
    found.update(rows.weight.tobytes())
    if rows.groups is not None:
        found.update(rows.groups.tobytes())
    for fold in folds:
        found.update(fold.train.tobytes() + b"|" + fold.test.tobytes())
    return found.hexdigest()


def load_earlier(file: str | os.PathLike[str] | None) -> Comparison | None:
    """What a file holds already; None without a file, or if there is none yet."""
    if file is None:
        return None
    _check_folder(Path(file))
    return Comparison.load(file) if Path(file).exists() else None


def _check_folder(file: Path) -> None:
    if not file.resolve().parent.is_dir():
        raise ComparisonError(
            f"'resume' must be a file in a folder that exists. Got {os.fspath(file)!r}. Make the "
            "folder first."
        )


def taken_up(plan: Comparison, earlier: Comparison | None) -> Comparison:
    """The plan with what was done before.

    Methods of the file that are not asked for stay in. Trials that failed are tried again, and
    those that took too long if there is more time now.
    """
    if earlier is None:
        return plan
    _check_same(plan, earlier)
    limit = plan.parameters.get("time_limit")
    kept = [t for t in earlier.trials if t.method not in plan.methods or _is_final(t, limit)]
    extra = [name for name in earlier.methods if name not in plan.methods]
    mine, theirs = _methods(plan), _methods(earlier)
    parameters = {**thawed_json(plan.parameters), "methods": {**theirs, **mine}}
    methods = (*plan.methods, *extra)
    return replace(plan, trials=tuple(kept), methods=methods, parameters=parameters)


def _methods(comparison: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = thawed_json(comparison.parameters.get("methods", {}))
    return found


def _is_final(trial: Trial, limit: float | None) -> bool:
    if trial.status is TrialStatus.TIMED_OUT:
        return limit is not None and trial.seconds >= limit
    return trial.is_done


def _check_same(plan: Comparison, earlier: Comparison) -> None:
    for what in (
        "target_type",
        "metric",
        "sizes",
        "validators",
        "feature_names",
        "seed",
        "fold_sizes",
    ):
        _check_equal(what, getattr(plan, what), getattr(earlier, what))
    for what in ("data", "validators"):
        _check_equal(what, plan.parameters.get(what), earlier.parameters.get(what))
    before, now = _methods(earlier), _methods(plan)
    for name in set(before) & set(now):
        _check_equal(f"parameters of {name!r}", now[name], before[name])


def _check_equal(what: str, now: Any, before: Any) -> None:
    # as text, so that NaN equals NaN
    left, right = (json.dumps(thawed_json(value), sort_keys=True) for value in (now, before))
    if left != right:
        raise ComparisonError(
            f"The file of 'resume' holds another comparison: {what} differ. Got "
            f"{_short(left)} now and {_short(right)} in the file. Use another file, or the same "
            "data and settings as before."
        )


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def parameters_of(estimators: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of estimators: their kinds, and parameters that are plain values."""
    return {name: _told(estimator) for name, estimator in estimators.items()}


def _told(estimator: Any) -> Any:
    if not hasattr(estimator, "get_params"):
        return {"class": type(estimator).__name__}
    values = estimator.get_params(deep=False)
    return {
        "class": type(estimator).__name__,
        "parameters": {
            name: _plain(value) for name, value in sorted(values.items()) if name not in NO_MATTER
        },
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return {"array": hashlib.sha256(value.tobytes()).hexdigest()[:16]}
    return _told(value) if hasattr(value, "get_params") else type(value).__name__
