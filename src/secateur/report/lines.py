"""Which points of a cloud a line goes through: the best at each place on the axis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from secateur.typing import IntArray


def best_at_each(x: npt.ArrayLike, y: npt.ArrayLike, *, greater_is_better: bool) -> IntArray:
    """Return the positions of the best finite `y` at each finite `x`, from left to right.

    Examples
    --------
    >>> best_at_each([2, 1, 2, 3], [0.5, 0.9, 0.4, np.nan], greater_is_better=False)
    array([1, 2])
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sign = -1.0 if greater_is_better else 1.0
    known = np.flatnonzero(np.isfinite(places) & np.isfinite(values))
    known = known[np.lexsort([sign * values[known], places[known]])]
    _, first = np.unique(places[known], return_index=True)
    return known[first].astype(np.int64)
