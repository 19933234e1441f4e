"""A stream of blocks on its way to the engine: read, checked, held back while too small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.costs import as_costs
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.data.target import Target, read_target_like
from secateur.data.weights import read_weights
from secateur.engines.feature_gradients.stream import Stream
from secateur.engines.feature_gradients.targets import TargetType
from secateur.exceptions import InputError, ParameterError
from secateur.path.step import Step
from secateur.selectors.boosted_input import read_penalty
from secateur.selectors.feature_gradients_input import (
    check_against,
    read_numbers,
    read_params,
    read_target_of_type,
    target_type_of,
)
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray


class Desk:
    """Takes blocks, and knows what the first one was like.

    Parameters
    ----------
    schema : TableSchema
        Of the first block; later ones must be like it.
    like : Target
        The classes that are known.
    target_type : str
    stream : Stream
    """

    def __init__(
        self, schema: TableSchema, like: Target, target_type: TargetType, stream: Stream
    ) -> None:
        self.schema = schema
        self.like = like
        self.target_type = target_type
        self.stream = stream
        self.waiting: list[tuple[Any, FloatArray, FloatArray]] = []

    @property
    def classes(self) -> AnyArray | None:
        """The labels, for classes."""
        return self.like.classes

    def take(self, X: Any, y: Any, sample_weight: Any, threads: Threads) -> None:
        """Use a block, together with what waits; too few rows wait."""
        table = read_numbers(X, like=self.schema)
        target = read_target_like(y, self.like, n_rows=table.n_rows)
        weight = read_weights(sample_weight, table.n_rows)
        kept = np.flatnonzero(weight)
        if len(kept) < len(weight):
            table, target, weight = table.take(kept), target.take(kept), weight[kept]
        n_waiting = sum(len(values) for _, values, _ in self.waiting)
        if n_waiting or table.n_rows < self.stream.least:
            self.waiting.append((_plain_rows(table), target.values, weight))
            if n_waiting + table.n_rows < self.stream.least:
                return
            table, target, weight = self._gather()
        self.stream.push(table, target, weight, threads)

    def _gather(self) -> tuple[Table, Target, FloatArray]:
        """All rows that wait, as one block."""
        rows, values, weights = zip(*self.waiting, strict=True)
        self.waiting = []
        target = Target(np.concatenate(values), self.like.classes)
        return _table_of(list(rows), self.schema), target, np.concatenate(weights)

    def flush(self, threads: Threads) -> None:
        """At the end of a stream: use what waits, if there are rows enough for a chain."""
        n_waiting = sum(len(values) for _, values, _ in self.waiting)
        is_first = self.stream.n_rows == 0
        if n_waiting >= self.stream.params.order + 2:
            self.stream.push(*self._gather(), threads)
        elif is_first:
            msg = (
                f"A stream needs at least {self.stream.params.order + 2} rows for order "
                f"{self.stream.params.order}. Got {n_waiting}. Lower 'order', or give more rows."
            )
            raise InputError(msg)

    def step(self) -> Step:
        """The subset as it is now."""
        step = self.stream.step()
        return replace(step, details={**step.details, **self.stream.details})


def open_desk(estimator: Any, X: Any, y: Any, classes: Any) -> Desk:
    """Look at the first block of a stream: names, type of target, classes, costs."""
    table = read_numbers(X)
    target_type = target_type_of(estimator.target_type, classes if classes is not None else y)
    if classes is not None and target_type == "regression":
        msg = (
            "'classes' must be None for numbers. Got classes. Leave them out, or set 'target_type'."
        )
        raise ParameterError(msg)
    if y is None:
        read_target_of_type(y, target_type, table.n_rows)
    given = y if classes is None else classes
    like = read_target_of_type(given, target_type, table.n_rows if classes is None else None)
    prices = as_costs(estimator.costs, estimator.groups).bind(table.names)
    prices.prices(prices.keep)  # a rule of the user's own may raise
    check_against(table.n_features, estimator.n_features, estimator.init, int(prices.keep.sum()))
    stream = Stream(
        prices,
        read_params(estimator),
        target_type,
        standardize=estimator.standardize,
        penalty=_one_penalty(estimator.penalty),
        n_wanted=estimator.n_features,
    )
    return Desk(table.schema, Target(like.values[:0], like.classes), target_type, stream)


def known_classes(target_type: str, X: Any) -> Any:
    """The labels of all rows, where these are known before the first block; None for numbers."""
    if not isinstance(X, StoredTable):
        return None
    target = X.target()
    return None if target_type_of(target_type, target) == "regression" else target


def _one_penalty(penalty: Any) -> float | None:
    found = read_penalty(penalty, "gbfs")
    if isinstance(found, list):
        msg = (
            "'penalty' must be one number or 'auto' for a stream, which is seen only once. Got a "
            f"grid of {len(found)}. Use n_features to have it steered to a wanted size."
        )
        raise ParameterError(msg)
    return found


def _plain_rows(table: Table) -> Any:
    """The cells of a small table, on their own."""
    return table.csc.tocsr() if table.is_sparse else table.columns(np.arange(table.n_features))


def _table_of(parts: list[Any], schema: TableSchema) -> Table:
    import scipy.sparse as sp

    if any(sp.issparse(part) for part in parts):
        stacked = sp.vstack([sp.csr_array(part) for part in parts])
        return SparseTable(canonical_csc(stacked), schema)
    return DenseTable(np.concatenate(parts), schema, is_encoded=True)
