"""FCBF: columns that say more of the target than a better column says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from secateur.model_selection.columns import Columns, descending
from secateur.model_selection.filters import states
from secateur.typing import FloatArray, IntArray


def fcbf(columns: Columns) -> tuple[IntArray, int]:
    """Fast correlation-based filter (Yu and Liu, 2003), with a threshold of 0.

    Its own choice are the first ``n_ranked`` predominant columns; all others follow by their
    symmetrical uncertainty with the target. Sparse cells are present or absent, like words.
    """
    target = columns.y if columns.is_classes else states(np.asarray(columns.y, np.float64))
    codes = np.unique(target, return_inverse=True)[1]
    if sp.issparse(columns.values):
        table: Any = sp.csc_matrix(columns.values != 0)
    else:
        table = np.stack([states(column) for column in columns.values.T], axis=1)
    relevance = symmetrical_uncertainty(table, codes)
    left = descending(relevance)
    left = left[relevance[left] > 1e-12]
    chosen: list[int] = []
    while len(left) and len(chosen) < columns.n_ranked:
        best, left = int(left[0]), left[1:]
        chosen.append(best)
        column = table[:, [best]]
        column = column.toarray() if sp.issparse(column) else column
        shared = symmetrical_uncertainty(table[:, left], column.ravel().astype(np.int64))
        left = left[shared < relevance[left]]
    rest = np.setdiff1d(descending(relevance), chosen, assume_unique=True)
    return np.concatenate([np.array(chosen, np.int64), rest]), len(chosen)


def symmetrical_uncertainty(table: Any, target: IntArray) -> FloatArray:
    """2 I / (H_j + H_y) of each column of states, or of presence if sparse, from 0 to 1."""
    is_target = (target[:, None] == np.arange(target.max() + 1)).astype(np.float64)
    if sp.issparse(table):
        present = np.asarray((table.T @ is_target).T)
        counts = np.stack([is_target.sum(axis=0)[:, None] - present, present])
    else:
        found = range(int(table.max(initial=0)) + 1)
        counts = np.stack([is_target.T @ (table == state) for state in found])
    joint = counts / len(target)
    of_column, of_target = _entropy(joint.sum(axis=1)), _entropy(joint.sum(axis=0))
    both = of_column + of_target
    shared = both - _entropy(np.concatenate(joint))
    return np.where(of_column > 0, 2.0 * shared / np.maximum(both, 1e-300), 0.0)


def _entropy(shares: FloatArray) -> FloatArray:
    """The entropy of each column of shares."""
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=0)
