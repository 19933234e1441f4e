"""`warm_up`: compile what common fits need ahead of time, for instance into an image."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from secateur.exceptions import StorageError
from secateur.model_selection.methods import selector_classes
from secateur.model_selection.rows import knows_tasks, target_type_of
from secateur.selectors.boosted_base import BoostedSelector

# Fits of a few rounds; results do not matter.
QUICK = {"max_iter": 2, "max_epochs": 2, "cv": 2, "random_state": 0}


def warm_up(folder: str | os.PathLike[str] | None = None) -> None:
    """Compile the code of all selectors, so that later fits need not wait for it.

    Fits every selector to small tables, in a process of its own. It takes a few minutes.

    Parameters
    ----------
    folder : path-like, default=None
        Where compiled code is kept. Later processes find it if the environment variable
        ``NUMBA_CACHE_DIR`` names this folder, which may be read-only. None is numba's own.

    Examples
    --------
    >>> warm_up("/opt/numba")  # doctest: +SKIP
    """
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if folder is not None:
        place = Path(folder).resolve()
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"'folder' must be a folder that can be written to. Got {error}. Give another one."
            ) from error
        known["NUMBA_CACHE_DIR"] = str(place)
    code = f"from {__name__} import fit_all; fit_all()"
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-c", code], env=known, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StorageError(
            "Compiling must end without an error. Got "
            f"{done.stderr.strip().splitlines()[-1:]}. Check the folder and its free space."
        )


def fit_all() -> None:
    """Fit every selector to tables of each kind."""
    warnings.simplefilter("ignore")
    for selector, X, y in _fits():
        ranks = target_type_of(selector) == "ranking"
        queries = {"qid": np.arange(X.shape[0]) // 10} if ranks else {}
        for more in ({}, {"sample_weight": np.linspace(0.5, 1.5, X.shape[0])}):
            selector.fit(X, y, **more, **queries)
            getattr(selector, "predict", selector.transform)(X)


def _fits() -> Iterator[tuple[Any, Any, Any]]:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)).round(1)
    signal = X[:, 0] + X[:, 1]
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    tables = (X, gaps, sp.csr_array(np.where(np.abs(X) < 1.0, 0.0, X)))
    classes = np.digitize(signal, [-1.0, 1.0])
    kinds: list[tuple[type, Any]] = list(product(selector_classes("regression").values(), [signal]))
    for kind in selector_classes("classification").values():
        kinds += [(kind, classes > 0), (kind, classes)]
    kinds += product(selector_classes("ranking").values(), [classes])
    for (kind, y), table in product(kinds, tables):
        # by default, and for boosted selectors also trees that are grown level by level
        deep: dict[str, Any] = {"max_depth": 9, "feature_groups": {"pair": [0, 1]}}
        deep |= {} if sp.issparse(table) else {"categorical_features": [5]}
        is_boosted = issubclass(kind, BoostedSelector)
        for more in ({}, deep, {"subsample": 0.5}) if is_boosted else ({},):
            yield _make(kind, more), table, y
        if knows_tasks(kind):
            yield _make(kind, {}), table, np.column_stack([y, y[::-1]])
    long = rng.integers(0, 3, size=(60_000, 6)).astype(float)  # rows whose columns are bundled
    yield _make(selector_classes("regression")["agbm"], {"penalty": 0.01}), long, long[:, 0]


def _make(kind: type, more: dict[str, Any]) -> Any:
    known = signature(kind).parameters
    return kind(**{name: value for name, value in {**QUICK, **more}.items() if name in known})
