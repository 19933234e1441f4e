"""Rules that choose one step of a path: best score, one standard error, elbow, size or cost.

A rule is any object with two methods: ``choose(path)`` returns the index of a step, and
``sentence(path, index)`` says in one sentence why that step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from secateur.exceptions import ParameterError
from secateur.path.comparing import (
    LEVEL,
    P_VALUE,
    ROW_LIMIT,
    best_among,
    envelope,
    is_chance,
    require_steps,
    smallest_among,
    usable,
)
from secateur.path.step import count_of, format_amount, format_score
from secateur.path.stopping import CheckedFields, checked, real_number, whole_number, within_budget
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath

NO_LIMIT = "Use 'best' for no limit."


@runtime_checkable
class CuttingRule(Protocol):
    """The interface of a cutting rule."""

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        ...

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        ...


class _Rule(CheckedFields):
    """A rule of the library: `_choose` gets a path with steps, `_why` ends the sentence."""

    __slots__ = ()
    _choose: Callable[..., int]

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        require_steps(path)
        return self._choose(path)

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        return f"{format_share(path, index)}: {self._why(path, index)}."

    def _why(self, path: SelectionPath, index: int) -> str:
        return _why_best(path, index)


@dataclass(frozen=True, slots=True)
class Best(_Rule):
    """The best score; ties go to fewer features. Without scores, the last step.

    Examples
    --------
    >>> Best()
    Best()
    """

    def _choose(self, path: SelectionPath) -> int:
        return best_among(path, np.arange(len(path))) if path.has_scores else len(path) - 1


@dataclass(frozen=True, slots=True)
class OneStandardError(_Rule):
    """The fewest features whose score is within a standard error of the best.

    Ties go to the lower cost, then to the better score. Where the standard error of the best
    score is unknown, this is `Best`.

    None are chosen where the best gains less than two standard errors over none, row by row.
    Otherwise some are: where none are within reach, a step must keep half of the best gain.

    Parameters
    ----------
    multiple : float, default=1.0
        How many standard errors a step may be worse than the best.

    Examples
    --------
    >>> OneStandardError(2)
    OneStandardError(multiple=2.0)
    """

    multiple: float = field(
        default=1.0,
        metadata=checked(real_number, "Use 1 for the usual rule, 0 for the best score."),
    )

    def _choose(self, path: SelectionPath) -> int:
        best = Best().choose(path)
        return _smallest_near(path, best, np.full(len(path), self._slack(path, best)))

    def _why(self, path: SelectionPath, index: int) -> str:
        best = Best().choose(path)
        score, slack, plain = path[index].score, self._slack(path, best), _why_best(path, index)
        if path[best].score is None or score is None:
            return plain
        if not path[index].n_features and (index == best or is_chance(path[best])):
            return _why_none(path, best)
        if self.multiple == 0:
            return plain
        if math.isnan(slack):
            return f"{plain}; its standard error is unknown, so no smaller step was considered"
        one = self.multiple == 1
        errors = "one standard error" if one else f"{self.multiple:g} standard errors"
        within, best_of = f"{errors} ({format_score(slack)})", _size_of_best(path, best)
        if 0.0 < _gain_over_none(path, best) <= slack:
            return (
                f"the fewest whose {score} keeps half of what {best_of} gains over no features at "
                f"all; that gain is within {within}, so it is uncertain"
            )
        return f"the fewest whose {score} is within {within} of {best_of}"

    def _slack(self, path: SelectionPath, best: int) -> float:
        score = path[best].score
        return self.multiple * score.standard_error if score else math.nan


@dataclass(frozen=True, slots=True)
class NearBest(_Rule):
    """The fewest features whose score is about as good as the best.

    A step may be worse by a small share of what the best gains over no features (and by no more
    than five times that share of the best loss), and by half a standard error of their difference
    on the same rows. That of paired losses is far smaller than that of either score; it is
    corrected for training sets that overlap (Nadeau and Bengio, 2003). Paths without such errors
    (of single fits, forward selection, nested cross-validation) are cut by `OneStandardError`.
    Where the best may be chance, both rules choose no features.

    Few rows cannot tell such steps apart. Where few rows have many columns, a step may be
    worse by four times as many standard errors, and the one with the most features is chosen, up to
    the number that the rows support (``row_limit`` of the step's details).

    Parameters
    ----------
    tolerance : float, default=0.015
        The share of the gain.
    multiple : float, default=0.5
        How many standard errors of the difference.

    Examples
    --------
    >>> NearBest(tolerance=0.01)
    NearBest(tolerance=0.01, multiple=0.5)
    """

    tolerance: float = field(default=0.015, metadata=checked(real_number, "Use 0.02 for 2 %."))
    multiple: float = field(default=0.5, metadata=checked(real_number, "Use 0.5 for half of one."))

    def _choose(self, path: SelectionPath) -> int:
        best = Best().choose(path)
        slack = self._slack(path, best)
        if slack is None:
            return OneStandardError().choose(path)
        return _smallest_near(path, best, slack, path[best].details.get(ROW_LIMIT, 0))

    def _why(self, path: SelectionPath, index: int) -> str:
        best = Best().choose(path)
        score, slack = path[index].score, self._slack(path, best)
        if score is None or slack is None or not path[index].n_features:
            return OneStandardError()._why(path, index)  # noqa: SLF001
        if index == best:
            return f"{_why_best(path, index)}; no smaller subset is as good"
        within = f"within {format_score(slack[index])} of {_size_of_best(path, best)}"
        limit = path[best].details.get(ROW_LIMIT, 0)
        if path[index].n_features <= limit:
            return (
                f"the most, of at most {limit} that so few rows support, whose {score} is {within}"
            )
        return f"the fewest whose {score} is {within}, about as good"

    def _slack(self, path: SelectionPath, best: int) -> FloatArray | None:
        """How much worse each step may be; None without the errors of differences to the best."""
        errors = np.array([step.details.get(DIFFERENCE_ERROR, math.nan) for step in path])
        if np.isnan(errors).any() or errors[best] != 0.0:
            return None
        gain = _gain_over_none(path, best)  # infinite where all steps have features
        gain = min(gain, _LOSSES * abs(path.utilities[best])) if math.isfinite(gain) else 0.0
        multiple = (_FEW_ROWS if ROW_LIMIT in path[best].details else 1.0) * self.multiple
        return multiple * errors + self.tolerance * gain


@dataclass(frozen=True, slots=True)
class AtMost(_Rule):
    """The best score with at most so many features; without scores, the largest such support.

    Examples
    --------
    >>> AtMost(12)
    AtMost(n_features=12)
    """

    n_features: int = field(metadata=checked(whole_number, NO_LIMIT))

    def _choose(self, path: SelectionPath) -> int:
        sizes = path.n_features
        fitting = np.flatnonzero(sizes <= self.n_features)
        if fitting.size == 0:
            raise ParameterError(
                f"No step has at most {count_of(self.n_features)}. Got a path whose smallest step "
                f"has {sizes.min()}. Allow that many, or trace with a higher penalty."
            )
        return _best_or_largest(path, fitting, sizes)

    def _why(self, path: SelectionPath, index: int) -> str:
        if self.n_features >= path.n_features.max():
            return _limited(path, index, f"of the path (at most {self.n_features} were asked for)")
        return _limited(path, index, f"with at most {count_of(self.n_features)}")


@dataclass(frozen=True, slots=True)
class WithinBudget(_Rule):
    """The best score at no more than this cost; without scores, the costliest such step.

    Examples
    --------
    >>> WithinBudget(2.5)
    WithinBudget(cost=2.5)
    """

    cost: float = field(metadata=checked(real_number, NO_LIMIT))

    def _choose(self, path: SelectionPath) -> int:
        costs = path.costs
        if np.isnan(costs).all():
            raise ParameterError(
                "A budget needs a path with costs. Got none. Give feature costs, or use AtMost."
            )
        fitting = np.flatnonzero(within_budget(costs, self.cost))
        if fitting.size == 0:
            raise ParameterError(
                f"No step costs at most {format_cost(path, self.cost)}. Got a path whose lowest "
                f"cost is {format_cost(path, np.nanmin(costs))}. Allow that much."
            )
        return _best_or_largest(path, fitting, costs)

    def _why(self, path: SelectionPath, index: int) -> str:
        budget, cost = format_cost(path, self.cost), format_cost(path, path[index].cost)
        return _limited(path, index, f"at a cost of at most {budget} (it costs {cost})")


DIFFERENCE_ERROR = "difference_error"  # of a step's details: to the best step, row by row
_NOT_SCORED = "; no step was scored (cv=0, or too few rows), so fewer features may be as good"
_FEW_ROWS = 4.0  # times as many standard errors, where few rows tell little
_LOSSES = 5.0  # the gain counts as no more than so many times the best loss
_AS_CLOSE = "; columns are as close to random permutations of the target (p = {:.2g})"
_HALF = 0.5  # of what the best gains over none, so much is kept where all of it may be chance


def _smallest_near(path: SelectionPath, best: int, slack: FloatArray, limit: int = 0) -> int:
    """The fewest features with a score worse than the best by no more than the slack of a step.

    With a ``limit``, the most features up to that many, if there are any.
    """
    near = usable(path)
    none = near[path.n_features[near] == 0]
    if len(none) and is_chance(path[best]):
        return best_among(path, none)
    if math.isnan(slack[best]):
        return best
    gain = _gain_over_none(path, best)
    if len(none) and 0.0 < gain <= slack[none].max():
        near, slack = near[path.n_features[near] > 0], np.minimum(slack, _HALF * gain)
    worse = path.utilities[best] - path.utilities[near]
    near = near[worse <= slack[near]]
    within = near[path.n_features[near] <= limit]
    if len(within):
        return best_among(path, within[path.n_features[within] == path.n_features[within].max()])
    return smallest_among(path, near)


def _best_or_largest(path: SelectionPath, fitting: IntArray, size: FloatArray | IntArray) -> int:
    if path.has_scores:
        return best_among(path, fitting)
    return int(fitting[np.flatnonzero(size[fitting] == size[fitting].max())[-1]])


def _limited(path: SelectionPath, index: int, limit: str) -> str:
    score = path[index].score
    return f"the best {score} {limit}" if score else f"the largest step {limit}{_NOT_SCORED}"


def _why_best(path: SelectionPath, index: int) -> str:
    score = path[index].score
    return f"the best {score}" if score else f"the last step{_NOT_SCORED}"


def _size_of_best(path: SelectionPath, best: int) -> str:
    size = count_of(path[best].n_features)
    return f"the best ({format_score(path.scores[best])}, at {size})"


def _why_none(path: SelectionPath, best: int) -> str:
    top, gain = path[best].score, path[best].details.get("gain_over_none", 0.0)
    p_value = path[best].details.get(P_VALUE, 0.0)
    tested = "" if p_value <= LEVEL else _AS_CLOSE.format(p_value)
    if path[best].n_features == 0:
        constant = f"a constant, whose {top} is the best{tested}"
        return f"no step with features predicts better than {constant}"
    of_best = f"The best {top}, at {count_of(path[best].n_features)}"
    is_inner = top is not None and top.origin == "inner"
    rows = "rows that took no part in the selection" if is_inner else "the same rows"
    by = f"only {max(0.0, gain):.1f} standard errors on {rows}"
    return f"no step with features clearly beats a constant. {of_best}, is better by {by}{tested}"


def _gain_over_none(path: SelectionPath, best: int) -> float:
    """How much better the best step is than one without features; inf where there is none."""
    none = path.utilities[(path.n_features == 0) & np.isfinite(path.utilities)]
    return float(path.utilities[best] - none.max(initial=-math.inf))


@dataclass(frozen=True, slots=True)
class Elbow(_Rule):
    r"""The step after which further features improve the score little.

    ::

        score                    The envelope keeps the steps (o) that no smaller step equals.
          |          __o         The chord joins its first to its last, which is the best score.
          |   E___o--  /         The elbow E is the step highest above the chord.
          |  /      /  . . .     Steps beyond the best (.) are ignored: how long the
          | /   /                run went on after it does not move the elbow.
          |o/_____________ features

    With fewer than three steps on the envelope, or none above the chord, this is `Best`.

    Examples
    --------
    >>> from secateur.path import Score, SelectionPath, Step, StopReason
    >>> steps = [
    ...     Step.of(range(k), score=Score(accuracy, 0.01, (), "held_out", "accuracy", True))
    ...     for k, accuracy in [(1, 0.5), (2, 0.8), (4, 0.85), (8, 0.86)]
    ... ]
    >>> path = SelectionPath(steps, StopReason.FINISHED, list("abcdefgh"), "demo")
    >>> path.cut(Elbow()).n_features
    2
    """

    def _choose(self, path: SelectionPath) -> int:
        if not path.has_scores:
            raise ParameterError(
                "An elbow needs a path with scores. Got none. Score the run, or cut by 'best'."
            )
        elbow = _elbow(path)
        return Best().choose(path) if elbow is None else elbow

    def _why(self, path: SelectionPath, index: int) -> str:
        score = path[index].score
        if score is None or _elbow(path) is None:
            return f"{_why_best(path, index)}; the scores have no elbow"
        first, last = path.n_features[envelope(path)[[0, -1]]]
        return (
            f"the elbow of {score} against the number of features, farthest from the chord "
            f"between {first} and {last} features"
        )


def _elbow(path: SelectionPath) -> int | None:
    steps = envelope(path)
    if steps.size < 3:
        return None  # two points are their own chord
    # Both axes run from 0 to 1, so the chord is the diagonal and the distance from it is y - x.
    axes = (path.utilities[steps], path.n_features[steps].astype(np.float64))
    y, x = ((values - values[0]) / (values[-1] - values[0]) for values in axes)
    highest = int(np.argmax(y - x))
    # The ends lie on the chord; rounding aside, nothing there means nothing above it.
    return int(steps[highest]) if (y - x)[highest] > 1e-12 else None


def format_share(path: SelectionPath, index: int) -> str:
    """The number of features of the total: '12 of 300 features'."""
    return f"{path[index].n_features} of {count_of(path.n_features_in)}"


def format_cost(path: SelectionPath, cost: float) -> str:
    """Write a cost with its unit."""
    return f"{format_amount(cost)} {path.cost_unit}".rstrip()
