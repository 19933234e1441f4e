"""Parameters and input of the Feature Gradients selector, checked before the fit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from secateur.data.costs import CostModel
from secateur.data.target import Target, guess_target_type
from secateur.engines.feature_gradients.batches import SearchParams, TargetType
from secateur.engines.feature_gradients.estimator import ObjectiveKind
from secateur.engines.feature_gradients.units import Units
from secateur.exceptions import InputError, ParameterError
from secateur.selectors.inputs import FitInput, read_problem, refuse_categories
from secateur.selectors.parameters import read_penalty


@dataclass(frozen=True, slots=True)
class Learnability:
    """Estimated performance of a linear model on the selected features; not a measurement.

    Parameters
    ----------
    value : float
        The residual variance of a linear model on them, as a share of the target's, or its error
        rate, averaged over classes (one against the rest) or thresholds.
    standard_error : float
        Over batches; NaN with a single batch.
    kind : {"residual variance", "error rate"}

    Examples
    --------
    >>> print(Learnability(0.125, 0.01, "error rate"))
    estimated error rate 0.125 ± 0.010
    """

    value: float
    standard_error: float
    kind: ObjectiveKind
    is_estimate: bool = True

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        around = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:.3f}"
        return f"estimated {self.kind} {self.value:.3f}{around}"


METHOD = "Feature Gradients"


def check_executor(executor: Any, accumulate: int, *, is_stream: bool) -> None:
    """Refuse a cluster if there is nothing to distribute."""
    if executor is None:
        return
    if is_stream:
        raise ParameterError(
            "'executor' must be None for a stream, whose blocks are used one after another. Got "
            "one. Leave it out, or give X as an array or data frame."
        )
    if accumulate < 2:
        raise ParameterError(
            "'accumulate' must be at least 2 with an executor: workers share the batches of one "
            f"update. Got {accumulate}. Use the number of workers."
        )


def check_against(cost_model: CostModel, estimator: Any) -> None:
    """Check parameters against the number of features, and of those that are kept."""
    wanted, most = estimator.n_features, estimator.max_features
    n_features, n_kept = cost_model.n_features, cost_model.count(np.flatnonzero(cost_model.keep))
    n_all = cost_model.count(np.arange(n_features))
    if wanted is not None and not max(1, n_kept) <= wanted <= n_all:
        least = f"{n_kept}, the number of kept features," if n_kept else "1"
        raise ParameterError(
            f"'n_features' must be from {least} to {n_all}, the number of all features. Got "
            f"{wanted}. Use None to have it chosen."
        )
    if wanted is not None and most is not None and wanted > most:
        raise ParameterError(
            f"'n_features' must be at most 'max_features', {most}. Got {wanted}. Leave one of them "
            "out."
        )
    size = np.asarray(estimator.init, np.float64)
    if size.ndim > 1 or (size.ndim == 1 and len(size) != n_features):
        raise ParameterError(
            f"'init' must be a number or one per feature, {n_features}. Got shape {size.shape}. "
            "Use 0 to start all at inclusion 0.5."
        )


def target_type_of(target_type: str, y: Any) -> TargetType:
    """The type of target: as given, or as y looks."""
    if target_type != "auto":
        return target_type  # type: ignore[return-value]  # checked against the constraint
    if y is None:
        return "regression"  # which says that there must be one
    return guess_target_type(y)


def plain_type(target_type: TargetType) -> Any:
    """The type by which the target is read: ordered classes are classes."""
    return "regression" if target_type == "regression" else "classification"


# An automatic penalty leaves at least so many rows per selected feature: with more features a
# linear model can fit any target, and held-out scores no longer compare subsets.
ROWS_PER_FEATURE = 2
ROWS_PER_FEATURE_UNSCORED = 5  # the same without held-out scores


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GradientsInput(FitInput):
    """The input of a fit; ``penalty`` is one number, a falling grid, or None for "auto"."""

    params: SearchParams
    penalty: float | list[float] | None

    def max_features(self, cut: Any, *, is_scored: bool) -> int | None:
        """The largest subset of an automatic penalty, without features that cost nothing.

        Each of several classes may need features of its own. Feature groups may have any number
        of columns.
        """
        cost_model = self.problem.cost_model
        if self.penalty is not None or cut is not None or cost_model.feature_groups is not None:
            return None
        n_free = int((cost_model.keep | (cost_model.cost == 0.0)).sum())
        per_feature = ROWS_PER_FEATURE if is_scored else ROWS_PER_FEATURE_UNSCORED
        n_classes = self.problem.target.n_classes
        n_contrasts = (
            n_classes if n_classes > 2 and self.params.target_type == "classification" else 1
        )
        return n_free + max(1, n_contrasts * self.problem.n_rows // per_feature)


def read_gradients_input(estimator: Any, X: Any, y: Any, sample_weight: Any) -> GradientsInput:
    """Read and check the input of a fit on a table."""
    penalty = read_penalty("penalty", estimator.penalty)
    target_type = target_type_of(estimator.target_type, y)
    parameters = estimator.get_params(deep=False)
    given = read_problem(parameters, plain_type(target_type), X, y, sample_weight)
    table, cost_model = given.problem.table, given.problem.cost_model
    refuse_categories(table.names, table.categories, METHOD)
    params = read_params(estimator, target_type, given.seed)
    Units(cost_model, np.arange(table.n_features), params.group_mode)
    check_against(cost_model, estimator)
    check_varies(given.problem.target)
    params.check_rows(given.problem.n_rows)
    return given.extended(GradientsInput, params=params, penalty=penalty)


def read_params(estimator: Any, target_type: TargetType, seed: int) -> SearchParams:
    """The parameters of the search."""
    known = {field.name for field in fields(SearchParams)} - {"target_type"}
    given = estimator.get_params(deep=False)
    same = {name: value for name, value in given.items() if name in known}
    same["batch_size"] = max(estimator.batch_size, estimator.order + 2)
    n_epochs = None if estimator.max_epochs == "auto" else estimator.max_epochs
    return SearchParams(target_type, n_epochs=n_epochs, seed=seed, **same)


def check_varies(target: Target) -> None:
    """Refuse a constant target."""
    if (target.values == target.values[0]).all():
        what = "1 class" if target.classes is not None else "the same value in every row"
        raise InputError(
            f"y must vary among the rows of positive weight. Got {what}. Check the rows that y was "
            "taken from, and their weights."
        )
