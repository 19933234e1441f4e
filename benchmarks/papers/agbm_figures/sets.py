"""The sets of Table 3: one built like Gisette, and flight delays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import array_of, whole
from common.gisette import Parts, gisette_like
from common.options import Options


def gisette(quick: bool) -> Parts:
    """Digits 4 and 9: pixels, products of pixels, and as many probes."""
    parts = gisette_like(Options(quick=quick))
    assert parts is not None
    if not quick:
        return parts
    tables = (array[:500, :200] if array.ndim == 2 else array[:500] for array in parts)
    return Parts(*tables)


def flight(quick: bool) -> Parts:
    """Delays above 15 minutes: two numbers, and 0 and 1 for each value of the other columns."""
    X, y = whole("flight_delay_100k")  # type: ignore[misc]  # it is there: `needs`
    names = array_of("flight_delay_100k", "feature_names", None).tolist()
    columns: list[Any] = []
    for name, column in zip(names, X.T, strict=True):
        if name in {"DepTime", "Distance"}:
            columns.append(sp.csc_matrix(column[:, None]))
        else:
            values, code = np.unique(column, return_inverse=True)
            ones = np.ones(len(code)), (np.arange(len(code)), code)
            columns.append(sp.csc_matrix(ones, shape=(len(code), len(values))))
    order = np.random.default_rng(0).permutation(len(y))[: 3_000 if quick else None]
    X, y = sp.csr_matrix(sp.hstack(columns))[order], y[order].astype(np.int64)
    a, b = int(0.6 * len(y)), int(0.8 * len(y))
    return Parts(X[:a], y[:a], X[a:b], y[a:b], X[b:], y[b:])


SETS = {"like Gisette": gisette, "flight delay": flight}
NEEDS = ("mnist", "flight_delay_100k")
