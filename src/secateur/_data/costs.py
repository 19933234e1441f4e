"""What features cost, in the user's words: alone, in bags, beside each other, or by a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._data.bags import read_bags
from secateur._data.lookup import FeatureIndex
from secateur._data.neighbours import read_neighbours
from secateur._data.prices import PriceRule, Prices
from secateur._data.vectors import as_array
from secateur._data.wording import some_of
from secateur.exceptions import InputError, ParameterError
from secateur.typing import FloatArray

__all__ = ["FeatureCosts", "Prices", "as_costs"]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCosts:
    """What features cost: given to a selector, it is bound to the features of its table.

    A feature is paid for once, when it is first used. Nothing here is looked at before the
    features are known: mistakes come up when a selector is fitted, or with `bind`.

    Parameters
    ----------
    costs : None, number, sequence or dict, default=None
        What each feature costs alone, >= 0: 1 each, one number for all, one per feature, or a dict
        by name or index, where features left out cost 1.
    groups : None, sequence, dict or matrix, default=None
        Bags, as results of one blood test: the first feature of a bag pays its cost, and all
        others in it are free from then on. One label per feature (None for no bag), a dict from
        feature to label, a dict from label to a list of features, or a boolean or sparse matrix
        of shape (n_features, n_bags). Bags may overlap: a feature opens all of its bags, and is
        free if any of them is open.
    neighbours : None, tuple or matrix, default=None
        The shape of a grid of features, as (28, 28) for pixels, or a matrix of shape
        (n_features, n_features) that is not zero for neighbours. A feature with a used neighbour
        costs ``discount`` times its cost.
    discount : float, default=0.5
        From 0 (free beside a used neighbour) to 1 (no discount).
    rule : callable, default=None
        ``rule(used)`` takes the mask of used features and gives the price of each; it replaces
        costs, groups and neighbours. Used and kept features stay free.
    keep : names, indices or mask, default=()
        Features that are always in, and free.
    unit : str, default=""
        What costs are counted in, for reports.

    Examples
    --------
    >>> import numpy as np
    >>> costs = FeatureCosts({"sodium": 10, "potassium": 10}, groups={"blood": ["sodium",
    ...     "potassium"]}, unit="euro")
    >>> prices = costs.bind(["age", "sodium", "potassium"])
    >>> prices.prices(np.array([False, False, False]))
    array([ 1., 10., 10.])
    >>> prices.prices(np.array([False, True, False]))
    array([1., 0., 0.])
    """

    costs: Any = None
    groups: Any = None
    neighbours: Any = None
    discount: float = 0.5
    rule: PriceRule | None = None
    keep: Any = ()
    unit: str = ""

    def bind(self, names: Sequence[str]) -> Prices:
        """Turn the words into arrays for the features of one table.

        Parameters
        ----------
        names : sequence of str
            The names of the features, in the order of the columns.

        Returns
        -------
        Prices
            To be asked for the prices that count now.
        """
        index = FeatureIndex(names)
        keep = np.zeros(len(names), dtype=np.bool_)
        if self.keep is not None:
            keep[index.find(self.keep, parameter="keep")] = True
        return Prices(
            cost=_read_costs(self.costs, index),
            keep=keep,
            bags=read_bags(self.groups, index),
            neighbours=read_neighbours(self.neighbours, len(names)),
            discount=_read_discount(self.discount),
            rule=_read_rule(self.rule),
        )


def as_costs(value: Any = None, groups: Any = None, keep: Any = None) -> FeatureCosts:
    """Turn the short form of costs into the long one.

    Parameters
    ----------
    value : None, number, sequence, dict or FeatureCosts
        The ``costs`` of `FeatureCosts`, or all of it.
    groups, keep : optional
        As in `FeatureCosts`; must not be given twice.

    Examples
    --------
    >>> as_costs({"age": 2.0}, keep=["age"]).keep
    ['age']
    """
    if not isinstance(value, FeatureCosts):
        return FeatureCosts(value, groups=groups, keep=() if keep is None else keep)
    if groups is not None and value.groups is not None:
        raise _given_twice("groups")
    if _is_given(keep) and _is_given(value.keep):
        raise _given_twice("keep")
    return replace(
        value,
        groups=value.groups if groups is None else groups,
        keep=keep if _is_given(keep) else value.keep,
    )


def _is_given(keep: Any) -> bool:
    return keep is not None and (np.isscalar(keep) or len(keep) > 0)


def _given_twice(name: str) -> ParameterError:
    return ParameterError(
        f"{name!r} must be given once. Got it both as a parameter and in FeatureCosts. Remove one "
        "of them."
    )


def _read_costs(costs: Any, index: FeatureIndex) -> FloatArray:
    n_features = len(index.names)
    if costs is None:
        return np.ones(n_features)
    costs = _by_name(costs)
    if isinstance(costs, Mapping):
        cost = np.ones(n_features)
        found = index.find(list(costs), parameter="costs")
        cost[found] = _as_numbers(list(costs.values()))
    else:
        cost = _as_numbers(costs)
    if cost.ndim == 0:
        cost = np.full(n_features, float(cost))
    if cost.shape != (n_features,):
        raise InputError(
            f"'costs' must have one value per feature, {n_features}. Got shape {cost.shape}. Use a "
            "dict by name for a few features."
        )
    _check_costs(cost, index.names)
    return cost


def _by_name(costs: Any) -> Any:
    # a pandas series that is labelled by feature would be misread by position
    labels = getattr(costs, "index", None)
    if hasattr(costs, "to_dict") and labels is not None and not callable(labels):
        labels = list(labels)
        if labels and all(isinstance(label, str) for label in labels):
            return dict(zip(labels, costs.tolist(), strict=True))
    return costs


def _as_numbers(costs: Any) -> FloatArray:
    try:
        return as_array(costs, "costs").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"'costs' must hold numbers. Got values that are none: {error}. Give a number, one per "
            "feature, or a dict by name."
        ) from error


def _check_costs(cost: FloatArray, names: Sequence[str]) -> None:
    wrong = np.flatnonzero(~(np.isfinite(cost) & (cost >= 0)))
    if wrong.size:
        raise InputError(
            f"'costs' must be finite and >= 0. Got {some_of(cost[wrong])} for "
            f"{some_of([names[feature] for feature in wrong.tolist()])}. Use 0 for what is free."
        )


def _read_discount(discount: Any) -> float:
    is_number = isinstance(discount, int | float | np.number)
    if not is_number or not 0 <= discount <= 1:
        raise ParameterError(
            f"'discount' must be from 0 to 1. Got {discount!r}. Use 1 for no discount beside a "
            "used neighbour."
        )
    return float(discount)


def _read_rule(rule: PriceRule | None) -> PriceRule | None:
    given: Any = rule  # users are not held to the types
    if given is not None and not callable(given):
        raise ParameterError(
            f"'rule' must be a function of the mask of used features. Got {type(given).__name__}. "
            "Use 'costs' for fixed prices."
        )
    return rule
