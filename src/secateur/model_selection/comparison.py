"""`Comparison`: the results of several methods on the same folds, without data and estimators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from secateur.exceptions import ParameterError, import_optional
from secateur.model_selection import comparison_text as text
from secateur.model_selection import statistics
from secateur.model_selection.statistics import Agreement, Curve, PairedTest, Point, Rank, Timing
from secateur.path import codec
from secateur.path.rendering import html_table, rich_table
from secateur.path.step import Refrozen, Score, frozen_integers, frozen_mapping, set_fields
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
    """The features that a method selected in one fold."""

    size: int | None  # the maximum number of features; None is the method's own choice
    order: IntArray  # the first selected first
    scores: Mapping[str, float] = field(default_factory=dict)  # by validator; NaN where it failed

    def __post_init__(self) -> None:
        scores = {str(name): float(value) for name, value in self.scores.items()}
        order = frozen_integers("order", self.order)
        set_fields(self, order=order, scores=MappingProxyType(scores))

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
    """One method on one fold."""

    method: str
    fold: int
    status: TrialStatus
    message: str = ""  # the error, or which validators failed
    seconds: float = math.nan  # time of the selection, without the validators
    subsets: tuple[Subset, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        set_fields(self, status=TrialStatus(self.status), subsets=tuple(self.subsets))
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
    target_type : {"classification", "regression", "ranking"}
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
            set_fields(self, **{name: tuple(map(str, getattr(self, name)))})
        set_fields(
            self,
            sizes=tuple(sorted({int(size) for size in self.sizes})),
            fold_sizes=tuple((int(train), int(test)) for train, test in self.fold_sizes),
            parameters=frozen_mapping("parameters", self.parameters),
            versions=frozen_mapping("versions", self.versions),
        )
        _check_trials(self)
        trials = sorted(self.trials, key=lambda each: (self.methods.index(each.method), each.fold))
        set_fields(self, trials=tuple(trials))

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
        found = {trial.fold: trial.score(validator, size) for trial in self.trials_of(method)}
        return np.array([found.get(fold, math.nan) for fold in range(self.n_folds)], np.float64)

    def curves(self, validator: str | None = None) -> tuple[Curve, ...]:
        """Score against number of features, of each method by each validator (or by one)."""
        return tuple(
            Curve(
                method,
                each,
                tuple(p for size in self.sizes if (p := self._point(method, each, size))),
                self._point(method, each, None),
            )
            for each in self._validators(validator)
            for method in self.methods
        )

    def _point(self, method: str, validator: str, size: int | None) -> Point | None:
        subsets = [trial.subset(size) for trial in self.trials_of(method)]
        found = [s for s in subsets if s and math.isfinite(s.scores.get(validator, math.nan))]
        if not found:
            return None
        score = Score.of(
            [subset.scores[validator] for subset in found],
            origin="held_out",
            metric=self.metric,
            greater_is_better=self.greater_is_better,
        )
        return Point(size, float(np.mean([subset.n_features for subset in found])), score)

    def ranks(self, validator: str | None = None, size: int | None = None) -> tuple[Rank, ...]:
        """Mean ranks over folds, the best method first; by default over all validators and sizes.

        A method without a score in a fold shares the last rank there, one without any is left out.
        """
        from scipy.stats import rankdata

        sizes = self.sizes if size is None else (_known("size", size, self.sizes),)
        pairs = list(itertools.product(self._validators(validator), sizes))
        scores = {
            name: np.concatenate([[], *(self.scores(name, *pair) for pair in pairs)])
            for name in self.methods
        }
        names = [name for name in self.methods if np.isfinite(scores[name]).any()]
        if not names:
            return ()
        losses = np.array([scores[name] for name in names])
        if self.greater_is_better:
            losses = -losses
        known = np.isfinite(losses)
        kept = known.any(axis=0)
        means = rankdata(np.where(known, losses, np.inf)[:, kept], axis=0).mean(axis=1)
        ranks = [Rank(*pair, int(kept.sum())) for pair in zip(names, means.tolist(), strict=True)]
        return tuple(sorted(ranks, key=lambda rank: rank.mean))

    def paired_tests(
        self, validator: str | None = None, size: int | None = None, *, against: str | None = None
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
            Those of two folds or more; p_adjusted is Holm's correction for all of them.
        """
        chosen = self._validators(validator)[0]
        _known("size", size, self.sizes)
        if against is None:
            pairs = list(itertools.combinations(self.methods, 2))
        else:
            _known("method", against, self.methods)
            pairs = [(name, against) for name in self.methods if name != against]
        made = []
        for pair in pairs:
            left, right = (self.scores(name, chosen, size) for name in pair)
            both = np.isfinite(left) & np.isfinite(right)
            if both.sum() < 2:
                continue
            d = (1.0 if self.greater_is_better else -1.0) * (left - right)[both]
            train, test = np.array(self.fold_sizes, np.float64)[both].sum(axis=0)
            error, t, p = statistics.corrected_t(d, float(test / train) if train else math.nan)
            mean = float(d.mean())
            made.append(PairedTest(*pair, mean, error, t, p, p, len(d), chosen, size))
        adjusted = statistics.holm([test.p for test in made])
        return tuple(test._replace(p_adjusted=p) for test, p in zip(made, adjusted, strict=True))

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
        _known("size", size, self.sizes)
        found = {}
        for name in self.methods:
            subsets = (trial.subset(size) for trial in self.trials_of(name) if trial.is_done)
            supports = [subset.support for subset in subsets if subset is not None]
            found[name] = statistics.nogueira(supports, self.n_features_in, confidence=confidence)
        return found

    def seconds(self) -> dict[str, Timing]:
        """Times of the selections, by method."""
        found = {}
        for name in self.methods:
            trials = {trial.fold: trial for trial in self.trials_of(name)}
            folds = [trials[k].seconds if k in trials else math.nan for k in range(self.n_folds)]
            done = [trial.seconds for trial in trials.values() if trial.is_done]
            median = float(np.median(done)) if done else math.nan
            found[name] = Timing(median, float(np.nansum(folds)), tuple(folds), len(done))
        return found

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one plain dict for each method, fold, size and validator."""
        return [row for trial in self.trials for row in text.rows(self, trial)]

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame; a size of NA is the method's own choice."""
        pandas = import_optional("pandas", "A data frame", "pandas", ", or use to_rows()")
        rows = pandas.DataFrame(self.to_rows(), columns=list(text.COLUMNS))
        return rows.astype({"size": "Int64", "n_features": "Int64"})

    def __repr__(self) -> str:
        return f"Comparison({text.title(self)})"

    def __str__(self) -> str:
        return text.sentences(self)

    def __rich__(self) -> RenderableType:
        return rich_table(text.title(self), *text.table(self), text_column=0)

    def _repr_html_(self) -> str:
        return html_table(text.title(self), *text.table(self))

    def _validators(self, name: str | None) -> tuple[str, ...]:
        return self.validators if name is None else (_known("validator", name, self.validators),)


def _known(what: str, value: Any, known: Sequence[Any]) -> Any:
    if value is not None and value not in known:
        names = ", ".join(map(str, known))
        raise ParameterError(f"There is no such {what} here. Got {value!r}. Use one of {names}.")
    return value


def _check_trials(comparison: Comparison) -> None:
    """Raise if trials do not belong to the methods, folds and features of a comparison."""
    for name in ("methods", "validators"):
        names = getattr(comparison, name)
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"{name!r} must hold names, each of them once. Got {names}. Name one at least."
            )
    seen, n_features = set(), comparison.n_features_in
    for trial in comparison.trials:
        place = (trial.method, trial.fold)
        is_known = trial.method in comparison.methods and 0 <= trial.fold < comparison.n_folds
        if not is_known or place in seen:
            raise ParameterError(
                "There must be one trial of each method on each fold of the comparison. Got "
                f"{'a second one' if is_known else 'one'} of {trial.method!r}, fold {trial.fold}. "
                "Name all methods and folds, and leave repeated trials out."
            )
        seen.add(place)
        used = [feature for subset in trial.subsets for feature in subset.order.tolist()]
        wrong = [feature for feature in used if not 0 <= feature < n_features]
        if wrong:
            raise ParameterError(
                f"Every feature must have a name. Got {n_features} names and feature {wrong[0]}. "
                "Pass a name for every feature of the problem."
            )
