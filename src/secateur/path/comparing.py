"""Compare paths: steps that match, the first difference, and whether scores are comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from secateur.exceptions import ComparisonError
from secateur.path.path import SelectionPath
from secateur.path.step import Score, best_among, require_steps
from secateur.path.values import thawed_json
from secateur.typing import IntArray


def matched_steps(path: SelectionPath, other: SelectionPath) -> tuple[int, ...]:
    """For each step of `path` the index of the matching step of `other`.

    Where both paths have been along the same penalties, each once, steps of equal penalty match.
    Otherwise steps match by the nearest number of features; steps of one size match by their place
    among each other.
    """
    if len(path) == 0:
        return ()
    require_steps(other)
    if _have_same_controls(path, other):
        place = {step.penalty: index for index, step in enumerate(other)}
        return tuple(place[step.penalty] for step in path)
    return tuple(_by_size(path, index, other) for index in range(len(path)))


def _by_size(path: SelectionPath, index: int, other: SelectionPath) -> int:
    """The second of three steps of one size matches the middle one of the other path."""
    size = path[index].n_features
    equals = np.flatnonzero(path.n_features == size)
    if len(equals) == 1:
        return step_of_size(other, size)
    theirs = steps_of_size(other, size)
    share = int(np.searchsorted(equals, index)) / (len(equals) - 1)
    return int(theirs[round(share * (len(theirs) - 1))])


def step_of_size(path: SelectionPath, size: int) -> int:
    """The best of `steps_of_size` by the scores of the path, the last where it has none."""
    return better_of(path, steps_of_size(path, size))


def steps_of_size(path: SelectionPath, size: int) -> IntArray:
    """The steps whose number of features is nearest to `size`; of two as near the smaller one."""
    require_steps(path)
    sizes = path.n_features
    distance = np.abs(sizes - size)
    wanted = sizes[distance == distance.min()].min()
    return np.flatnonzero(sizes == wanted).astype(np.int64)


def better_of(path: SelectionPath, indices: IntArray) -> int:
    """The best of some steps by the scores of the path, the last where they have none."""
    if np.isfinite(path.utilities[indices]).any():
        return best_among(path, indices)
    return int(indices[-1])


def _have_same_controls(path: SelectionPath, other: SelectionPath) -> bool:
    penalties = [step.penalty for step in path]
    others = [step.penalty for step in other]
    is_grid = len(set(penalties)) == len(penalties) and len(set(others)) == len(others)
    return is_grid and bool(np.isfinite(penalties).all()) and set(penalties) <= set(others)


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


def check_comparable(paths: Iterable[SelectionPath]) -> None:
    """Raise `ComparisonError` if the paths' scores differ in origin or metric."""
    seen: tuple[Score, str] | None = None
    for path in paths:
        score = next((step.score for step in path if step.score is not None), None)
        if score is None:
            continue
        if seen is None:
            seen = score, path.algorithm
        elif _kind(score) != _kind(seen[0]):
            raise ComparisonError(
                "Scores can be compared only if they are of one origin and one metric. "
                f"Got {_in_words(seen[0])} for {seen[1]!r} and {_in_words(score)} "
                f"for {path.algorithm!r}. Score both in the same way."
            )


def _kind(score: Score) -> tuple[str, str, bool]:
    return score.origin, score.metric, score.greater_is_better


def _in_words(score: Score) -> str:
    direction = "greater is better" if score.greater_is_better else "smaller is better"
    return f"{score.metric} ({score.origin}, {direction})"


COMPARED = (
    *("algorithm", "penalty_name", "cost_unit", "feature_names", "parameters"),
    *("steps", "stop_reason"),
)
IGNORED = {"support", "seconds", "model"}  # equal orders have equal supports


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
