"""The queries that rows belong to: reading them, and folds that keep them whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.data.frames import as_array, check_length
from secateur.data.table import Fold
from secateur.data.tasks import read_keys
from secateur.exceptions import InputError
from secateur.typing import FloatArray, IntArray


def read_queries(qid: Any, n_rows: int | None = None, name: str = "qid") -> IntArray:
    """A number for the query of each row, by first appearance, so that names do not matter.

    >>> read_queries(["b", "a", "b", ("c", 1)])
    array([0, 1, 0, 2])
    """
    if qid is None:
        raise InputError(
            f"'{name}' must name the query of every row. Got None. Give one value per row, rows of "
            "the same query the same."
        )
    if isinstance(qid, np.ndarray) and qid.ndim == 1 and qid.dtype.kind in "iu":  # fast
        check_length(len(qid), n_rows, name)
        _, first, number = np.unique(qid, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[number]
    if n_rows is None:
        n_rows = len(qid) if isinstance(qid, list | tuple) else len(as_array(qid, name))
    keys = read_keys(qid, n_rows, name, "query")
    known: dict[Any, int] = {}
    return np.fromiter((known.setdefault(key, len(known)) for key in keys), np.int64, n_rows)


def check_pairs(number: IntArray, grade: FloatArray) -> None:
    """Refuse queries from which no order can be learnt."""
    sizes = np.bincount(number)
    if sizes.max() < 2:
        raise InputError(
            f"Some queries must have several documents. Got {len(sizes)} queries of one row each. "
            "Give 'qid' the same value for all rows of one query."
        )
    order = np.lexsort((grade, number))
    same = np.diff(number[order]) == 0
    if not (same & (np.diff(grade[order]) > 0)).any():
        raise InputError(
            "Some query must have documents of different grades. Got one grade in each query. "
            "Check y and 'qid'."
        )


def weights_of_rows(sample_weight: Any, number: IntArray) -> Any:
    """Weights of queries, in the order of their first rows, as weights of rows; others as given."""
    if sample_weight is None or np.ndim(sample_weight) != 1:
        return sample_weight
    n_queries = int(number.max(initial=-1)) + 1
    if len(sample_weight) == len(number) or len(sample_weight) != n_queries:
        return sample_weight
    return as_array(sample_weight, "sample_weight")[number]


def check_whole(folds: Sequence[Fold], number: IntArray) -> None:
    """Refuse folds that have rows of a query in both parts."""
    for at, fold in enumerate(folds):
        shared = np.intersect1d(number[fold.train], number[fold.test])
        if len(shared):
            raise InputError(
                f"Folds must not split a query. Got {len(shared)} of them in both parts of fold "
                f"{at}. Use a number of folds, or a splitter of groups as GroupKFold."
            )
