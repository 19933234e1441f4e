"""Where two paths differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from secateur.path import SelectionPath
from secateur.path.step import thawed_json

COMPARED = (
    *("algorithm", "penalty_name", "cost_unit", "feature_names", "parameters"),
    *("steps", "stop_reason"),
)
IGNORED = {"support", "seconds", "model"}  # equal orders have equal supports


def paths_equal(a: SelectionPath, b: SelectionPath, *, rtol: float | None = None) -> bool:
    """Whether two paths are equal; see `explain_difference`."""
    return not explain_difference(a, b, rtol=rtol)


def explain_difference(a: SelectionPath, b: SelectionPath, *, rtol: float | None = None) -> str:
    """Return the first difference between two paths, "" if there is none.

    Seconds, models and the versions that made the paths do not count. Without `rtol` floats are
    compared bit for bit (any NaN equals any other).
    """
    left, right = ({name: getattr(path, name) for name in COMPARED} for path in (a, b))
    return next(_differences(left, right, rtol), "")


def _differences(a: Any, b: Any, rtol: float | None, where: str = "") -> Iterator[str]:
    """Where two values differ: results by field, mappings by key, sequences by position."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        a, b = a.tolist(), b.tolist()
    if is_dataclass(a) and is_dataclass(b):
        names = [each.name for each in fields(a) if each.name not in IGNORED]
        pairs = [(f".{name}", getattr(a, name), getattr(b, name)) for name in names]
    elif isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys():
        pairs = [(f".{key}", a[key], b[key]) for key in a]
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        both = enumerate(zip(a, b, strict=False))
        pairs = [(f"[{index}]", *items) for index, items in both]
        if len(a) != len(b):
            pairs.append((" length", len(a), len(b)))
    else:
        if not _are_equal(a, b, rtol):
            left, right = thawed_json(a), thawed_json(b)
            yield f"{where}: {left!r} against {right!r}"
        return
    for name, left, right in pairs:
        yield from _differences(left, right, rtol, f"{where}{name}".lstrip("."))


def _are_equal(a: Any, b: Any, rtol: float | None) -> bool:
    if type(a) is not type(b):  # 1 differs from 1.0 and from True
        return False
    if isinstance(a, float) and rtol is not None:
        return bool(np.isclose(a, b, rtol=rtol, atol=0.0, equal_nan=True))
    if isinstance(a, float):
        return repr(a) == repr(b)  # NaN equals NaN, 0.0 differs from -0.0
    return bool(a == b)
