"""`Evidence`: what a report needs to know of the data, small enough to be saved with a path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from secateur.path import codec
from secateur.path.path import load_evidence_json
from secateur.path.step import Score

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram of one feature for each group of the target.

    Parameters
    ----------
    labels : tuple of str
        The values, where there are few of them or they are categories; else empty.
    edges : tuple of float
        The edges of the bins, one more than bins; empty where there are labels. Values beyond the
        ends are counted in the outer bins.
    counts : tuple of tuple of int
        For each group of the target, the rows in each bin.
    missing : tuple of int
        For each group of the target, the rows with a missing value.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Substitute:
    """A correlated feature that folds selected in place of an unstable one.

    Parameters
    ----------
    feature, other : int
        The unstable feature of the step, and the one that other folds selected instead.
    correlation : float
        Between the two, from -1 to 1.
    n_folds : int
        Folds that selected the other and not the feature.
    """

    feature: int
    other: int
    correlation: float
    n_folds: int


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """What the data say of one step, aligned with the order of entry.

    Parameters
    ----------
    paid : tuple of float
        The marginal cost of each feature when it entered; empty without costs.
    frequency : tuple of float
        The share of the folds that selected each feature at the matching step; empty without
        folds.
    substitutes : tuple of Substitute
        For unstable features, where other folds selected a correlated one.
    """

    paid: tuple[float, ...] = ()
    frequency: tuple[float, ...] = ()
    substitutes: tuple[Substitute, ...] = ()

    def substitute_of(self, feature: int) -> Substitute | None:
        """Return the substitute of a feature, or None."""
        return next((each for each in self.substitutes if each.feature == feature), None)


@dataclass(frozen=True, slots=True)
class Evidence(codec.Saved):
    """What the data say of the features of a path.

    Made by `gather_evidence`; a report is drawn from it and the path, without the data.

    Parameters
    ----------
    n_rows, n_sampled : int
        Rows of the table, and how many of them were sampled.
    target_type : str
        ``"classification"`` or ``"regression"``.
    target_groups : tuple of str
        The classes, or the thirds of a numeric target.
    target_counts : tuple of int
        Sampled rows in each group.
    features : tuple of int
        The features described, selected ones first.
    distributions : tuple of Distribution
        Aligned with `features`.
    association : tuple of tuple of float
        Between each two of `features`, from -1 to 1; NaN for constants. Pearson's correlation
        between numeric features; the correlation ratio or Cramér's V where one is categorical.
    substitutes : tuple of tuple of (int, float)
        For each of `features` the columns of the whole table most correlated with it, best first.
    steps : tuple of StepEvidence
        One for each step of the path.
    costs : mapping of int to float
        The cost of each feature of the path alone; empty without costs.
    groups : mapping of int to tuple of str
        The names of the feature groups of the features of the path that have any.
    grid_shape : tuple of int
        The shape of the grid, where features are cells such as pixels; else empty.
    backdrop : tuple of float
        The mean of each cell of the grid, from 0 to 1; empty without a grid.
    cost_of_all : float
        Cost of all features together; NaN without costs.
    n_folds : int
        Folds behind the frequencies.
    all_features : Score or None
        The score of all features, on the same rows.
    all_features_model : str
        The model behind that score.
    """

    _format: ClassVar[codec.Format] = codec.Format(
        "secateur.evidence", 2, "piece of evidence", "Gather it again from the data."
    )
    n_rows: int
    n_sampled: int
    target_type: str
    target_groups: tuple[str, ...] = ()
    target_counts: tuple[int, ...] = ()
    features: tuple[int, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    association: tuple[tuple[float, ...], ...] = ()
    substitutes: tuple[tuple[tuple[int, float], ...], ...] = ()
    steps: tuple[StepEvidence, ...] = ()
    costs: Mapping[int, float] = field(default_factory=dict)
    groups: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    grid_shape: tuple[int, ...] = ()
    backdrop: tuple[float, ...] = ()
    cost_of_all: float = math.nan
    n_folds: int = 0
    all_features: Score | None = None
    all_features_model: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", MappingProxyType(dict(self.costs)))
        object.__setattr__(self, "groups", MappingProxyType(dict(self.groups)))

    @classmethod
    def _upgraded(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Version 1 had lists for small records, null for NaN, and older names."""
        distribution = ("labels", "edges", "counts", "missing")
        substitute = ("feature", "other", "correlation", "n_folds")
        steps = document["steps"]
        substitutes = document.get("stand_ins", [()] * len(steps))
        cost_of_all = document["cost_of_all"]
        return {
            **document,
            "target_type": document["task"],
            "distributions": [_record(distribution, each) for each in document["distributions"]],
            "association": [
                ["nan" if r is None else r for r in row] for row in document["association"]
            ],
            "steps": [
                {
                    "paid": paid,
                    "frequency": frequency,
                    "substitutes": [_record(substitute, each) for each in others],
                }
                for (paid, frequency), others in zip(steps, substitutes, strict=True)
            ],
            "cost_of_all": "nan" if cost_of_all is None else cost_of_all,
        }


def _record(names: tuple[str, ...], values: Any) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def load_evidence(file: str | os.PathLike[str]) -> Evidence | None:
    """Read the evidence saved in the file of a path; None if it has none."""
    text = load_evidence_json(file)
    return None if text is None else Evidence.from_json(text)
