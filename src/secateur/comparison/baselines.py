"""What others would do: filters, chance, and all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)

from secateur.comparison.matrix import Matrix, as_matrix
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

FALSE_DISCOVERIES = 0.05
"""The share of false features that the F test accepts among those it chooses by itself."""


class Ranking(BaseEstimator):  # type: ignore[misc]  # untyped base
    """Puts the features in an order, the best first.

    Attributes
    ----------
    order_ : array of int
        Perhaps not of all features.
    n_own_ : int or None
        How many of them are the method's own choice; None if it makes none.
    """

    _is_dense = False
    _takes_categories = False

    def __init__(self, task: str = "classification", random_state: Any = None) -> None:
        self.task = task
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the order."""
        order, n_own = self._rank(as_matrix(X, dense=self._is_dense), np.asarray(y))
        self.order_: IntArray = np.asarray(order, np.int64)
        self.n_own_ = n_own
        self.n_features_in_ = X.shape[1] if hasattr(X, "shape") else len(X[0])
        return self

    def get_support(self) -> BoolArray:
        """The mask of its own choice; of all that it has put in order, if it makes none."""
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.order_[: self.n_own_]] = True
        return mask

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[Any, int | None]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self._takes_categories
        return tags

    @property
    def _is_classes(self) -> bool:
        return self.task == "classification"


class FTest(Ranking):
    """One column at a time by its F statistic; its own choice is that of Benjamini and Hochberg."""

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, int]:
        with np.errstate(all="ignore"):
            scores, p = (f_classif if self._is_classes else f_regression)(X.values, y)
        return _falling(scores), max(1, _accepted(np.where(np.isnan(p), 1.0, p)))


class MutualInformation(Ranking):
    """One column at a time by its mutual information with the target.

    Of a sparse table it counts whether a cell is there, as of a word in a text.
    """

    _takes_categories = True

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, None]:
        measure = mutual_info_classif if self._is_classes else mutual_info_regression
        values: Any = X.values
        kinds: Any = X.is_category
        if hasattr(values, "indptr"):
            values, kinds = (values != 0).astype(np.float64), True
        scores = measure(values, y, discrete_features=kinds, random_state=self.random_state)
        return _falling(scores), None


class Chance(Ranking):
    """Features drawn at random: what any method must beat."""

    _takes_categories = True

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, None]:  # noqa: ARG002 - by chance
        return np.random.default_rng(self.random_state).permutation(X.n_features), None


class Everything(BaseEstimator):  # type: ignore[misc]  # untyped base
    """All columns."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002 - whatever the target
        """Count the columns."""
        self.support_: BoolArray = np.ones(
            X.shape[1] if hasattr(X, "shape") else len(X[0]), np.bool_
        )
        return self

    def get_support(self) -> BoolArray:
        """The mask of all columns."""
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class MRMR(Ranking):
    """Least redundancy, most relevance, as in mRMR's quotient of F statistics and correlations.

    The next feature is that with the largest F_j / mean |corr(j, chosen)| (FCQ of Zhao, Anand and
    Wang, 2019).

    Parameters
    ----------
    n_features : int, default=50
        How many are put in order.
    """

    def __init__(
        self, task: str = "classification", random_state: Any = None, n_features: int = 50
    ) -> None:
        super().__init__(task, random_state)
        self.n_features = n_features

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[list[int], None]:
        with np.errstate(all="ignore"):
            scores, _ = (f_classif if self._is_classes else f_regression)(X.values, y)
        relevance = np.nan_to_num(scores, nan=0.0, posinf=np.finfo(float).max)
        order = [int(relevance.argmax())]
        redundancy = np.zeros(X.n_features)
        while len(order) < min(self.n_features, X.n_features):
            redundancy += np.abs(_correlations(X.values, order[-1]))
            quotient = relevance / np.maximum(redundancy / len(order), 1e-3)
            quotient[order] = -np.inf
            order.append(int(quotient.argmax()))
        return order, None


def _correlations(values: Any, feature: int) -> FloatArray:
    """With one column; columns have standard deviation one."""
    one = values[:, [feature]]
    one = np.asarray(one.todense() if hasattr(one, "todense") else one).ravel()
    found: FloatArray = np.asarray(values.T @ (one - one.mean())).ravel() / len(one)
    return found


def _falling(scores: Any) -> IntArray:
    clean = np.where(np.isnan(scores), -np.inf, scores)
    return np.argsort(-clean, kind="stable").astype(np.int64)


def _accepted(p: FloatArray) -> int:
    """How many hypotheses Benjamini and Hochberg reject."""
    ladder = FALSE_DISCOVERIES * np.arange(1, len(p) + 1) / len(p)
    below = np.flatnonzero(np.sort(p) <= ladder)
    return int(below[-1]) + 1 if len(below) else 0
