"""Rules that stop a run: number of features, cost, no more progress, time.

A rule is any object with one method, ``reason(history)``, which returns why the run should stop
now, or None. Two of the rules are limits (``is_limit = True``): they are checked as soon as a step
arrives, and a step that exceeds the limit stays out of the path. They suit growing supports.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from secateur.exceptions import ParameterError
from secateur.path.step import Step, set_fields

COST_TOLERANCE = 1e-12
"""Relative. Costs are sums of floats: three features at 0.1 cost 0.30000000000000004, and a budget
of 0.3 must allow them."""


class StopReason(StrEnum):
    """Why a path ended."""

    FINISHED = "finished"
    MAX_FEATURES = "max_features"
    COST_BUDGET = "cost_budget"
    PATIENCE = "patience"
    TIME_LIMIT = "time_limit"
    MAX_ITER = "max_iter"
    NO_GAIN = "no_gain"
    REPEATED = "repeated"
    INTERRUPTED = "interrupted"


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


NO_LIMIT = "Leave the rule out for no limit."


class StoppingRule(Protocol):
    """The interface of a stopping rule."""

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        ...


def whole_number(name: str, value: Any, *, minimum: int = 1, advice: str) -> int:
    """Return `value` as an int of at least `minimum`, or raise."""
    try:
        # True is an int to Python, but True features is a mistake.
        number = minimum - 1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = minimum - 1
    if number < minimum:
        raise ParameterError(
            f"{name!r} must be a whole number >= {minimum}. Got {value!r}. {advice}"
        )
    return number


def real_number(name: str, value: Any, *, advice: str, above_zero: bool = False) -> float:
    """Return `value` as a float, not negative (or above zero) and not NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or number < 0 or (above_zero and number == 0):
        sign = ">" if above_zero else ">="
        raise ParameterError(f"{name!r} must be a number {sign} 0. Got {value!r}. {advice}")
    return number


def checked(check: Callable[..., Any], advice: str, **more: Any) -> dict[str, Any]:
    """Metadata of a field of `CheckedFields`."""
    return {"check": partial(check, advice=advice, **more)}


class CheckedFields:
    """A frozen dataclass whose constructor checks its fields by their metadata."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            if "check" in each.metadata:  # a subclass of the user's own may have other fields
                value = each.metadata["check"](each.name, getattr(self, each.name))
                set_fields(self, **{each.name: value})


@dataclass(frozen=True, slots=True)
class MaxFeatures(CheckedFields):
    """Stop when a step uses more than so many features, and leave that step out.

    Examples
    --------
    >>> MaxFeatures(1).reason(History(Step.of([3, 1]), 1, 0.0, []))
    <StopReason.MAX_FEATURES: 'max_features'>
    """

    n_features: int = field(metadata=checked(whole_number, NO_LIMIT))
    is_limit: ClassVar[bool] = True

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        return StopReason.MAX_FEATURES if history.latest.n_features > self.n_features else None


@dataclass(frozen=True, slots=True)
class CostBudget(CheckedFields):
    """Stop when a step costs more than this, and leave that step out.

    Examples
    --------
    >>> CostBudget(2.0).reason(History(Step.of([3, 1], cost=2.5), 1, 0.0, []))
    <StopReason.COST_BUDGET: 'cost_budget'>
    """

    cost: float = field(metadata=checked(real_number, NO_LIMIT))
    is_limit: ClassVar[bool] = True

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        cost = history.latest.cost
        if math.isnan(cost):
            raise ParameterError(
                "A cost budget needs steps with costs. Got none. Give feature costs to the run."
            )
        return None if within_budget(cost, self.cost) else StopReason.COST_BUDGET


@dataclass(frozen=True, slots=True)
class Patience(CheckedFields):
    """Stop when the best score has not risen by more than `tolerance` over so many raw steps.

    It waits for the first score.

    Examples
    --------
    >>> Patience(2).reason(History(Step.of([0]), 3, 0.0, [-0.5, -0.5, -0.5]))
    <StopReason.PATIENCE: 'patience'>
    """

    n_steps: int = field(
        metadata=checked(whole_number, "Leave the rule out to go on without progress.")
    )
    tolerance: float = field(
        default=0.0, metadata=checked(real_number, "Use 0 to count any progress.")
    )

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        best = history.best_utilities
        if len(best) <= self.n_steps or math.isinf(best[-1 - self.n_steps]):
            return None  # the first score is younger than the patience
        gained = best[-1] - best[-1 - self.n_steps]
        return StopReason.PATIENCE if gained <= self.tolerance else None


@dataclass(frozen=True, slots=True)
class TimeLimit(CheckedFields):
    """Stop after the first raw step that is done so many seconds after the start.

    Examples
    --------
    >>> TimeLimit(60).reason(History(Step.of([0]), 1, 61.5, []))
    <StopReason.TIME_LIMIT: 'time_limit'>
    """

    seconds: float = field(metadata=checked(real_number, NO_LIMIT, above_zero=True))

    def reason(self, history: History) -> StopReason | None:
        """Return why the run should stop now, or None."""
        return StopReason.TIME_LIMIT if history.elapsed >= self.seconds else None


def share_number(name: str, value: Any, *, advice: str) -> None:
    """Raise unless a value is a number between zero and one."""
    if not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise ParameterError(f"{name!r} must be a number > 0 and < 1. Got {value!r}. {advice}")


def within_budget(cost: Any, budget: float) -> Any:
    """Return whether costs, a number or an array of them, are within a budget."""
    return cost <= highest_cost(budget)


def highest_cost(budget: float) -> float:
    """The highest cost that is within a budget."""
    return budget * (1.0 + COST_TOLERANCE)
