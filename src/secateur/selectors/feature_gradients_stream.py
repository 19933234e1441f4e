"""State of a stream: blocks are read, checked and buffered; it can be saved and resumed."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.costs import CostModel, as_costs
from secateur.data.frames import read_table
from secateur.data.names import made_up_names
from secateur.data.standardize import Moments
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.data.target import Target, read_target_like
from secateur.data.weights import read_weights
from secateur.engines.feature_gradients.batches import TargetType
from secateur.engines.feature_gradients.stream import Stream
from secateur.exceptions import InputError, ParameterError, StorageError
from secateur.model_selection.scorers import read_seed
from secateur.path.step import Step
from secateur.selectors.feature_gradients_input import (
    check_against,
    read_params,
    read_target_of_type,
    refuse_categories,
    target_type_of,
)
from secateur.selectors.parameters import read_penalty
from secateur.selectors.progress import Progress
from secateur.storage.sources import Block
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray

FORMAT = "secateur.feature_gradients.stream"
VERSION = 1
SAVED_PARAMETERS = ("order", "standardize", "group_mode", "n_features")
"""Parameters that must be the same when a stream is resumed."""


class StreamSession:
    """Reads blocks that match the schema of the first, buffers small ones, updates the stream.

    ``like`` is a target without rows that holds the known classes.
    """

    def __init__(
        self, schema: TableSchema, like: Target, target_type: TargetType, stream: Stream
    ) -> None:
        self.schema = schema
        self.like = like
        self.target_type = target_type
        self.stream = stream
        self.buffer: list[tuple[Any, FloatArray, FloatArray]] = []

    @property
    def classes(self) -> AnyArray | None:
        """The class labels; None for regression."""
        return self.like.classes

    def update(self, X: Any, y: Any, sample_weight: Any, threads: Threads) -> None:
        """Use a block together with the buffer; too few rows are buffered."""
        table = _read_numbers(X, like=self.schema)
        target = read_target_like(y, self.like, n_rows=table.n_rows)
        weight = read_weights(sample_weight, table.n_rows)
        kept = np.flatnonzero(weight)
        if len(kept) < len(weight):
            table, target, weight = table.take(kept), target.take(kept), weight[kept]
        n_buffered = sum(len(values) for _, values, _ in self.buffer)
        if n_buffered or table.n_rows < self.stream.min_rows:
            self.buffer.append((_plain_rows(table), target.values, weight))
            if n_buffered + table.n_rows < self.stream.min_rows:
                return
            table, target, weight = self._empty_buffer()
        self.stream.update(table, target, weight, threads)

    def _empty_buffer(self) -> tuple[Table, Target, FloatArray]:
        """All buffered rows as one block."""
        rows, values, weights = zip(*self.buffer, strict=True)
        self.buffer = []
        target = Target(np.concatenate(values), self.like.classes)
        return _table_of(list(rows), self.schema), target, np.concatenate(weights)

    def flush(self, threads: Threads) -> None:
        """Use the buffered rows at the end of a stream."""
        n_buffered = sum(len(values) for _, values, _ in self.buffer)
        if n_buffered >= self.stream.params.order + 2:
            self.stream.update(*self._empty_buffer(), threads)
        elif self.stream.n_rows == 0:
            msg = (
                f"A stream needs at least {self.stream.params.order + 2} rows for order "
                f"{self.stream.params.order}. Got {n_buffered}. Lower 'order', or give more rows."
            )
            raise InputError(msg)

    def trace(
        self, blocks: Iterator[Block], threads: Threads, progress: Progress
    ) -> Iterator[Step]:
        """A step after each block, without its model: v of all features would be kept for each."""
        for X, y, weight in blocks:
            self.update(X, y, weight, threads)
            progress.round()
            if self.stream.n_rows:
                yield replace(self.step(), model=None)
                progress.stop_if_asked()
        self.flush(threads)
        yield replace(self.step(), model=None)

    def step(self) -> Step:
        """The present subset."""
        step = self.stream.step()
        return replace(step, details={**step.details, **self.stream.details})


def open_session(estimator: Any, X: Any, y: Any, classes: Any) -> StreamSession:
    """Start from the first block of a stream: names, type of target, classes, costs."""
    table = _read_numbers(X)
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
    cost_model = as_costs(estimator.costs, estimator.feature_groups).bind(table.names)
    cost_model.costs(cost_model.keep)  # a rule of the user's own may raise
    check_against(
        table.n_features, estimator.n_features, estimator.init, int(cost_model.keep.sum())
    )
    stream = _make_stream(estimator, cost_model, target_type, _one_penalty(estimator.penalty))
    return StreamSession(table.schema, Target(like.values[:0], like.classes), target_type, stream)


def _make_stream(
    estimator: Any, cost_model: CostModel, target_type: TargetType, penalty: float | None
) -> Stream:
    return Stream(
        cost_model,
        read_params(estimator, read_seed(estimator.random_state)),
        target_type,
        standardize=estimator.standardize,
        penalty=penalty,
        n_wanted=estimator.n_features,
    )


def known_classes(target_type: str, X: Any) -> Any:
    """The labels of a stored table; None if they are not known in advance or for regression."""
    if not isinstance(X, StoredTable):
        return None
    target = X.target()
    return None if target_type_of(target_type, target) == "regression" else target


def _one_penalty(penalty: Any) -> float | None:
    found = read_penalty("penalty", penalty)
    if isinstance(found, list):
        msg = (
            "'penalty' must be one number or 'auto' for a stream, which is seen only once. Got a "
            f"grid of {len(found)}. Use n_features to adapt it to a wanted size."
        )
        raise ParameterError(msg)
    return found


def _read_numbers(X: Any, **how: Any) -> Table:
    table = read_table(X, **how)
    refuse_categories(table)
    return table


def _plain_rows(table: Table) -> Any:
    """A copy of the cells of a small table."""
    return table.csc.tocsr() if table.is_sparse else table.columns(np.arange(table.n_features))


def _table_of(parts: list[Any], schema: TableSchema) -> Table:
    import scipy.sparse as sp

    if any(sp.issparse(part) for part in parts):
        stacked = sp.vstack([sp.csr_array(part) for part in parts])
        return SparseTable(canonical_csc(stacked), schema)
    return DenseTable(np.concatenate(parts), schema, is_encoded=True)


def save_session(session: StreamSession, estimator: Any, file: str | os.PathLike[str]) -> None:
    """Write the state of a stream to a temporary file, then rename it."""
    target = Path(file).resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as stream:
            np.savez_compressed(stream, **_arrays(session, estimator))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _arrays(session: StreamSession, estimator: Any) -> dict[str, Any]:
    stream, schema = session.stream, session.schema
    header = {
        "format": FORMAT,
        "version": VERSION,
        "target_type": session.target_type,
        "names": list(schema.names) if schema.has_names else schema.n_features,
        "parameters": {name: getattr(estimator, name) for name in SAVED_PARAMETERS},
        "random": stream.rng.bit_generator.state,
        "penalty": stream.penalty,
        "scale": stream.scale,
        "n_rows": stream.n_rows,
        "n_steps": stream.adam.n_steps,
        "objective": stream.objective,
        "estimate": stream.estimate,
        "n_waiting": len(session.buffer),
    }
    arrays: dict[str, Any] = {
        "header": np.array(json.dumps(header)),
        "v": stream.adam.v,
        "first": stream.adam.first,
        "second": stream.adam.second,
        "vector": stream.vector,
    }
    if session.classes is not None:
        labels = session.classes
        arrays["classes"] = labels.astype(str) if labels.dtype.kind == "O" else labels
    for name, moments in (("columns", stream.moments), ("questions", stream.target_moments)):
        if moments is not None:
            arrays[f"{name}_weight"] = np.array(moments.weight)
            arrays[f"{name}_mean"], arrays[f"{name}_square"] = moments.mean, moments.square
    return arrays | _buffer_arrays(session)


def _buffer_arrays(session: StreamSession) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for number, (rows, values, weight) in enumerate(session.buffer):
        arrays[f"waiting_{number}_y"], arrays[f"waiting_{number}_weight"] = values, weight
        if hasattr(rows, "indptr"):
            for part in ("data", "indices", "indptr"):
                arrays[f"waiting_{number}_{part}"] = getattr(rows, part)
        else:
            arrays[f"waiting_{number}_X"] = rows
    return arrays


def load_session(estimator: Any, file: str | os.PathLike[str]) -> StreamSession:
    """Read what `save_session` wrote, into a selector with the same parameters."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored)
        header = json.loads(str(arrays["header"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        msg = (
            f"{os.fspath(file)} must hold the state of a stream. Got something else: {error}. Give "
            "a file that save_stream wrote."
        )
        raise StorageError(msg) from error
    _check_header(header, estimator, file)
    try:
        return _session_of(header, arrays, estimator)
    except (KeyError, TypeError, IndexError) as error:
        msg = f"{os.fspath(file)} is damaged. Got {error!r} on reading it. Save the stream again."
        raise StorageError(msg) from error


def _check_header(header: Any, estimator: Any, file: str | os.PathLike[str]) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        msg = f"{os.fspath(file)} must hold the state of a stream. Got another kind of file. "
        raise StorageError(msg + "Give a file that save_stream wrote.")
    if header.get("version", 0) > VERSION:
        msg = f"{os.fspath(file)} was written by a newer secateur. Got version "
        raise StorageError(msg + f"{header['version']}, and this one reads {VERSION}. Upgrade.")
    for name, value in header["parameters"].items():
        if getattr(estimator, name) != value:
            msg = (
                f"'{name}' must be {value!r}, as it was when the stream was saved. Got "
                f"{getattr(estimator, name)!r}. Set it so."
            )
            raise ParameterError(msg)


def _session_of(header: dict[str, Any], arrays: dict[str, Any], estimator: Any) -> StreamSession:
    names = header["names"]
    target_type: Any = header.get("target_type", header.get("task"))
    has_names = isinstance(names, list)
    schema = TableSchema(tuple(names) if has_names else made_up_names(names), has_names)
    cost_model = as_costs(estimator.costs, estimator.feature_groups).bind(schema.names)
    stream = _make_stream(estimator, cost_model, target_type, header["penalty"])
    adam = stream.adam
    adam.v[:], adam.first[:], adam.second[:] = (arrays[name] for name in ("v", "first", "second"))
    adam.restore(header["n_steps"])
    stream.rng.bit_generator.state = header["random"]
    stream.vector = arrays["vector"]
    stream.scale, stream.n_rows = header["scale"], header["n_rows"]
    stream.objective, stream.estimate = header["objective"], header["estimate"]
    stream.moments = _moments(arrays, "columns")
    stream.target_moments = _moments(arrays, "questions")
    session = StreamSession(schema, Target(np.empty(0), arrays.get("classes")), target_type, stream)
    session.buffer = [_buffered(arrays, k, len(schema.names)) for k in range(header["n_waiting"])]
    return session


def _moments(arrays: dict[str, Any], name: str) -> Moments | None:
    if f"{name}_mean" not in arrays:
        return None
    return Moments(
        float(arrays[f"{name}_weight"]), arrays[f"{name}_mean"], arrays[f"{name}_square"]
    )


def _buffered(arrays: dict[str, Any], number: int, width: int) -> tuple[Any, Any, Any]:
    y, weight = arrays[f"waiting_{number}_y"], arrays[f"waiting_{number}_weight"]
    if f"waiting_{number}_X" in arrays:
        return arrays[f"waiting_{number}_X"], y, weight
    import scipy.sparse as sp

    parts = tuple(arrays[f"waiting_{number}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=(len(y), width)), y, weight
