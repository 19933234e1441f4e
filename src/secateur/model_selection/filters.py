"""Filters: features ranked by statistics of the columns, without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import false_discovery_control
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)

from secateur.model_selection.columns import Columns, descending
from secateur.typing import AnyArray, FloatArray, IntArray

MAX_STATES = 10  # columns of so many values are taken as they are when information is counted
FALSE_DISCOVERIES = 0.05  # the false discovery rate at which the F test makes its own choice


def _f_scores(columns: Columns) -> Any:
    with np.errstate(all="ignore"):
        return (f_classif if columns.is_classes else f_regression)(columns.values, columns.y)


def f_test(columns: Columns) -> tuple[IntArray, int]:
    """F test of each column; its own choice is that of Benjamini and Hochberg."""
    scores, p = _f_scores(columns)
    adjusted = false_discovery_control(np.where(np.isnan(p), 1.0, p))
    return descending(scores), max(1, int((adjusted <= FALSE_DISCOVERIES).sum()))


def mutual_info(columns: Columns) -> tuple[IntArray, None]:
    """Mutual information with the target; sparse cells are present or absent, like words."""
    measure = mutual_info_classif if columns.is_classes else mutual_info_regression
    values, kinds = columns.values, columns.is_category
    if sp.issparse(values):
        values, kinds = (values != 0).astype(np.float64), np.ones_like(kinds)
    scores = measure(values, columns.y, discrete_features=kinds, random_state=columns.seed)
    return descending(scores), None


def mrmr(columns: Columns) -> tuple[list[int], None]:
    """MRMR (FCQ of Zhao, Anand and Wang, 2019): the largest F_j / mean |corr(j, selected)| next."""
    values = columns.values
    relevance = np.nan_to_num(_f_scores(columns)[0], nan=0.0, posinf=np.finfo(float).max)
    order = [int(relevance.argmax())]
    redundancy = np.zeros(len(relevance))
    while len(order) < min(columns.n_ranked, len(relevance)):
        last = values[:, [order[-1]]]
        last = np.asarray(last.todense() if sp.issparse(last) else last).ravel()
        redundancy += np.abs(values.T @ (last - last.mean())) / len(last)  # correlations
        quotient = relevance / np.maximum(redundancy / len(order), 1e-3)
        quotient[order] = -np.inf
        order.append(int(quotient.argmax()))
    return order, None


def mrmr_mi(columns: Columns) -> tuple[list[int], None]:
    """MRMR of Peng, Long and Ding (2005): the largest I(j; y) - mean I(j; selected) next.

    Information is counted: columns of more than ten values have three states, below, at and above
    the mean by a standard deviation.
    """
    values = columns.values.toarray() if sp.issparse(columns.values) else columns.values
    pairs = zip(values.T, columns.is_category, strict=True)
    codes = np.stack([states(column, keep=is_set) for column, is_set in pairs], axis=1)
    y = columns.y if columns.is_classes else states(np.asarray(columns.y, np.float64))
    relevance = information(codes, y)
    redundancy = np.zeros(len(relevance))
    order = [int(relevance.argmax())]
    while len(order) < min(columns.n_ranked, len(relevance)):
        redundancy += information(codes, codes[:, order[-1]])
        difference = relevance - redundancy / len(order)
        difference[order] = -np.inf
        order.append(int(difference.argmax()))
    return order, None


def states(values: AnyArray, *, keep: bool = False) -> IntArray:
    """Few values, or all with ``keep``, numbered; else below, at and above the mean: 0, 1, 2."""
    found, code = np.unique(values, return_inverse=True)
    if len(found) > MAX_STATES and not keep:
        mean, deviation = values.mean(), values.std()
        code = (values > mean - deviation).astype(np.int64) + (values > mean + deviation)
    return code.astype(np.int32)


def information(codes: IntArray, target: AnyArray) -> FloatArray:
    """The mutual information of each column of states with a target of states, in nats."""
    n_rows = len(target)
    is_target = (target[:, None] == np.unique(target)).astype(np.float32)
    total = np.zeros(codes.shape[1])
    p_target = is_target.mean(axis=0, dtype=np.float64)[:, None]
    for state in range(int(codes.max()) + 1):
        both = np.asarray(is_target.T @ (codes == state).astype(np.float32), np.float64) / n_rows
        apart = p_target * both.sum(axis=0)
        total += (both * np.log(np.where(both > 0.0, both / np.maximum(apart, 1e-300), 1.0))).sum(0)
    return total
