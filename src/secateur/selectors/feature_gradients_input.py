"""Input of the Feature Gradients selector: a table, or a stream that can be saved and resumed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.checks import made_up_names
from secateur.data.costs import CostModel
from secateur.data.frames import read_table
from secateur.data.standardize import Moments
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.data.target import (
    Target,
    guess_target_type,
    read_target,
    read_target_like,
    read_weights,
)
from secateur.engines.feature_gradients.batches import SearchParams, TargetType
from secateur.engines.feature_gradients.objective import ObjectiveKind
from secateur.engines.feature_gradients.stream import Stream
from secateur.engines.limits import Limits
from secateur.exceptions import InputError, ParameterError, StorageError
from secateur.model_selection.folds import read_seed
from secateur.path.codec import write_whole
from secateur.path.step import Step
from secateur.selectors.inputs import FitInput, read_costs, refuse_categories
from secateur.selectors.parameters import params_of, read_penalty
from secateur.selectors.progress import Progress
from secateur.storage.sources import Block
from secateur.typing import FloatArray

FORMAT = "secateur.feature_gradients.stream"
VERSION = 2
# Parameters that must be the same when a stream is resumed.
SAVED_PARAMETERS = ("order", "standardize", "group_mode", "n_features", "multiclass", "half_life")
SAVED_STATE = ("penalty", "scale", "n_rows", "objective", "estimate")
MOMENTS, SAVED_MOMENTS = ("moments", "target_moments"), ("weight", "mean", "square")


@dataclass(frozen=True, slots=True)
class Learnability:
    """Estimated performance of a linear model on the selected features; not a measurement.

    Parameters
    ----------
    value : float
        The residual variance of a linear model on them, as a share of the target's, or its error
        rate if classes are normal with equal covariance, averaged over classes (one against the
        rest) or thresholds. It is at most the share of the smaller class.
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


def check_against(cost_model: CostModel, estimator: Any) -> None:
    """Check parameters against the number of features, and of those that are kept."""
    wanted, limit = estimator.n_features, estimator.max_features
    n_features, n_kept = cost_model.n_features, cost_model.count(np.flatnonzero(cost_model.keep))
    n_all = cost_model.count(np.arange(n_features))
    if wanted is not None and not max(1, n_kept) <= wanted <= n_all:
        lowest = f"{n_kept}, the number of kept features," if n_kept else "1"
        raise ParameterError(
            f"'n_features' must be from {lowest} to {n_all}, the number of all features. Got "
            f"{wanted}. Use None to have it chosen."
        )
    if wanted is not None and limit is not None and wanted > limit:
        raise ParameterError(
            f"'n_features' must be at most 'max_features', {limit}. Got {wanted}. Leave one out."
        )
    size = np.asarray(estimator.init, np.float64)
    if size.ndim > 1 or (size.ndim == 1 and len(size) != n_features):
        raise ParameterError(
            f"'init' must be a number or one per feature, {n_features}. Got shape {size.shape}. "
            "Use 0 to start all at inclusion 0.5."
        )


def target_type_of(target_type: str, y: Any) -> TargetType:
    """The type of target: as given, or as y looks."""
    found: Any = guess_target_type(y) if target_type == "auto" else target_type
    return found


def plain_type(target_type: TargetType) -> Any:
    """The type by which the target is read: ordered classes are classes."""
    return "regression" if target_type == "regression" else "classification"


# An automatic penalty leaves at least so many rows per selected feature: with more features a
# linear model can fit any target, and held-out scores no longer compare subsets.
ROWS_PER_FEATURE = 2
# With more columns for a row than this, which the paper is for, held-out scores alone decide: the
# limit cost riboflavin .26 of R^2, arcene .07, colon .03 of accuracy, and no set gained over .04.
WIDE = 10
ROWS_PER_FEATURE_UNSCORED = 5  # the same without held-out scores


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GradientsInput(FitInput):
    """The input of a fit; ``penalty`` is one number, a falling grid, or None for "auto"."""

    params: SearchParams
    penalty: float | list[float] | None

    def max_features(self, estimator: Any, *, is_scored: bool) -> int | None:
        """The largest subset of an automatic penalty; None where the user, or groups, set it."""
        cost_model = self.problem.cost_model
        given = (self.penalty, estimator.cut, estimator.max_features, cost_model.feature_groups)
        if any(each is not None for each in given):
            return None
        if is_scored and cost_model.n_features > WIDE * self.problem.n_rows:
            return None
        n_free = int((cost_model.keep | (cost_model.cost == 0.0)).sum())
        per_feature = ROWS_PER_FEATURE if is_scored else ROWS_PER_FEATURE_UNSCORED
        n_classes, is_ordered = self.problem.target.n_classes, self.params.target_type == "ordinal"
        n_contrasts = n_classes if n_classes > 2 and not is_ordered else 1  # each has its features
        return n_free + max(1, n_contrasts * self.problem.n_rows // per_feature)


def read_params(estimator: Any, target_type: TargetType, seed: int) -> SearchParams:
    """The parameters of the search."""
    batch_size = max(estimator.batch_size, estimator.order + 2)
    n_epochs = None if estimator.max_epochs == "auto" else estimator.max_epochs
    own = {"target_type": target_type, "batch_size": batch_size, "n_epochs": n_epochs, "seed": seed}
    return params_of(estimator, SearchParams, **own)


def check_varies(target: Target) -> None:
    """Refuse a constant target."""
    if (target.values == target.values[0]).all():
        what = "1 class" if target.classes is not None else "the same value in every row"
        raise InputError(
            f"y must vary among the rows of positive weight. Got {what}. Check the rows that y was "
            "taken from, and their weights."
        )


class StreamSession:
    """Reads blocks that match the schema and the target of the first, and buffers small ones."""

    def __init__(self, schema: TableSchema, like: Target, stream: Stream) -> None:
        self.schema = schema
        self.like = like
        self.stream = stream
        self.buffer: list[tuple[Any, FloatArray, FloatArray]] = []

    def update(self, X: Any, y: Any, sample_weight: Any, threads: Threads) -> None:
        """Use a block together with the buffer; too few rows are buffered."""
        table = _read_numbers(X, like=self.schema)
        target = read_target_like(y, self.like, n_rows=table.n_rows)
        weight = read_weights(sample_weight, table.n_rows)
        kept = np.flatnonzero(weight)
        if len(kept) < len(weight):
            table, target, weight = table.take(kept), target.take(kept), weight[kept]
        if self.n_buffered or table.n_rows < self.stream.min_rows:
            is_sparse = table.is_sparse
            rows = table.csc.tocsr() if is_sparse else table.columns(np.arange(table.n_features))
            self.buffer.append((rows, target.values, weight))
            if self.n_buffered < self.stream.min_rows:
                return
            table, target, weight = self._empty_buffer()
        self.stream.update(table, target, weight, threads)

    @property
    def n_buffered(self) -> int:
        """The number of buffered rows."""
        return sum(len(values) for _, values, _ in self.buffer)

    def join_buffer(self) -> tuple[Any, FloatArray, FloatArray]:
        """Make one block of all buffered rows, sparse if one of them is; there must be some."""
        import scipy.sparse as sp

        rows, values, weights = zip(*self.buffer, strict=True)
        is_sparse = any(sp.issparse(part) for part in rows)
        joined = sp.vstack(list(map(sp.csr_array, rows))) if is_sparse else np.concatenate(rows)
        self.buffer = [(joined, np.concatenate(values), np.concatenate(weights))]
        return self.buffer[0]

    def _empty_buffer(self) -> tuple[Table, Target, FloatArray]:
        rows, values, weight = self.join_buffer()
        self.buffer = []
        table: Table = (
            SparseTable(canonical_csc(rows), self.schema)
            if hasattr(rows, "indptr")
            else DenseTable(rows, self.schema, is_encoded=True)
        )
        return table, Target(values, self.like.classes), weight

    def trace(
        self, blocks: Iterator[Block], threads: Threads, progress: Progress
    ) -> Iterator[Step]:
        """A step after each block, without its model: v of all features would be kept for each."""
        for X, y, weight in blocks:
            self.update(X, y, weight, threads)
            progress.round()
            if self.stream.n_rows:
                yield replace(self.stream.step(), model=None)
                progress.stop_if_asked()
        if self.stream.n_rows == 0:
            self.stream.params.check_rows(self.n_buffered)
        if self.n_buffered >= self.stream.params.order + 2:
            self.stream.update(*self._empty_buffer(), threads)
        yield replace(self.stream.step(), model=None)


def open_session(estimator: Any, X: Any, y: Any, classes: Any) -> StreamSession:
    """Start from the first block of a stream: names, type of target, classes, costs."""
    penalty = read_penalty("penalty", estimator.penalty)
    if isinstance(penalty, list):
        raise ParameterError(
            "'penalty' must be one number or 'auto' for a stream, which is seen only once. Got a "
            f"grid of {len(penalty)}. Use n_features to adapt it to a wanted size."
        )
    table = _read_numbers(X)
    given = y if classes is None else classes
    target_type = target_type_of(estimator.target_type, given)
    if classes is not None and target_type == "regression":
        raise ParameterError(
            "'classes' must be None for regression. Got some. Leave them out, or set 'target_type'."
        )
    n_rows = table.n_rows if classes is None or y is None else None
    known = None if y is None else given
    like = read_target(known, target_type=plain_type(target_type), n_rows=n_rows)
    stream = _make_stream(estimator, table.names, target_type, penalty)
    check_against(stream.cost_model, estimator)
    return StreamSession(table.schema, Target(like.values[:0], like.classes), stream)


def _make_stream(
    estimator: Any, names: tuple[str, ...], target_type: TargetType, penalty: float | None
) -> Stream:
    cost_model = read_costs(estimator.get_params(deep=False), names)
    params = read_params(estimator, target_type, read_seed(estimator.random_state))
    limits = Limits(cost_model, estimator.max_features, estimator.cost_budget)
    wanted, half_life = estimator.n_features, estimator.half_life
    return Stream(cost_model, params, penalty, wanted, limits, half_life)


def _read_numbers(X: Any, **how: Any) -> Table:
    table = read_table(X, **how)
    refuse_categories(table.names, table.categories, METHOD)
    return table


def save_session(session: StreamSession, estimator: Any, file: str | os.PathLike[str]) -> None:
    """Write the state of a stream: arrays, and the rest as JSON in ``header``."""
    stream, schema, adam = session.stream, session.schema, session.stream.adam
    header = {
        "format": FORMAT,
        "version": VERSION,
        "target_type": stream.params.target_type,
        "names": list(schema.names) if schema.has_names else schema.n_features,
        "parameters": {name: getattr(estimator, name) for name in SAVED_PARAMETERS},
        "random": stream.rng.bit_generator.state,
        "n_steps": adam.n_steps,
        "stream": {name: getattr(stream, name) for name in SAVED_STATE},
    }
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), "vector": stream.vector}
    arrays |= {name: getattr(adam, name) for name in ("v", "first", "second")}
    classes = session.like.classes
    if classes is not None:
        arrays["classes"] = classes.astype(str) if classes.dtype.kind == "O" else classes
    for name in MOMENTS:
        found: Moments | None = getattr(stream, name)
        if found is not None:
            arrays |= {f"{name}_{field}": getattr(found, field) for field in SAVED_MOMENTS}
    if session.buffer:
        rows, arrays["buffer_y"], arrays["buffer_weight"] = session.join_buffer()
        parts = ("data", "indices", "indptr") if hasattr(rows, "indptr") else ()
        arrays |= {f"buffer_{part}": getattr(rows, part) for part in parts} or {"buffer_X": rows}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_whole(file, content.getvalue())


def load_session(estimator: Any, file: str | os.PathLike[str]) -> StreamSession:
    """Read what `save_session` wrote, into a selector with the same parameters."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored)
        header = json.loads(str(arrays["header"]))
        found = [header[name] for name in ("format", "version")]
    except Exception as error:  # zipfile and zlib have many for a damaged file
        raise StorageError(
            f"{os.fspath(file)} must hold the state of a stream. Got something else: {error}. Give "
            "a file that save_stream wrote."
        ) from error
    if found != [FORMAT, VERSION]:
        raise StorageError(
            f"{os.fspath(file)} must have the format {FORMAT}, version {VERSION}. Got {found}. "
            "Save the stream again with this version of secateur, or install a newer one."
        )
    for name, value in header["parameters"].items():
        if getattr(estimator, name) != value:
            raise ParameterError(
                f"'{name}' must be {value!r}, as it was when the stream was saved. Got "
                f"{getattr(estimator, name)!r}. Set it to that value."
            )
    try:
        return _session_of(header, arrays, estimator)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StorageError(
            f"{os.fspath(file)} is damaged. Got {error!r} on reading it. Save the stream again."
        ) from error


def _session_of(header: dict[str, Any], arrays: dict[str, Any], estimator: Any) -> StreamSession:
    names, target_type = header["names"], header["target_type"]
    has_names = isinstance(names, list)
    schema = TableSchema(tuple(names) if has_names else made_up_names(names), has_names)
    stream = _make_stream(estimator, schema.names, target_type, None)
    for name in ("v", "first", "second"):
        getattr(stream.adam, name)[:] = arrays[name]
    stream.adam.restore(header["n_steps"])
    stream.rng.bit_generator.state = header["random"]
    stream.vector = arrays["vector"]
    for name in SAVED_STATE:
        setattr(stream, name, header["stream"][name])
    for name in MOMENTS:
        if f"{name}_mean" in arrays:
            found = Moments(*(arrays[f"{name}_{field}"] for field in SAVED_MOMENTS))
            setattr(stream, name, found._replace(weight=found.weight[()]))  # a number, not 0-d
    session = StreamSession(schema, Target(np.empty(0), arrays.get("classes")), stream)
    if "buffer_y" in arrays:
        rows = arrays.get("buffer_X")
        if rows is None:
            from scipy.sparse import csr_array

            parts = tuple(arrays[f"buffer_{part}"] for part in ("data", "indices", "indptr"))
            rows = csr_array(parts, shape=(len(arrays["buffer_y"]), schema.n_features))
        session.buffer = [(rows, arrays["buffer_y"], arrays["buffer_weight"])]
    return session
