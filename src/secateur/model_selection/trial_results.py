"""One method on one fold: what it chose, how long it took, and what held-out rows say of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from secateur.exceptions import ParameterError
from secateur.path.values import Refrozen, frozen_integers
from secateur.typing import IntArray


class TrialStatus(StrEnum):
    """How a trial ended."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True, eq=False)
class Subset(Refrozen):
    """What a method chose, asked for at most so many features or left to itself.

    Parameters
    ----------
    size : int or None
        The most features that were allowed; None is the method's own choice.
    order : array of int
        The features, the first chosen first.
    scores : mapping of str to float, default={}
        By validator, on the rows left out; NaN where the validator failed.

    Examples
    --------
    >>> subset = Subset(3, [7, 2], {"logistic": 0.9})
    >>> subset.n_features, subset.support
    (2, array([2, 7]))
    """

    size: int | None
    order: IntArray
    scores: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", frozen_integers("order", self.order))
        scores = {str(name): float(value) for name, value in self.scores.items()}
        object.__setattr__(self, "scores", MappingProxyType(scores))

    @property
    def n_features(self) -> int:
        """How many features there are, perhaps fewer than were allowed."""
        return int(self.order.size)

    @property
    def support(self) -> IntArray:
        """The features, sorted."""
        return np.sort(self.order)


@dataclass(frozen=True, slots=True, eq=False)
class Trial(Refrozen):
    """One method on one fold.

    Parameters
    ----------
    method : str
    fold : int
    status : TrialStatus
    message : str, default=""
        What went wrong, or which validators failed.
    seconds : float, default=nan
        What the selection took, without the validators.
    subsets : tuple of Subset, default=()
    """

    method: str
    fold: int
    status: TrialStatus
    message: str = ""
    seconds: float = math.nan
    subsets: tuple[Subset, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", TrialStatus(self.status))
        object.__setattr__(self, "fold", int(self.fold))
        object.__setattr__(self, "seconds", float(self.seconds))
        object.__setattr__(self, "subsets", tuple(self.subsets))
        sizes = [subset.size for subset in self.subsets]
        if len(set(sizes)) < len(sizes):
            raise ParameterError(
                f"A trial must have one subset for each size. Got {sizes}. Leave the others out."
            )

    @property
    def is_done(self) -> bool:
        """Whether the method chose its features."""
        return self.status is TrialStatus.DONE

    def subset(self, size: int | None) -> Subset | None:
        """What was chosen at a size (None: the method's own choice); None if there is none."""
        return next((subset for subset in self.subsets if subset.size == size), None)

    def score(self, validator: str, size: int | None) -> float:
        """A held-out score, NaN where there is none."""
        subset = self.subset(size)
        return math.nan if subset is None else subset.scores.get(validator, math.nan)


def check_trials(
    trials: Iterable[Trial], methods: Sequence[str], n_folds: int, n_features: int
) -> None:
    """Refuse trials that do not belong to a comparison of these methods, folds and features."""
    seen = set()
    for trial in trials:
        if trial.method not in methods or not 0 <= trial.fold < n_folds:
            raise ParameterError(
                "Every trial must be of a method and a fold of the comparison. Got "
                f"{trial.method!r}, fold {trial.fold}. Name all methods and folds."
            )
        if (trial.method, trial.fold) in seen:
            raise ParameterError(
                "A method must be tried once on each fold. Got two trials of "
                f"{trial.method!r} on fold {trial.fold}. Leave one out."
            )
        seen.add((trial.method, trial.fold))
        most = max((int(s.order.max()) for s in trial.subsets if s.n_features), default=-1)
        if most >= n_features:
            raise ParameterError(
                f"Every feature must have a name. Got {n_features} names and feature {most}. "
                "Pass a name for every feature of the problem."
            )
