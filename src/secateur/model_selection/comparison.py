"""`Comparison`: several methods on the same folds, with held-out scores.

Made by `secateur.compare`. It holds results only, no data and no estimators, so that it can be
loaded, shown and tested without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from secateur.exceptions import ParameterError
from secateur.model_selection import comparison_summary as summary
from secateur.model_selection.comparison_summary import Curve, PairedTest, Rank, Timing
from secateur.model_selection.statistics import Agreement
from secateur.path import codec, rendering
from secateur.path.step import Refrozen, frozen_integers, frozen_mapping
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType


class TrialStatus(StrEnum):
    """How a trial ended."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True, eq=False)
class Subset(Refrozen):
    """The features that a method selected in one fold.

    Parameters
    ----------
    size : int or None
        The maximum number of features; None is the method's own choice.
    order : array of int
        The features, the first selected first.
    scores : mapping of str to float, default={}
        Held-out score by validator; NaN where the validator failed.
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
        """Number of features, perhaps fewer than were allowed."""
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
        The error, or which validators failed.
    seconds : float, default=nan
        Time of the selection, without the validators.
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
        """Whether the method selected its features."""
        return self.status is TrialStatus.DONE

    def subset(self, size: int | None) -> Subset | None:
        """The subset of a size (None: the method's own choice), if there is one."""
        return next((subset for subset in self.subsets if subset.size == size), None)

    def score(self, validator: str, size: int | None) -> float:
        """Held-out score of a subset, NaN where there is none."""
        subset = self.subset(size)
        return math.nan if subset is None else subset.scores.get(validator, math.nan)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(codec.Saved, Refrozen):
    """Held-out scores, ranks, tests, stability and times of several methods on the same folds.

    Parameters
    ----------
    trials : sequence of Trial
        One for each method and fold that was finished, in any order.
    methods, validators : sequence of str
    sizes : sequence of int
        The maximum numbers of features; each method's own choice comes on top.
    feature_names : sequence of str
    fold_sizes : sequence of (int, int)
        Number of training and test rows of each fold.
    target_type : {"classification", "regression"}
    metric : str
    greater_is_better : bool
    seed : int
    parameters : mapping of str to JSON value, default={}
        The parameters of the methods, the time limit, a hash of the data.
    versions : mapping of str to str, default={}

    Examples
    --------
    >>> trials = [
    ...     Trial(name, fold, "done", subsets=[Subset(2, [0, 1], {"knn": score + fold})])
    ...     for name, score in (("a", 0.2), ("b", 0.3)) for fold in (0, 1)
    ... ]
    >>> comparison = Comparison(
    ...     trials, ["a", "b"], ["knn"], [2], list("xyz"), [(8, 4), (8, 4)],
    ...     "regression", "r2", True, seed=0,
    ... )
    >>> comparison
    Comparison(2 methods, 2 folds, 1 validator, 4 of 4 trials)
    >>> [(rank.method, rank.mean) for rank in comparison.ranks()]
    [('b', 1.0), ('a', 2.0)]
    """

    _format: ClassVar[codec.Format] = codec.Format(
        "secateur.comparison", 1, "comparison", "Make it again, or take an older copy of the file."
    )
    trials: tuple[Trial, ...]
    methods: tuple[str, ...]
    validators: tuple[str, ...]
    sizes: tuple[int, ...]
    feature_names: tuple[str, ...]
    fold_sizes: tuple[tuple[int, int], ...]
    target_type: str = field(metadata=codec.saved("task"))
    metric: str
    greater_is_better: bool
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("methods", "validators", "feature_names"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        object.__setattr__(self, "sizes", tuple(sorted({int(size) for size in self.sizes})))
        pairs = tuple((int(train), int(test)) for train, test in self.fold_sizes)
        object.__setattr__(self, "fold_sizes", pairs)
        object.__setattr__(self, "parameters", frozen_mapping("parameters", self.parameters))
        object.__setattr__(self, "versions", frozen_mapping("versions", self.versions))
        _check_trials(self)
        place = {name: at for at, name in enumerate(self.methods)}
        ordered = sorted(self.trials, key=lambda trial: (place[trial.method], trial.fold))
        object.__setattr__(self, "trials", tuple(ordered))

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.fold_sizes)

    @property
    def n_features_in(self) -> int:
        """Number of features there were to choose from."""
        return len(self.feature_names)

    @property
    def is_complete(self) -> bool:
        """Whether there is a trial of every method on every fold."""
        return len(self.trials) == len(self.methods) * self.n_folds

    @property
    def failures(self) -> tuple[Trial, ...]:
        """The trials that failed or exceeded the time limit."""
        return tuple(trial for trial in self.trials if not trial.is_done)

    def trials_of(self, method: str) -> tuple[Trial, ...]:
        """The trials of one method, by fold."""
        return tuple(trial for trial in self.trials if trial.method == method)

    def scores(self, method: str, validator: str, size: int | None = None) -> FloatArray:
        """Held-out scores by fold, NaN where there is none.

        Parameters
        ----------
        method, validator : str
        size : int or None, default=None
            The maximum number of features; None is the method's own choice.
        """
        found = np.full(self.n_folds, math.nan)
        for trial in self.trials_of(method):
            found[trial.fold] = trial.score(validator, size)
        return found

    def curves(self, validator: str | None = None) -> tuple[Curve, ...]:
        """Score against number of features, of each method by each validator (or by one)."""
        chosen = self._validators(validator)
        return tuple(summary.curve_of(self, name, v) for v in chosen for name in self.methods)

    def ranks(self, validator: str | None = None, size: int | None = None) -> tuple[Rank, ...]:
        """Mean ranks over folds, the best method first; by default over all validators and sizes.

        A method without a score in a fold shares the last rank there. Methods without any score at
        these sizes are left out.
        """
        sizes = self.sizes if size is None else (self._size(size),)
        return summary.ranks_of(self, self._validators(validator), sizes)

    def paired_tests(
        self,
        validator: str | None = None,
        size: int | None = None,
        *,
        against: str | None = None,
    ) -> tuple[PairedTest, ...]:
        """Corrected resampled t tests over folds (Nadeau and Bengio, 2003).

        Parameters
        ----------
        validator : str, default=None
            The first one by default.
        size : int, default=None
            The maximum number of features; None compares the methods' own choices.
        against : str, default=None
            Test all other methods against this one; by default all pairs are tested.

        Returns
        -------
        tuple of PairedTest
            p_adjusted is Holm's correction for all of them.
        """
        chosen = self._validators(validator)[0]
        if size is not None:
            self._size(size)
        if against is not None:
            _known("method", against, self.methods)
        return summary.tests_of(self, chosen, size, against)

    def stability(
        self, size: int | None = None, *, confidence: float = 0.95
    ) -> dict[str, Agreement]:
        """Nogueira's stability index of the features selected in the folds, by method.

        Parameters
        ----------
        size : int, default=None
            The maximum number of features; None is the method's own choice.
        confidence : float, default=0.95
        """
        if size is not None:
            self._size(size)
        return {name: summary.agreement_of(self, name, size, confidence) for name in self.methods}

    def seconds(self) -> dict[str, Timing]:
        """Times of the selections, by method."""
        return {name: summary.timing_of(self, name) for name in self.methods}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one plain dict for each method, fold, size and validator."""
        return [row for trial in self.trials for row in summary.rows_of(self, trial)]

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame; a size of NA is the method's own choice."""
        frame = rendering.import_pandas("to_rows()").DataFrame
        rows = frame(self.to_rows(), columns=list(summary.COLUMNS))
        return rows.astype({"size": "Int64", "n_features": "Int64"})

    def __repr__(self) -> str:
        return f"Comparison({summary.title(self)})"

    def __str__(self) -> str:
        return summary.sentences(self)

    def __rich__(self) -> RenderableType:
        return summary.to_rich(self)

    def _repr_html_(self) -> str:
        return summary.to_html(self)

    def _validators(self, name: str | None) -> tuple[str, ...]:
        return self.validators if name is None else (_known("validator", name, self.validators),)

    def _size(self, size: int) -> int:
        return int(_known("size", size, self.sizes))


def _known(what: str, value: Any, known: Sequence[Any]) -> Any:
    if value not in known:
        raise ParameterError(
            f"There is no such {what} in this comparison. Got {value!r}. "
            f"Use one of {', '.join(map(str, known))}."
        )
    return value


def _check_trials(comparison: Comparison) -> None:
    """Raise if trials do not belong to the methods, folds and features of a comparison."""
    seen = set()
    n_features = comparison.n_features_in
    for trial in comparison.trials:
        if trial.method not in comparison.methods or not 0 <= trial.fold < comparison.n_folds:
            raise ParameterError(
                "Every trial must be of a method and a fold of the comparison. Got "
                f"{trial.method!r}, fold {trial.fold}. Name all methods and folds."
            )
        if (trial.method, trial.fold) in seen:
            raise ParameterError(
                "There must be one trial of each method on each fold. Got two of "
                f"{trial.method!r} on fold {trial.fold}. Leave one out."
            )
        seen.add((trial.method, trial.fold))
        largest = max((int(s.order.max()) for s in trial.subsets if s.n_features), default=-1)
        if largest >= n_features:
            raise ParameterError(
                f"Every feature must have a name. Got {n_features} names and feature {largest}. "
                "Pass a name for every feature of the problem."
            )
