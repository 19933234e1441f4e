"""What the grafting selectors are given: tables, streams and tables on disk; and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from secateur._data.blocks import is_stream, refuse_beside
from secateur._data.costs import as_costs
from secateur._data.lazy import LazyTable
from secateur._data.number_storing import numbers_of, store_stream
from secateur._data.numbers import StoredNumbers
from secateur._data.problem import Problem
from secateur._data.standardized import standardize_table
from secateur._data.stored import StoredTable
from secateur._engines.grafting.columns import TableColumns
from secateur._execution.filed_blocks import filed_blocks
from secateur._execution.holdings import NumberHolding
from secateur._execution.space import Scratch
from secateur._execution.spread_columns import SpreadColumns
from secateur._kernels.threads import Threads
from secateur.selectors.grafting_parameters import refuse_category_columns
from secateur.selectors.inputs import current_executor, read_lazy, read_stored
from secateur.selectors.parameters import check_kept


def read_given(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights; a stream or a table on disk as numbers on disk, with what it brings.

    Columns are looked at before anything is written.
    """

    def check(names: tuple[str, ...], categorical: Sequence[int]) -> None:
        refuse_category_columns(names, categorical)
        prices = as_costs(estimator.costs).bind(names)
        check_kept(prices.keep, estimator.max_features)

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
    spread = partial(SpreadColumns, weight=weight, centre=centre, scale=scale)
    if executor is not None:
        holding = NumberHolding(table)
        return spread(executor.spread(holding).over_codes(), is_sparse=holding.is_sparse)
    if isinstance(table, StoredNumbers):
        blocks, folder = filed_blocks(table, threads), table.folder
        return spread(blocks, is_sparse=table.is_sparse, space=lambda: Scratch(folder))
    if isinstance(table, LazyTable):
        return spread(NumberHolding(table).here(threads), is_sparse=False)
    return standardize_table(table, weight, centre=centre, scale=scale, threads=threads)
