"""The input of ``fit``, read and checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from secateur.data.costs import CostModel, as_costs
from secateur.data.frames import is_lazy, read_table
from secateur.data.table import Fold, Problem, Table
from secateur.data.target import (
    Target,
    TargetType,
    class_weights,
    combine_weights,
    in_range,
    read_target,
    read_target_like,
    read_weights,
)
from secateur.data.tasks import read_queries, weights_of_rows
from secateur.engines.boosted.engine import ValidationRows
from secateur.exceptions import InputError, ParameterError, SecateurError, some_of
from secateur.execution.dask import DaskExecutor
from secateur.losses import Loss
from secateur.model_selection.folds import default_folds, group_numbers, read_seed
from secateur.path import SelectionPath
from secateur.storage.open_table import open_table
from secateur.storage.stored_table import StoredNumbers, StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

Extended = TypeVar("Extended", bound="FitInput")


@dataclass(frozen=True, slots=True, eq=False)
class FitInput:
    """A fit's input, read and checked: families of selectors add what they need to it.

    The problem has the rows of positive weight, which are ``kept``; the target is that of all
    rows. The weights of the rows of each class were multiplied by ``class_factors``. ``groups``
    are those of all rows, as they were given.
    """

    problem: Problem
    target: Target
    kept: IntArray
    class_factors: FloatArray
    seed: int
    groups: AnyArray | None = None

    @property
    def row_groups(self) -> IntArray | None:
        """A number for the group of each row of the problem."""
        return None if self.groups is None else group_numbers(self.groups[self.kept])

    @property
    def default_folds(self) -> int:
        """The number of folds where ``cv`` is None."""
        return default_folds(self.problem.n_rows)

    @property
    def classes(self) -> AnyArray | None:
        """The classes of the target; None for regression."""
        return self.problem.target.classes

    @property
    def strata(self) -> Target:
        """The target by whose classes rows are drawn."""
        return self.problem.target

    def extended(self, kind: type[Extended], **more: Any) -> Extended:
        """The same input with the fields of a subclass."""
        return kind(**{each.name: getattr(self, each.name) for each in fields(self)}, **more)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoostedInput(FitInput):
    """The input of a boosted fit.

    ``penalty`` is one number, a falling grid, or None for "auto"; ``validation`` are the
    user's own validation rows; ``resume`` is the path of an interrupted fit; ``queries`` are the
    numbers of the rows' queries, for ranking.
    """

    loss: Loss
    penalty: float | list[float] | None
    validation: ValidationRows | None = None
    resume: SelectionPath | None = None
    queries: IntArray | None = None

    @property
    def default_folds(self) -> int:
        """The number of folds where ``cv`` is None; fewer rows with many columns have some."""
        return default_folds(self.problem.n_rows, self.problem.table.n_features)


def read_input(
    estimator: Any, target_type: TargetType, X: Any, y: Any, sample_weight: Any
) -> FitInput:
    """Read and check X, y, the weights, and of an estimator the costs and the seed of one task."""
    known = estimator.get_params(deep=False)
    if isinstance(X, StoredTable):
        y, sample_weight = read_stored(X, y, sample_weight, known.get("categorical_features"))
    class_weight = known.get("class_weight")
    return read_problem(known, target_type, X, y, sample_weight, class_weight=class_weight)


def read_problem(
    parameters: Mapping[str, Any],
    target_type: TargetType,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    class_weight: Any = None,
    read_y: Callable[..., Target] = read_target,
) -> FitInput:
    """The same of arrays, frames and tables whose target and weights are known."""
    if y is None:  # before X, as scikit-learn does
        read_y(y, target_type=target_type)
    seed = read_seed(parameters.get("random_state"))
    table: Table = X
    if not isinstance(X, StoredTable | StoredNumbers):  # which are tables on disk, or on a cluster
        table = read_table(X, categorical_features=parameters.get("categorical_features"))
    cost_model = read_costs(parameters, table.names)
    target = read_y(y, target_type=target_type, n_rows=table.n_rows)
    plain = in_range(read_weights(sample_weight, table.n_rows))
    weight = in_range(combine_weights(target, plain, class_weight))
    kept = np.flatnonzero(weight)
    problem = Problem(table, target, weight, cost_model, target_type)
    if len(kept) < len(weight):
        if isinstance(table, StoredTable):  # its rows are not here to be left out
            raise InputError(
                "Rows of a stored table must have positive weights. Got some of weight 0. Leave "
                "them out when the table is made: open_table(..., weight=...)."
            )
        problem = problem.take(kept)
        if target.classes is not None and len(np.unique(problem.target.values)) < 2:
            raise InputError(
                "y must have at least two classes among the rows of positive weight. Got 1 class. "
                "Give weight to rows of another class."
            )
    factors = class_weights(target, class_weight, plain)
    return FitInput(problem, target, kept, factors, seed)


def read_costs(parameters: Mapping[str, Any], names: Sequence[str]) -> CostModel:
    """What features cost; those that are kept must be allowed to be."""
    costs = as_costs(*(parameters.get(name) for name in ("costs", "feature_groups", "keep")))
    cost_model = costs.bind(names)
    cost_model.costs(cost_model.keep)  # a rule of the user's own may raise
    limit = parameters.get("max_features")
    n_kept = cost_model.count(np.flatnonzero(cost_model.keep))
    if limit is not None and n_kept > limit:
        raise ParameterError(
            f"'max_features' must be at least the kept features, {n_kept}. Got {limit}. Keep fewer."
        )
    return cost_model


def is_stream(X: Any) -> bool:
    """Whether X comes in blocks: the name of a file, an iterator, or a table on disk."""
    return isinstance(X, str | os.PathLike | Iterator | StoredTable)


def store_lazy(estimator: Any, X: Any, y: Any, *others: Any) -> tuple[Any, Any]:
    """A dask collection as a stored table, on the cluster of the client if there is one."""
    if not is_lazy(X):
        return X, y
    if any(other is not None for other in others):
        raise InputError(
            "A dask collection must bring X and y only. Got weights, tasks or validation rows "
            "beside it. Name its columns in open_table(..., weight=..., task=...)."
        )
    seed = estimator.random_state
    table = open_table(
        X,
        y,
        categorical_features=estimator.categorical_features,
        max_bins=estimator.max_bins,
        random_state=seed if isinstance(seed, int) else 0,
        n_jobs=estimator.n_jobs,
        executor=current_executor(),
    )
    return table, None


def current_executor() -> DaskExecutor | None:
    """That of the client of this process, if it has one."""
    try:
        from distributed import get_client

        return DaskExecutor(get_client())
    except (ImportError, ValueError):
        return None


def read_stored(
    table: StoredTable, y: Any, sample_weight: Any, categorical_features: Any
) -> tuple[Any, Any]:
    """Target and weight of a table on disk, which has its own."""
    if y is not None or (categorical_features is not None and not table.schema.encoders):
        what = "a y" if y is not None else "'categorical_features'"
        msg = f"A stored table already has its target and categories. Got {what} as well. Give "
        raise InputError(msg + "it to open_table instead.")
    if len(table.target_names) > 1:
        raise InputError(
            f"A selector for one task needs one target. Got {some_of(table.target_names)}. Use a "
            "multitask selector, or open the table with one of them."
        )
    return table.target(), table.weight if sample_weight is None else sample_weight


def refuse_categories(names: Sequence[str], categorical: Iterable[int], method: str) -> None:
    """Refuse category columns for a method that takes means of columns."""
    found = [names[feature] for feature in categorical]
    if found:
        raise InputError(
            f"X must hold numbers for {method}. Got category column(s) {some_of(found)}. Encode "
            "them, for instance with sklearn.preprocessing.OneHotEncoder, or use AGBMClassifier."
        )


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Say which of several tables or vectors an error is about."""
    try:
        yield
    except SecateurError as error:
        raise type(error)(f"{what}: {error}") from error


def read_validation(
    given: FitInput, X_val: Any, y_val: Any, sample_weight_val: Any, qid_val: Any = None
) -> ValidationRows | None:
    """The user's own validation rows, with the class weights of the training rows."""
    if all(value is None for value in (X_val, y_val, sample_weight_val, qid_val)):
        return None
    if X_val is None or y_val is None:
        raise InputError(
            "'X_val' and 'y_val' must come together. Got only one of them, or neither but "
            "'sample_weight_val'. Give both."
        )
    with _named("X_val"):
        table = read_table(X_val, like=given.problem.table.schema)
    with _named("y_val"):
        target_type, n_rows = given.problem.target_type, table.n_rows
        target = read_target_like(y_val, given.target, n_rows=n_rows, target_type=target_type)
    queries = None
    if target_type == "ranking":
        queries = read_queries(qid_val, n_rows, "qid_val")
        sample_weight_val = weights_of_rows(sample_weight_val, queries)
    with _named("sample_weight_val"):
        weight = in_range(read_weights(sample_weight_val, table.n_rows))
    if target.classes is not None:
        weight = weight * given.class_factors[target.values.astype(np.int64)]
    return ValidationRows(table, target.values, weight, queries)


# Parameters that may differ where a fit is resumed.
MAY_DIFFER = {"max_iter", "n_jobs", "verbose", "cut", "n_iter_no_change", "max_bins"}
MAY_DIFFER |= {"time_limit", "on_interrupt"}


def read_resume(resume: Any, metadata: dict[str, Any]) -> SelectionPath | None:
    """The path of an interrupted fit, which must be of the same selector and columns."""
    if resume is None:
        return None
    if not isinstance(resume, SelectionPath) or len(resume) == 0:
        raise InputError(
            "'resume' must be the path of an interrupted fit. Got "
            f"{type(resume).__name__}. Give selector.path_, or the path of the error."
        )
    others = {
        name
        for name, value in metadata["parameters"].items()
        if name not in MAY_DIFFER and resume.parameters.get(name) != value
    }
    if resume.algorithm != metadata["algorithm"]:
        others.add("the selector")
    if resume.feature_names != tuple(metadata["feature_names"]):
        others.add("the columns")
    if others:
        raise InputError(
            "'resume' must be a path of the same selector, parameters and columns. Got other "
            f"{some_of(sorted(others))}. Fit without resume."
        )
    if any(step.model is None for step in resume):
        raise InputError(
            "'resume' must be a path with its models. Got one that was read from a file. Fit "
            "without resume, or keep the selector by pickle."
        )
    return resume


def rounds_to_resume(given: Any, fold: Fold) -> list[Any]:
    """The trees of an interrupted single fit; its rows must be those of this one."""
    ensemble = given.resume[-1].model.ensemble
    target, weight = given.problem.target.values[fold.train], given.problem.weight[fold.train]
    if not np.array_equal(given.loss.baseline(target, weight), ensemble.baseline):
        raise InputError(
            "'resume' must be a path of the same rows. Got one with another initial prediction. "
            "Give the same rows and a random_state that is a number, or fit without resume."
        )
    return list(ensemble.rounds)
