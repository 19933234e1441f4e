"""What a fitted method gives: its own choice, and at most so many features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.comparison.translating import Sources
from secateur.exceptions import InputError
from secateur.path import SelectionPath, Subset
from secateur.path.matching import better_of
from secateur.typing import FloatArray, IntArray


def choices_of(fitted: Any, sizes: Sequence[int], sources: Sources | None = None) -> list[Subset]:
    """What a fitted method gives at each size, and by itself.

    A path gives its largest step of at most that size, filled up with what enters next. A ranking
    gives its first features. A plain support gives itself where it is not too large. What a method
    cannot give is left out.

    Parameters
    ----------
    fitted : estimator
        With ``path_``, with ``order_``, or with ``get_support`` and perhaps a ranking.
    sizes : sequence of int
        The most features.
    sources : Sources, optional
        The features that its columns were made of, where they are not the features themselves.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> X, y = [[0, 1, 5], [1, 3, 5], [2, 2, 6], [3, 4, 5]], [0, 0, 1, 1]
    >>> [subset.order.tolist() for subset in choices_of(SelectKBest(k=1).fit(X, y), [2])]
    [[0, 2], [0]]
    """
    if hasattr(fitted, "path_"):
        path = fitted.path_ if sources is None else sources.path(fitted.path_)
        own = path[fitted.selection_.index].order
        sized = [Subset(size, within(path, size)) for size in sizes]
        return [*sized, Subset(None, own)]
    if hasattr(fitted, "order_"):
        order, n_own = fitted.order_, fitted.n_own_
        if sources is not None:
            n_own = None if n_own is None else len(sources.order(order[:n_own]))
            order = sources.order(order)
        own_choice = [] if n_own is None else [Subset(None, order[:n_own])]
        return [*(Subset(size, order[:size]) for size in sizes), *own_choice]
    return _of_support(fitted, sizes, sources)


def within(path: SelectionPath, size: int) -> IntArray:
    """At most so many features of a path, in order of entry."""
    counts = path.n_features
    fitting = np.flatnonzero(counts <= size)
    if len(fitting):
        largest = better_of(path, fitting[counts[fitting] == counts[fitting].max()])
        chosen = [int(j) for j in path[largest].order]
    else:
        chosen = []
    larger = np.flatnonzero(counts > size)
    for index in larger[np.argsort(counts[larger], kind="stable")]:
        if len(chosen) == size:
            break
        order = path[int(index)].order
        chosen += order[~np.isin(order, chosen)][: size - len(chosen)].tolist()
    return np.array(chosen, np.int64)


def _of_support(fitted: Any, sizes: Sequence[int], sources: Sources | None) -> list[Subset]:
    support, worth = _support(fitted), _worth(fitted)
    if sources is not None:
        support = np.sort(sources.order(support))
        worth = None if worth is None else sources.worth(worth)
    ranked = None if worth is None else _order(worth, support)
    own = support if ranked is None else ranked[np.isin(ranked, support)]
    if ranked is not None:
        return [*(Subset(size, ranked[:size]) for size in sizes), Subset(None, own)]
    return [*(Subset(size, own) for size in sizes if len(own) <= size), Subset(None, own)]


def _support(fitted: Any) -> IntArray:
    if not hasattr(fitted, "get_support"):
        raise InputError(
            "A method must tell which columns it keeps. Got "
            f"{type(fitted).__name__} without get_support. Use a selector of scikit-learn."
        )
    return np.flatnonzero(np.asarray(fitted.get_support())).astype(np.int64)


def _order(worth: FloatArray, support: IntArray) -> IntArray:
    """All features in falling order; what the method kept itself comes first."""
    is_out = np.ones(len(worth), np.bool_)
    is_out[support] = False
    return np.lexsort([-np.where(np.isnan(worth), -np.inf, worth), is_out]).astype(np.int64)


def _worth(fitted: Any) -> Any:
    """What each column is worth to the method, if it tells."""
    if getattr(fitted, "ranking_", None) is not None:
        return -np.asarray(fitted.ranking_, np.float64)
    if getattr(fitted, "scores_", None) is not None:
        return np.asarray(fitted.scores_, np.float64)
    model = getattr(fitted, "estimator_", None)
    for name in ("feature_importances_", "coef_"):
        found = getattr(model, name, None)
        if found is not None:
            sizes = np.abs(np.asarray(found, np.float64))
            return sizes.sum(axis=0) if sizes.ndim == 2 else sizes
    return None
