"""The state of a stream in a file: arrays and a header in JSON, no pickles."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from secateur._data.costs import as_costs
from secateur._data.moments import Moments
from secateur._data.table import TableSchema
from secateur._data.target import Target
from secateur._engines.feature_gradients.stream import Stream
from secateur.exceptions import ParameterError, StorageError
from secateur.selectors.feature_gradients_input import read_params
from secateur.selectors.feature_gradients_stream import Desk

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
        "task": desk.task,
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
    from secateur._data.naming import made_up_names

    names, task = header["names"], header["task"]
    has_names = isinstance(names, list)
    schema = TableSchema(tuple(names) if has_names else made_up_names(names), has_names)
    prices = as_costs(estimator.costs, estimator.groups).bind(schema.names)
    stream = Stream(
        prices,
        read_params(estimator),
        task,
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
    desk = Desk(schema, Target(np.empty(0), arrays.get("classes")), task, stream)
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
