"""A fold: the rows that train a model and the rows that test it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateur.typing import IntArray


class Fold(NamedTuple):
    """Row numbers of one fold: those that train and those that judge."""

    train: IntArray
    test: IntArray


def all_rows(n_rows: int) -> Fold:
    """All rows train, none judges."""
    return Fold(np.arange(n_rows), np.empty(0, np.int64))
