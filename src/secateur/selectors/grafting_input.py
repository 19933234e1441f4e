"""The input of grafting: rows of any kind, penalties, losses and the columns of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.costs import as_costs
from secateur.data.frames import is_lazy
from secateur.data.standardize import standardize_table
from secateur.data.table import Problem
from secateur.engines.grafting.columns import GraftingParams, TableColumns
from secateur.exceptions import ParameterError
from secateur.execution.disk import FileAllocator
from secateur.execution.distributed_columns import DistributedColumns, file_number_blocks
from secateur.execution.worker import number_blocks
from secateur.losses import Loss, get_loss, weighted_quantile
from secateur.losses.margins import WIDTH_SHARE, EpsilonInsensitive, Hinge
from secateur.selectors.inputs import (
    FitInput,
    current_executor,
    is_stream,
    read_costs,
    read_stored,
    refuse_categories,
)
from secateur.selectors.parameters import read_penalty
from secateur.storage.sources import lazy_blocks
from secateur.storage.stored_table import StoredNumbers, StoredTable, numbers_of, store_stream
from secateur.typing import FloatArray

HUBER_LEVEL = 0.9  # residuals from the median beyond this quantile count as outliers by default
Alphas = tuple[FloatArray | None, FloatArray | None]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GraftingInput(FitInput):
    """The input of a grafting fit; ``l1`` is one number, a falling grid, or None for "auto".

    ``l0`` is a grid of a joint search, or None for an automatic one, if ``is_joint``. ``alphas``
    are those of L1 and L2 where they are not the costs.
    """

    loss: Loss
    l1: float | list[float] | None
    l0: list[float] | None = None
    is_joint: bool = False
    alphas: Alphas = (None, None)


def read_penalties(estimator: Any, *, one_by_one: bool) -> dict[str, Any]:
    """The penalties of Eq. 7, or the limits of Eq. 5 in their place."""
    l1, l0 = (read_penalty(name, getattr(estimator, name)) for name in ("l1", "l0"))
    is_joint = not isinstance(l0, float)
    if isinstance(l1, list) and one_by_one and not is_joint:
        if len(l1) > 1:
            raise ParameterError(
                "'l1' must be one number or 'auto' with an L0 penalty, model='mlp' or "
                f"adjust='newest'. Got {len(l1)} values. Use l0='auto' to search both."
            )
        l1 = l1[0]
    given = [name for name in ("l1_limit", "l2_limit") if getattr(estimator, name) is not None]
    if given:
        wrong = next(
            (
                f"{name}={getattr(estimator, name)!r}"
                for name, plain in (("model", "linear"), ("adjust", "all"), ("l0", 0.0))
                if getattr(estimator, name) != plain
            ),
            f"{given[0]} with {given[1]}" if len(given) > 1 else None,
        )
        own = given[0][:2]
        if wrong is None and getattr(estimator, own) != ("auto" if own == "l1" else 0.0):
            wrong = f"{own}={getattr(estimator, own)!r}"
        if wrong is not None:
            raise ParameterError(
                f"{given[0]!r} must be the only limit, in place of {own!r}, for a linear model "
                f"without L0 penalty. Got {wrong}. Leave one of them out."
            )
        l1 = l1 if isinstance(l1, list | float) else 0.0
    return {"l1": l1, "l0": None if isinstance(l0, float) else l0, "is_joint": is_joint}


def read_alphas(estimator: Any, problem: Problem) -> Alphas:
    """The alphas of L1 and L2, 0 for kept features; None where they are the costs."""
    names, keep = problem.table.names, problem.cost_model.keep

    def read(name: str) -> FloatArray | None:
        given = getattr(estimator, name)
        if given is None:
            return None
        try:
            found = as_costs(given).bind(names).cost
        except (ValueError, TypeError) as error:
            text = str(error).replace("'costs'", f"{name!r}")
            raise type(error)(text) from error
        return np.where(keep, 0.0, found)

    return read("l1_costs"), read("l2_costs")


def loss_of(estimator: Any, problem: Problem) -> Loss:
    """The loss of a selector, with its scales taken from the target where they are not given."""
    target, weight, name = problem.target, problem.weight, estimator.loss
    plain = "log_loss" if target.n_classes else "squared_error"
    if name == "hinge" and target.n_classes > 2:
        raise ParameterError(
            f"'loss' must be 'log_loss' for more than two classes. Got 'hinge' and "
            f"{target.n_classes} classes. Fit one class against the rest, or use 'log_loss'."
        )
    if not target.n_classes and name != plain and estimator.model == "mlp":
        raise ParameterError(
            f"'loss' must be 'squared_error' for networks. Got {name!r} with model='mlp'. Use "
            "model='linear'."
        )
    if name == "hinge":
        return Hinge()
    if name == "epsilon_insensitive":
        mean = float(np.average(target.values, weights=weight))
        variance = float(np.average((target.values - mean) ** 2, weights=weight))
        return EpsilonInsensitive(estimator.epsilon, WIDTH_SHARE * variance**0.5 or 1.0)
    delta = estimator.huber_delta if name == "huber" else None
    if name == "huber" and delta is None:
        residuals = np.abs(target.values - weighted_quantile(target.values, weight, 0.5))
        delta = weighted_quantile(residuals, weight, HUBER_LEVEL)
    return get_loss(name, n_classes=target.n_classes, delta=delta or 1.0)


def read_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights; a stream or a stored table is checked and copied to a file of numbers."""

    def check(names: tuple[str, ...], categorical: Sequence[int]) -> None:
        refuse_categories(names, categorical, "grafting")
        read_costs(estimator.get_params(deep=False), names)

    if isinstance(X, StoredTable):
        y, weight = read_stored(X, y, sample_weight, None)
        return numbers_of(X, check), y, weight
    if is_stream(X):
        return store_stream(X, y, sample_weight, check)
    if is_lazy(X):
        table, y, sample_weight = store_stream(lazy_blocks(X, y, sample_weight), None, None, check)
        table.executor = current_executor()
        X = table
    return X, y, sample_weight


def make_columns(
    problem: Problem, executor: Any, threads: Threads, params: GraftingParams
) -> TableColumns:
    """Standardised columns: in memory, in a file, or in blocks of an executor."""
    table, weight = problem.table, problem.weight
    centre, scale = params.fit_intercept, params.standardize
    if executor is None and isinstance(table, StoredNumbers):
        executor = table.executor
    distributed = partial(DistributedColumns, weight=weight, centre=centre, scale=scale)
    if executor is not None:
        return distributed(executor.distribute(number_blocks(table)).code_executor())
    if isinstance(table, StoredNumbers):
        blocks, folder = file_number_blocks(table, threads), table.folder
        return distributed(blocks, space=lambda: FileAllocator(folder))
    return standardize_table(table, weight, centre=centre, scale=scale, threads=threads)
