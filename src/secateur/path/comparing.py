"""Whether two paths are the same, where they first part, and whether they can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from secateur.exceptions import ComparisonError
from secateur.path.path import SelectionPath
from secateur.path.step import Score, Step, best_among, require_steps
from secateur.path.values import thawed_json
from secateur.typing import IntArray


def matched_steps(path: SelectionPath, other: SelectionPath) -> tuple[int, ...]:
    """For each step of `path` the index of the step of `other` that stands for it.

    Where every step of `path` has a penalty of its own and `other` has been through the same, as
    along a grid of penalties that was given, steps of equal penalty match. Otherwise, and where the
    grid was made from the rows, steps match by their number of features, the nearest there is;
    steps of one size match by their place among each other.

    Examples
    --------
    >>> from secateur.path import Step, StopReason
    >>> path, other = (
    ...     SelectionPath([Step.of(range(n)) for n in sizes], StopReason.FINISHED, "abcdef", "demo")
    ...     for sizes in ([1, 2, 5], [1, 3, 4])
    ... )
    >>> matched_steps(path, other)
    (0, 0, 2)
    """
    if len(path) == 0:
        return ()
    require_steps(other)
    if _have_same_controls(path, other):
        place = {step.penalty: index for index, step in enumerate(other)}
        return tuple(place[step.penalty] for step in path)
    return tuple(_by_size(path, index, other) for index in range(len(path)))


def _by_size(path: SelectionPath, index: int, other: SelectionPath) -> int:
    """A step that is the second of three of its size stands half way among those of the other."""
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
    """Whether two paths say the same; see `explain_difference`."""
    return not explain_difference(a, b, rtol=rtol)


def explain_difference(a: SelectionPath, b: SelectionPath, *, rtol: float | None = None) -> str:
    """Return the first difference between two paths, "" if there is none.

    Seconds, models and the versions that made the paths do not count.

    Parameters
    ----------
    a, b : SelectionPath
    rtol : float or None, default=None
        How far floats may differ, relative to those of `b`. None compares them bit for bit (any NaN
        equals any other).

    Examples
    --------
    >>> from secateur.path import StopReason
    >>> a = SelectionPath([Step.of([0, 2])], StopReason.FINISHED, list("abc"), "demo")
    >>> b = SelectionPath([Step.of([2, 0])], StopReason.FINISHED, list("abc"), "demo")
    >>> explain_difference(a, b)
    'step 0, order: [0 2] against [2 0]'
    """
    return next(_differences(a, b, rtol), "")


def check_comparable(paths: Iterable[SelectionPath]) -> None:
    """Raise `ComparisonError` if the paths' scores differ in origin or metric.

    Paths without scores pass: there is nothing in them to mistake.
    """
    seen: tuple[Score, str] | None = None
    for path in paths:
        # All scores within one path are of one kind; the path itself has seen to that.
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


def _differences(a: SelectionPath, b: SelectionPath, rtol: float | None) -> Iterator[str]:
    # The steps come before the length: where two runs part says more than which went on longer.
    for name in ("algorithm", "penalty_name", "cost_unit"):
        yield from _unlike(name, getattr(a, name), getattr(b, name))
    yield from _unlike("number of features", a.n_features_in, b.n_features_in)
    for index, names in enumerate(zip(a.feature_names, b.feature_names, strict=False)):
        yield from _unlike(f"name of feature {index}", *names)
    yield from _unlike("parameters", a.parameters, b.parameters)
    for index, (left, right) in enumerate(zip(a, b, strict=False)):
        yield from _step_differences(f"step {index}", left, right, rtol)
    yield from _unlike("number of steps", len(a), len(b))
    yield from _unlike("stop_reason", str(a.stop_reason), str(b.stop_reason))


def _step_differences(where: str, a: Step, b: Step, rtol: float | None) -> Iterator[str]:
    # Equal orders have equal supports.
    if not np.array_equal(a.order, b.order):
        yield f"{where}, order: {a.order} against {b.order}"
        return  # weights of other features cannot be set against these
    for name in ("weight", "penalty", "objective", "cost"):
        yield from _unlike_floats(f"{where}, {name}", getattr(a, name), getattr(b, name), rtol)
    yield from _score_differences(f"{where}, score", a.score, b.score, rtol)
    yield from _unlike(f"{where}, details", a.details, b.details)


def _score_differences(
    where: str, a: Score | None, b: Score | None, rtol: float | None
) -> Iterator[str]:
    if a is None or b is None:
        if a is not b:
            yield f"{where}: {a} against {b}"
        return
    for item in fields(Score):
        left, right = getattr(a, item.name), getattr(b, item.name)
        if item.name in ("mean", "standard_error", "folds"):
            yield from _unlike_floats(f"{where} {item.name}", left, right, rtol)
        else:
            yield from _unlike(f"{where} {item.name}", left, right)


def _unlike(where: str, a: Any, b: Any) -> Iterator[str]:
    # As text, so that NaN equals NaN, and 1 differs from 1.0 and from True.
    left, right = (json.dumps(thawed_json(value), sort_keys=True) for value in (a, b))
    if left != right:
        yield f"{where}: {left} against {right}"


def _unlike_floats(
    where: str, a: npt.ArrayLike, b: npt.ArrayLike, rtol: float | None
) -> Iterator[str]:
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.shape != right.shape:
        yield f"{where}: {left.size} values against {right.size}"
        return
    if rtol is None:
        same = (left == right) & (np.signbit(left) == np.signbit(right))
        same |= np.isnan(left) & np.isnan(right)
    else:
        same = np.isclose(left, right, rtol=rtol, atol=0.0, equal_nan=True)
    if not same.all():
        at = tuple(np.argwhere(~same)[0])
        place = f"[{at[0]}]" if at else ""
        yield f"{where}{place}: {float(left[at])!r} against {float(right[at])!r}"
