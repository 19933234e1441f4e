"""Methods that know numbers only, on tables with categories: columns there, features back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from secateur._data.costs import FeatureCosts, as_costs
from secateur._data.prices import Prices
from secateur.evaluation.numbers import AsNumbers, reading_text, takes_categories
from secateur.evaluation.refitting import fit_anew
from secateur.evaluation.rows import Rows
from secateur.exceptions import InputError
from secateur.path import SelectionPath, Step
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The feature that each column was made of: choices of columns as choices of features.

    Parameters
    ----------
    of_columns : array of int
    names : tuple of str
        Of the features.

    Examples
    --------
    >>> sources = Sources(np.array([0, 1, 1, 2]), ("size", "sex", "age"))
    >>> sources.order(np.array([2, 3, 1]))
    array([1, 2])
    >>> sources.worth(np.array([0.5, 0.1, 0.4, 0.2]))
    array([0.5, 0.4, 0.2])
    """

    of_columns: IntArray
    names: tuple[str, ...]

    def order(self, columns: IntArray) -> IntArray:
        """Columns in some order as features: each where the first of its columns is."""
        features = self.of_columns[np.asarray(columns, np.int64)]
        _, first = np.unique(features, return_index=True)
        return features[np.sort(first)]

    def worth(self, worth: Any) -> FloatArray:
        """That of the best of its columns."""
        found = np.full(len(self.names), np.nan)
        np.fmax.at(found, self.of_columns, np.asarray(worth, np.float64))
        return found

    def path(self, path: SelectionPath) -> SelectionPath:
        """The same steps in terms of features, which weigh what their columns do together."""
        steps = tuple(self._step(step) for step in path)
        return replace(path, steps=steps, feature_names=self.names)

    def _step(self, step: Step) -> Step:
        order = self.order(step.order)
        support = np.sort(order)
        weight = np.zeros(len(self.names))
        np.add.at(weight, self.of_columns[step.support], step.weight)
        return replace(step, support=support, order=order, weight=weight[support], supports={})


def fit_method(
    method: Any, rows: Rows, seed: int, n_jobs: int | None
) -> tuple[Any, Sources | None]:
    """A method fitted to some rows in a form that it can use.

    Where there are categories, those that take them get them. The others get a column of 0 and 1
    for each value that is among these rows; if they have prices, the columns of one category are
    bought as one. Feature Gradients switches groups as a whole, which is something else: a category
    of many values would have to be worth all of its columns. There columns stand alone.

    Returns
    -------
    fitted : estimator
    sources : Sources or None
        The features that its columns were made of; None where they are the features.
    """
    if not rows.has_categories:
        return fit_anew(method, rows, seed, n_jobs), None
    if takes_categories(method):
        return fit_anew(reading_text(method), rows, seed, n_jobs), None
    numbers = AsNumbers().fit(rows.X)
    sources = Sources(numbers.sources_, rows.names)
    columns = replace(
        rows,
        X=numbers.transform(rows.X),
        names=tuple(numbers.get_feature_names_out()),
        has_categories=False,
    )
    return fit_anew(_priced(method, sources), columns, seed, n_jobs), sources


def _priced(method: Any, sources: Sources) -> Any:
    """The method with the prices of features told for columns, if it has prices."""
    known = method.get_params(deep=False) if hasattr(method, "with_cut") else {}
    if "costs" not in known:
        return method
    costs = as_costs(known["costs"], known.get("groups"), known.get("keep"))
    if costs.neighbours is not None or costs.rule is not None:
        msg = (
            "Prices of tables with categories must be costs and groups for a method that knows "
            "numbers only. Got neighbours, or a rule. Encode the categories beforehand."
        )
        raise InputError(msg)
    prices = costs.bind(sources.names)
    of_columns = sources.of_columns
    told = FeatureCosts(
        prices.cost[of_columns],
        groups=_bags(prices, of_columns, are_prices="group_mode" not in known),
        keep=prices.keep[of_columns],
        unit=costs.unit,
    )
    free = {name: None for name in ("groups", "keep") if name in known}
    return clone(method).set_params(costs=told, **free)


def _bags(prices: Prices, of_columns: IntArray, *, are_prices: bool) -> Any:
    """The bags of columns: those of their features, or one for a category that is in none."""
    n_columns = np.bincount(of_columns, minlength=prices.n_features)
    alone = (n_columns > 1) & are_prices
    parts = []
    if prices.bags is not None:
        alone &= np.diff(prices.bags.indptr) == 0
        parts.append(prices.bags[of_columns])
    if not parts and not alone.any():
        return None
    place = np.cumsum(alone) - 1
    rows = np.flatnonzero(alone[of_columns])
    shape = (len(of_columns), int(alone.sum()))
    ones = np.ones(len(rows), np.int32)
    parts.append(sp.csr_array((ones, (rows, place[of_columns[rows]])), shape=shape))
    return sp.csr_array(sp.hstack(parts))
