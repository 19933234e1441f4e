"""What the grafting selectors are given: tables, streams and tables on disk; and their columns."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from secateur._kernels.threads import Threads
from secateur.data.costs import as_costs
from secateur.data.messages import some_of
from secateur.data.problem import Problem
from secateur.data.standardize import standardize_table
from secateur.data.table import Table
from secateur.engines.grafting.columns import TableColumns
from secateur.exceptions import InputError, ParameterError
from secateur.execution.blocks import Scratch
from secateur.execution.distributed_columns import DistributedColumns
from secateur.execution.number_blocks import file_number_blocks
from secateur.execution.worker import NumberBlockSource
from secateur.selectors.inputs import current_executor, read_lazy, read_stored
from secateur.selectors.parameters import (
    SHARED_CONSTRAINTS,
    Constraint,
    check_kept,
    number,
    one_of,
    read_penalty,
)
from secateur.storage.numbers import StoredNumbers, numbers_of, store_stream
from secateur.storage.parts import LazyTable
from secateur.storage.sources import is_stream, refuse_beside
from secateur.storage.stored_table import StoredTable

CONSTRAINTS: dict[str, Constraint] = SHARED_CONSTRAINTS | {
    "model": one_of("linear", "mlp", advice="Use 'linear' for coefficients."),
    "l0": number(0, below=True, advice="Use 0 for no penalty per feature."),
    "l2": number(0, below=True, advice="Use 0 for no ridge."),
    "max_hidden": number(1, whole=True, or_none=True, advice="Use None for no limit."),
    "adjust": one_of("all", "newest", advice="Use 'all' to fit every free weight again."),
    "retries": number(0, whole=True, advice="Use 0 to stop where the criterion rises."),
    "standardize": one_of(True, False, advice="Use True unless columns share a scale."),
    "fit_intercept": one_of(True, False, advice="Use True for a bias."),
    "tol": number(0, 1, above=True, below=True, advice="Use 1e-6 for a start."),
    "max_iter": number(1, whole=True, advice="Use 200 for a start."),
}


def read_l1(l1: Any, *, one_by_one: bool) -> float | list[float] | None:
    """One penalty, a falling grid, or None for "auto"; a grid needs many weights at a time.

    >>> read_l1([0.01, 0.1], one_by_one=False)
    [0.1, 0.01]
    """
    found = read_penalty("l1", l1)
    if one_by_one and isinstance(found, list):
        if len(found) > 1:
            msg = (
                "'l1' must be one number or 'auto' where weights are grafted one by one. Got "
                f"{len(found)} values with an L0 penalty, model='mlp' or adjust='newest'. Fit once "
                "for each."
            )
            raise ParameterError(msg)
        return found[0]
    return found


def refuse_categories(table: Table) -> None:
    """Weights times codes of categories mean nothing."""
    found = table.categorical if isinstance(table, LazyTable) else tuple(table.categories)
    refuse_category_columns(table.names, found)


def refuse_category_columns(names: Sequence[str], categorical: Sequence[int]) -> None:
    """The same, of columns that are known by name."""
    if categorical:
        told = some_of([names[j] for j in categorical])
        msg = (
            f"X must hold numbers for grafting. Got categories in column(s) {told}. "
            "Encode them first, for instance with OneHotEncoder."
        )
        raise InputError(msg)


Class = TypeVar("Class", bound=type)

FIRST = """model : {"linear", "mlp"}, default="linear"
    What grows: a linear model, or a network with one hidden layer of sigmoid units.
l1 : float, "auto" or sequence of float, default="auto"
    The penalty on ``sum alpha |w|``. "auto" traces a falling grid from the smallest value that
    keeps everything out, scores each on rows that took no part, and lets ``cut`` choose; a
    sequence is a grid of your own. Where weights are grafted one by one (``l0``, "mlp", "newest")
    "auto" is one small value, and each graft is a step. Where there are too few rows to judge by
    (see ``cv``), "auto" is one middling value.
l0 : float, default=0.0
    The penalty of a feature in use, times its cost; makes the choice greedy (Section 3.2.2).
l2 : float, default=0.0
    The penalty on ``sum alpha w^2``.
costs : None, number, sequence, dict or FeatureCosts, default=None
    What features cost, 1 each by default: the alphas of Eq. 7.
max_features : int, default=None
    A hard budget: no feature enters beyond it.
max_hidden : int, default=None
    The most hidden units of a network.
adjust : {"all", "newest"}, default="all"
    Which weights are fitted after a graft: all free ones, or the newest and the biases
    (Section 3.4).
retries : int, default=0
    How many further candidates are tried where the criterion rises (Section 3.2.3).
standardize : bool, default=True
    Bring columns to mean 0 and standard deviation 1 first; sparse ones stay sparse.
fit_intercept : bool, default=True
    Without an intercept columns are scaled, not centred.
tol : float, default=1e-6
    The largest violation of optimality and the largest duality gap, as shares of those at the
    start.
max_iter : int, default=200
    The most grafting rounds for one L1 penalty; one by one, the most grafts."""

CLASSIFICATION = """class_weight : None, "balanced" or dict, default=None
    Weights of the classes, times those of the rows."""

LAST = """cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
    Which step of the path is chosen. None is the fewest features within one standard error of the
    best; of a single penalty the only step.
cv : None, int, splitter or list of (train, test), default=None
    The folds by which steps are judged. None is five up to 2,000 rows, three up to 5,000, and one
    held-out fifth above; none below 40 rows, or where a class has fewer than 6.
random_state : int, RandomState or None, default=None
    Draws the folds; grafting itself leaves nothing to chance.
n_jobs : int, default=None
    Threads; None is all cores. The result does not depend on it.
executor : DaskExecutor, default=None
    Who holds the table and sums over its rows: the workers of a cluster, or None for this process.
    Sums over rows are then made block by block, which may change their last digits; the number of
    workers changes nothing.
verbose : int, default=0
    1 shows a progress bar."""

ATTRIBUTES = """path_ : SelectionPath
    Supports, costs and scores: a step is one L1 penalty, or one graft.
selection_ : Selection
    The chosen step; print it for a sentence.
support_ : array of bool, shape (n_features_in_,)
ranking_ : array of int, shape (n_features_in_,)
coef_ : array of shape (n_features_in_,), or (n_outputs, n_features_in_) for classes
    In the units of X, also where columns were standardised. Linear models only.
intercept_ : float, or array of shape (n_outputs,) for classes
network_ : Network
    The connections of a network; print it for a table. Networks only.
feature_importances_ : array of float, shape (n_features_in_,)
    Shares of the absolute weights of standardised columns.
kkt_violation_ : float
    The largest violation of the optimality conditions, as a share of the largest gradient at the
    start.
dual_gap_ : float
    How much the criterion can still fall at most, as a share of the loss of a constant; NaN for
    networks, which are not convex.
n_grafts_ : int
    How many weights were freed on the way.
n_iter_ : int
    Grafting rounds.
n_features_in_ : int
feature_names_in_ : array of str
    Only where X has names.
classes_ : array
    Only for classes."""


def with_parameters(cls: Class) -> Class:
    """Put the parameters and attributes into a class's docstring, before its examples."""
    head, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    target_type = cls._target_type  # type: ignore[attr-defined]  # any grafting class
    own = f"{CLASSIFICATION}\n" if target_type == "classification" else ""
    cls.__doc__ = (
        f"{head.rstrip()}\n\nParameters\n----------\n{FIRST}\n{own}{LAST}\n\n"
        f"Attributes\n----------\n{ATTRIBUTES}\n\nExamples\n--------\n{examples}"
    )
    return cls


def read_given(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights; a stream or a table on disk as numbers on disk, with what it brings.

    Columns are looked at before anything is written.
    """

    def check(names: tuple[str, ...], categorical: Sequence[int]) -> None:
        refuse_category_columns(names, categorical)
        cost_model = as_costs(estimator.costs).bind(names)
        check_kept(cost_model.keep, estimator.max_features)

    if isinstance(X, StoredTable):
        y, weight = read_stored(X, y, sample_weight, None)
        return numbers_of(X, check), y, weight
    if is_stream(X):
        refuse_beside(sample_weight)
        found = store_stream(X, y, check)
        return found.table, found.target, found.weight
    return read_lazy(X, y, sample_weight)


def columns_of(
    problem: Problem, executor: Any, threads: Threads, *, centre: bool, scale: bool
) -> TableColumns:
    """The columns on one scale: here, in a file, or in blocks where an executor has them."""
    table, weight = problem.table, problem.weight
    if executor is None and isinstance(table, StoredNumbers):
        executor = table.executor
    elif executor is None and isinstance(table, LazyTable):
        executor = current_executor()
    spread = partial(DistributedColumns, weight=weight, centre=centre, scale=scale)
    if executor is not None:
        holding = NumberBlockSource(table)
        return spread(executor.distribute(holding).code_executor(), is_sparse=holding.is_sparse)
    if isinstance(table, StoredNumbers):
        blocks, folder = file_number_blocks(table, threads), table.folder
        return spread(blocks, is_sparse=table.is_sparse, space=lambda: Scratch(folder))
    if isinstance(table, LazyTable):
        return spread(NumberBlockSource(table).here(threads), is_sparse=False)
    return standardize_table(table, weight, centre=centre, scale=scale, threads=threads)
