"""Rules that stop a run: number of features, cost, no more progress, time.

A rule is any object with one method, ``reason(history)``, which returns why the run should stop
now, or None. Two of the rules are limits (``is_limit = True``): they are checked as soon as a step
arrives, and a step that exceeds the limit stays out of the path. Limits suit runs whose support
grows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from secateur.exceptions import ParameterError
from secateur.path.path import StopReason
from secateur.path.step import Step
from secateur.path.values import real_number, whole_number, within_budget


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The history of a run in raw steps (of boosted trees: one for each round).

    Parameters
    ----------
    latest : Step
        The latest raw step. Limits see it before it is scored.
    n_raw_steps : int
        Number of raw steps, the latest included.
    elapsed : float
        Seconds since the start.
    best_utilities : sequence of float
        The best utility up to each raw step, -inf before the first score. To be read only.
    """

    latest: Step
    n_raw_steps: int
    elapsed: float
    best_utilities: Sequence[float]

    @property
    def n_since_best(self) -> int:
        """Number of raw steps after the one with the best score."""
        if not self.best_utilities:
            return 0
        # The running best never falls, so the step that set it is found by bisection.
        set_at = bisect_left(self.best_utilities, self.best_utilities[-1])
        return len(self.best_utilities) - 1 - set_at


class StoppingRule(Protocol):
    """The interface of a stopping rule."""

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        ...


@dataclass(frozen=True, slots=True)
class MaxFeatures:
    """Stop when a step uses more than so many features, and leave that step out.

    Examples
    --------
    >>> MaxFeatures(1).reason(History(Step.of([3, 1]), 1, 0.0, []))
    <StopReason.MAX_FEATURES: 'max_features'>
    """

    n_features: int
    is_limit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        advice = "Leave the rule out for no limit."
        n_features = whole_number("n_features", self.n_features, minimum=1, advice=advice)
        object.__setattr__(self, "n_features", n_features)

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        return StopReason.MAX_FEATURES if history.latest.n_features > self.n_features else None


@dataclass(frozen=True, slots=True)
class CostBudget:
    """Stop when a step costs more than this, and leave that step out.

    Examples
    --------
    >>> CostBudget(2.0).reason(History(Step.of([3, 1], cost=2.5), 1, 0.0, []))
    <StopReason.COST_BUDGET: 'cost_budget'>
    """

    cost: float
    is_limit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        advice = "Leave the rule out for no limit."
        object.__setattr__(self, "cost", real_number("cost", self.cost, advice=advice))

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        cost = history.latest.cost
        if math.isnan(cost):
            # To go on would be to spend without counting.
            raise ParameterError(
                "A cost budget needs steps with costs. Got a step without one. "
                "Give feature costs to the run, or use MaxFeatures."
            )
        return None if within_budget(cost, self.cost) else StopReason.COST_BUDGET


@dataclass(frozen=True, slots=True)
class Patience:
    """Stop when the best score has not risen by more than `tolerance` over so many raw steps.

    It waits for the first score.

    Examples
    --------
    >>> Patience(2).reason(History(Step.of([0]), 3, 0.0, [-0.5, -0.5, -0.5]))
    <StopReason.PATIENCE: 'patience'>
    """

    n_steps: int
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        advice = "Leave the rule out to go on without progress."
        object.__setattr__(
            self, "n_steps", whole_number("n_steps", self.n_steps, minimum=1, advice=advice)
        )
        advice = "Use 0 to count any progress."
        tolerance = real_number("tolerance", self.tolerance, advice=advice)
        object.__setattr__(self, "tolerance", tolerance)

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        best = history.best_utilities
        if len(best) <= self.n_steps or math.isinf(best[-1 - self.n_steps]):
            return None  # the first score is younger than the patience
        gained = best[-1] - best[-1 - self.n_steps]
        return StopReason.PATIENCE if gained <= self.tolerance else None


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Stop after the first raw step that is done so many seconds after the start.

    Examples
    --------
    >>> TimeLimit(60).reason(History(Step.of([0]), 1, 61.5, []))
    <StopReason.TIME_LIMIT: 'time_limit'>
    """

    seconds: float

    def __post_init__(self) -> None:
        advice = "Leave the rule out for no limit."
        seconds = real_number("seconds", self.seconds, advice=advice, above_zero=True)
        object.__setattr__(self, "seconds", seconds)

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        return StopReason.TIME_LIMIT if history.elapsed >= self.seconds else None
