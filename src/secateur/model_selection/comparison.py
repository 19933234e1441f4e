"""`Comparison`: several methods on the same folds, each judged by rows that it never saw.

Made by `secateur.compare`. Beyond the trials it knows nothing of data or estimators, so it is read,
shown and tested without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import ParameterError
from secateur.model_selection import comparison_statistics as contest
from secateur.model_selection.agreement import Agreement
from secateur.model_selection.comparison_statistics import Curve, PairedTest, Rank, Timing
from secateur.model_selection.trial_results import Trial, check_trials
from secateur.path.values import Refrozen, as_pandas, frozen_mapping

if TYPE_CHECKING:
    import os

    import pandas as pd
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Refrozen):
    """Several methods on the same folds.

    Parameters
    ----------
    trials : sequence of Trial
        One for each method and fold that was finished, in any order.
    methods, validators : sequence of str
        In the order in which they were named.
    sizes : sequence of int
        The most features that methods were asked for; their own choice comes on top.
    feature_names : sequence of str
    fold_sizes : sequence of (int, int)
        Rows that train and rows that judge, by fold.
    target_type : {"classification", "regression"}
    metric : str
    greater_is_better : bool
    seed : int
        All chance came from it.
    parameters : mapping of str to JSON value, default={}
        What else was asked: the parameters of the methods, the time limit, marks of the data.
    versions : mapping of str to str, default={}

    Examples
    --------
    >>> from secateur.model_selection.trial_results import Subset
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

    trials: tuple[Trial, ...]
    methods: tuple[str, ...]
    validators: tuple[str, ...]
    sizes: tuple[int, ...]
    feature_names: tuple[str, ...]
    fold_sizes: tuple[tuple[int, int], ...]
    target_type: str
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
        place = {name: at for at, name in enumerate(self.methods)}
        check_trials(self.trials, self.methods, self.n_folds, self.n_features_in)
        ordered = sorted(self.trials, key=lambda trial: (place[trial.method], trial.fold))
        object.__setattr__(self, "trials", tuple(ordered))

    # ---- what there is -------------------------------------------------------------------------

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return len(self.fold_sizes)

    @property
    def n_features_in(self) -> int:
        """How many features there were to choose from."""
        return len(self.feature_names)

    @property
    def is_complete(self) -> bool:
        """Whether every method has been tried on every fold, with whatever result."""
        return len(self.trials) == len(self.methods) * self.n_folds

    @property
    def failures(self) -> tuple[Trial, ...]:
        """The trials that failed or took too long."""
        return tuple(trial for trial in self.trials if not trial.is_done)

    def trials_of(self, method: str) -> tuple[Trial, ...]:
        """The trials of one method, by fold."""
        return tuple(trial for trial in self.trials if trial.method == method)

    def scores(self, method: str, validator: str, size: int | None = None) -> Any:
        """Held-out scores by fold, NaN where there is none.

        Parameters
        ----------
        method, validator : str
        size : int or None, default=None
            The most features; None is the method's own choice.
        """
        found = np.full(self.n_folds, math.nan)
        for trial in self.trials_of(method):
            found[trial.fold] = trial.score(validator, size)
        return found

    # ---- what follows from it ------------------------------------------------------------------

    def curves(self, validator: str | None = None) -> tuple[Curve, ...]:
        """Score against number of features, of each method by each validator (or by one)."""
        chosen = self.validators if validator is None else (self._validator(validator),)
        return tuple(contest.curve_of(self, name, v) for v in chosen for name in self.methods)

    def ranks(self, validator: str | None = None, size: int | None = None) -> tuple[Rank, ...]:
        """Mean ranks of the methods, the best first; see `ranks_of`.

        Parameters
        ----------
        validator : str, default=None
            All of them by default.
        size : int, default=None
            All sizes by default.
        """
        validators = self.validators if validator is None else (self._validator(validator),)
        sizes = self.sizes if size is None else (self._size(size),)
        return contest.ranks_of(self, validators, sizes)

    def paired_tests(
        self,
        validator: str | None = None,
        size: int | None = None,
        *,
        against: str | None = None,
    ) -> tuple[PairedTest, ...]:
        """Corrected paired t tests over folds; see `corrected_t`.

        Parameters
        ----------
        validator : str, default=None
            The first one by default.
        size : int, default=None
            The most features; None compares the methods' own choices.
        against : str, default=None
            Test all other methods against this one; by default all pairs are tested.

        Returns
        -------
        tuple of PairedTest
            p_adjusted is corrected for all of them.
        """
        chosen = self.validators[0] if validator is None else self._validator(validator)
        if size is not None:
            self._size(size)
        if against is not None:
            self._method(against)
        return contest.tests_of(self, chosen, size, against)

    def stability(
        self, size: int | None = None, *, confidence: float = 0.95
    ) -> dict[str, Agreement]:
        """How much the folds agree on the features, by method: Nogueira's index.

        Parameters
        ----------
        size : int, default=None
            The most features; None is the method's own choice.
        confidence : float, default=0.95
        """
        if size is not None:
            self._size(size)
        return {name: contest.agreement_of(self, name, size, confidence) for name in self.methods}

    def seconds(self) -> dict[str, Timing]:
        """What the selections took, by method."""
        return {name: contest.timing_of(self, name) for name in self.methods}

    # ---- how it is shown and kept --------------------------------------------------------------

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one plain dict for each method, fold, size and validator."""
        return [row for trial in self.trials for row in contest.rows_of(self, trial)]

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame; a size of NA is the method's own choice."""
        rows = as_pandas(self.to_rows(), contest.COLUMNS)
        return rows.astype({"size": "Int64", "n_features": "Int64"})

    def to_json(self) -> str:
        """Return the comparison as strict JSON."""
        from secateur.model_selection.comparison_output import comparison_to_json

        return comparison_to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Comparison:
        """Read what `to_json` wrote."""
        from secateur.model_selection.comparison_output import comparison_from_json

        return comparison_from_json(text)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the comparison to a file, whole or not at all."""
        from secateur.path.codec import write_whole

        write_whole(file, self.to_json() + "\n")

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Comparison:
        """Read what `save` wrote."""
        from secateur.model_selection.comparison_output import load_comparison

        return load_comparison(file)

    def __repr__(self) -> str:
        from secateur.model_selection.comparison_output import summary

        return f"Comparison({summary(self)})"

    def __str__(self) -> str:
        from secateur.model_selection.comparison_output import sentences

        return sentences(self)

    def __rich__(self) -> RenderableType:
        from secateur.model_selection.comparison_output import comparison_to_rich

        return comparison_to_rich(self)

    def _repr_html_(self) -> str:
        from secateur.model_selection.comparison_output import comparison_to_html

        return comparison_to_html(self)

    def _method(self, name: str) -> str:
        return str(_known("method", name, self.methods))

    def _validator(self, name: str) -> str:
        return str(_known("validator", name, self.validators))

    def _size(self, size: int) -> int:
        return int(_known("size", size, self.sizes))


def _known(what: str, value: Any, known: tuple[Any, ...]) -> Any:
    if value not in known:
        raise ParameterError(
            f"There is no such {what} in this comparison. Got {value!r}. "
            f"Use one of {', '.join(map(str, known))}."
        )
    return value
