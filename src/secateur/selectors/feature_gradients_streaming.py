"""Selecting along a stream, block after block, and what all fits of Feature Gradients share."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.costs import as_costs
from secateur.data.standardize import Moments
from secateur.data.table import TableSchema
from secateur.data.target import Target
from secateur.engines.drive import drive
from secateur.engines.feature_gradients.search import Found
from secateur.engines.feature_gradients.stream import Stream
from secateur.exceptions import ParameterError, StorageError
from secateur.path import Best, Step
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathSelector
from secateur.selectors.feature_gradients_input import Learnability, learnability_of, read_params
from secateur.selectors.feature_gradients_stream import Desk, known_classes, open_desk
from secateur.selectors.progress import Progress, progress_of
from secateur.storage.blocks import Block, first_block, read_blocks, refuse_beside
from secateur.typing import FloatArray

FORMAT = "secateur.feature_gradients.stream"
VERSION = 1
SAME = ("order", "standardize", "group_mode", "n_features")
"""Parameters without which the state means something else."""


def save_desk(desk: Desk, estimator: Any, file: str | os.PathLike[str]) -> None:
    """Write the state of a stream, whole or not at all."""
    target = Path(file).resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as stream:
            np.savez_compressed(stream, **_arrays(desk, estimator))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _arrays(desk: Desk, estimator: Any) -> dict[str, Any]:
    stream = desk.stream
    header = {
        "format": FORMAT,
        "version": VERSION,
        "target_type": desk.target_type,
        "names": list(desk.schema.names) if desk.schema.has_names else desk.schema.n_features,
        "parameters": {name: getattr(estimator, name) for name in SAME},
        "random": stream.rng.bit_generator.state,
        "penalty": stream.penalty,
        "scale": stream.scale,
        "n_rows": stream.n_rows,
        "n_steps": stream.descent.n_steps,
        "objective": stream.objective,
        "estimate": stream.estimate,
        "n_waiting": len(desk.waiting),
    }
    arrays: dict[str, Any] = {
        "header": np.array(json.dumps(header)),
        "v": stream.descent.v,
        "first": stream.descent.first,
        "second": stream.descent.second,
        "vector": stream.vector,
    }
    if desk.classes is not None:
        labels = desk.classes
        arrays["classes"] = labels.astype(str) if labels.dtype.kind == "O" else labels
    for name, moments in (("columns", stream.moments), ("questions", stream.questions)):
        if moments is not None:
            arrays[f"{name}_weight"] = np.array(moments.weight)
            arrays[f"{name}_mean"], arrays[f"{name}_square"] = moments.mean, moments.square
    return arrays | _waiting_arrays(desk)


def _waiting_arrays(desk: Desk) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for number, (rows, values, weight) in enumerate(desk.waiting):
        arrays[f"waiting_{number}_y"], arrays[f"waiting_{number}_weight"] = values, weight
        if hasattr(rows, "indptr"):
            for part in ("data", "indices", "indptr"):
                arrays[f"waiting_{number}_{part}"] = getattr(rows, part)
        else:
            arrays[f"waiting_{number}_X"] = rows
    return arrays


def load_desk(estimator: Any, file: str | os.PathLike[str]) -> Desk:
    """Read what `save_desk` wrote, into a selector with the same parameters."""
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
        return _desk_of(header, arrays, estimator)
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


def _desk_of(header: dict[str, Any], arrays: dict[str, Any], estimator: Any) -> Desk:
    from secateur.data.names import made_up_names

    names, target_type = header["names"], header["target_type"]
    has_names = isinstance(names, list)
    schema = TableSchema(tuple(names) if has_names else made_up_names(names), has_names)
    prices = as_costs(estimator.costs, estimator.groups).bind(schema.names)
    stream = Stream(
        prices,
        read_params(estimator),
        target_type,
        standardize=estimator.standardize,
        penalty=header["penalty"],
        n_wanted=estimator.n_features,
    )
    descent = stream.descent
    descent.v[:], descent.first[:], descent.second[:] = (
        arrays[name] for name in ("v", "first", "second")
    )
    descent.refresh(header["n_steps"])
    stream.rng.bit_generator.state = header["random"]
    stream.vector = arrays["vector"]
    stream.scale, stream.n_rows = header["scale"], header["n_rows"]
    stream.objective, stream.estimate = header["objective"], header["estimate"]
    stream.moments, stream.questions = _moments(arrays, "columns"), _moments(arrays, "questions")
    desk = Desk(schema, Target(np.empty(0), arrays.get("classes")), target_type, stream)
    desk.waiting = [_waiting(arrays, k, len(schema.names)) for k in range(header["n_waiting"])]
    return desk


def _moments(arrays: dict[str, Any], name: str) -> Moments | None:
    if f"{name}_mean" not in arrays:
        return None
    return Moments(
        float(arrays[f"{name}_weight"]), arrays[f"{name}_mean"], arrays[f"{name}_square"]
    )


def _waiting(arrays: dict[str, Any], number: int, width: int) -> tuple[Any, Any, Any]:
    y, weight = arrays[f"waiting_{number}_y"], arrays[f"waiting_{number}_weight"]
    if f"waiting_{number}_X" in arrays:
        return arrays[f"waiting_{number}_X"], y, weight
    import scipy.sparse as sp

    parts = tuple(arrays[f"waiting_{number}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=(len(y), width)), y, weight


class StreamingSelector(PathSelector):
    """A selector whose search can go on from block to block.

    Subclasses have the parameters that the search asks for.
    """

    _fits_on_disk = frozenset({"here"})
    _own_rule: CuttingRule
    _desk: Desk
    costs: Any
    target_type: str
    n_jobs: int | None

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        """Go on with a further block of rows; the subset of the moment is there after each.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
            Too few rows wait for the next block.
        classes : array, optional
            All labels, at the first call, if the first block may not have all of them.

        Returns
        -------
        self
        """
        self._check_parameters()
        n_threads = resolve_n_jobs(self.n_jobs)
        is_new = not hasattr(self, "_desk")
        desk = open_desk(self, X, y, classes) if is_new else self._desk
        with Threads(n_threads) as threads:
            desk.take(X, y, sample_weight, threads)
        if is_new:
            self._adopt(desk)
        self._show_moment()
        return self

    def _adopt(self, desk: Desk) -> None:
        self._desk = desk
        self._remember(desk.schema)
        self._remember_target(desk.target_type, desk.classes, Best())

    def _show_moment(self) -> None:
        """The subset as it is now; none before the first rows were used."""
        desk = self._desk
        if desk.stream.n_rows:
            told = self._told(desk.schema, desk.stream.prices)
            self._set_path(drive(iter([desk.step()]), **told))

    def _fit_stream(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """One pass over the blocks; each that changes the subset is a step of the path."""
        refuse_beside(sample_weight)
        first, blocks = first_block(read_blocks(X, y))
        desk = open_desk(self, first[0], first[1], known_classes(self.target_type, X))
        with (
            Threads(resolve_n_jobs(self.n_jobs)) as threads,
            progress_of(self, 1, 1, X, y) as progress,
        ):
            steps = _trace_stream(desk, chain([first], blocks), threads, progress)
            path = drive(steps, **self._told(desk.schema, desk.stream.prices))
        last = replace(path[-1], model=desk.step().model)
        path = replace(path, steps=(*path.steps[:-1], last))
        self._adopt(desk)
        self._set_path(path)
        return self

    def save_stream(self, file: Any) -> None:
        """Write the state of a stream, so that `resume_stream` can go on from it.

        Parameters
        ----------
        file : path
            An .npz of arrays with a header in JSON: no pickle.
        """
        if not hasattr(self, "_desk"):
            msg = (
                "save_stream needs a stream that was begun. Got a selector without one. Call "
                "partial_fit, or fit with an iterator or a file."
            )
            raise NotFittedError(msg)
        save_desk(self._desk, self, file)

    def resume_stream(self, file: Any) -> Any:
        """Take up a stream where `save_stream` left it; the parameters must be the same.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._adopt(load_desk(self, file))
        self._show_moment()
        return self

    def _remember_target(self, target_type: str, classes: Any, rule: CuttingRule) -> None:
        self.target_type_ = target_type
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        self._own_rule = rule

    def _default_rule(self) -> CuttingRule:
        return self._own_rule

    @property
    def _found(self) -> Found:
        check_is_fitted(self)
        found: Found | None = self.path_[self.selection_.index].model
        if found is None:
            msg = (
                "Only the last step of a stream has scores. Got a cut elsewhere, or a path without "
                "models. Cut at the last step."
            )
            raise AttributeError(msg)
        return found

    @property
    def scores_(self) -> FloatArray:
        """The v of each feature at the chosen step."""
        return self._found.scores

    @property
    def inclusion_(self) -> FloatArray:
        """The s of each feature at the chosen step."""
        return self._found.inclusion

    @property
    def learnability_(self) -> Learnability:
        """The estimate for the selected set."""
        check_is_fitted(self)
        return learnability_of(self.path_[self.selection_.index])


def _trace_stream(
    desk: Desk, blocks: Iterator[Block], threads: Threads, progress: Progress
) -> Iterator[Step]:
    """A step after each block, without its v: a path must not grow by a table's width a block."""
    for X, y, weight in blocks:
        desk.take(X, y, weight, threads)
        progress.round()
        if desk.stream.n_rows:
            yield replace(desk.step(), model=None)
            progress.stop_if_asked()
    desk.flush(threads)
    yield replace(desk.step(), model=None)
