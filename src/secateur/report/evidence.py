"""`Evidence`: what a report needs to know of the data, small enough to be saved with a path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from secateur.path import codec
from secateur.path.path import load_evidence_json
from secateur.path.step import Score

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram of one feature; `counts` and `missing` count rows for each group of the target.

    `labels` are the values where there are few of them or they are categories, else the bins have
    `edges`; values beyond the ends are counted in the outer bins. `limits` are then the smallest
    and the largest value.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: tuple[int, ...]
    limits: tuple[float, ...] = field(default=(), metadata=codec.saved(optional=True))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and largest value of a histogram with edges; these where it is not known."""
        low, *_, high = self.limits or self.edges
        return low, high


@dataclass(frozen=True, slots=True)
class Substitute:
    """A correlated feature `other` that `n_folds` folds selected in place of an unstable one."""

    feature: int
    other: int
    correlation: float
    n_folds: int


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """What the data say of one step, aligned with the order of entry.

    `paid` is the marginal cost of each feature when it entered, `frequency` the share of the folds
    that selected it at the matching step; empty without costs and without folds.
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
    target_type : {"classification", "regression"}
    target_groups, target_counts : tuple of str, tuple of int
        The classes or the thirds of a numeric target, and the sampled rows in each.
    features, distributions : tuple of int, tuple of Distribution
        The features described, selected ones first, and their histograms.
    association : tuple of tuple of float
        Between each two of `features`, from -1 to 1; NaN for constants. Pearson's correlation
        between numeric features; the correlation ratio or Cramér's V where one is categorical.
    substitutes : tuple of tuple of (int, float)
        For each of `features` the columns of the whole table most correlated with it, best first.
    steps : tuple of StepEvidence
        One for each step of the path.
    costs, groups : mapping of int to float, mapping of int to tuple of str
        The cost alone and the names of the feature groups of features of the path, where known.
    grid_shape, backdrop : tuple of int, tuple of float
        The shape of the grid, where features are cells such as pixels, and the mean of each cell
        from 0 to 1; else empty.
    cost_of_all : float
        Cost of all features together; NaN without costs.
    n_folds : int
        Folds behind the frequencies.
    all_features, all_features_model : Score or None, str
        The score of all features on the same rows, and the model behind it.
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
        for name in ("costs", "groups"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def _upgraded(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Version 1 had lists for small records, null for NaN, and older names."""
        steps, associations = document["steps"], document["association"]
        substitutes = document.get("stand_ins", [()] * len(steps))
        cost_of_all = document["cost_of_all"]
        return {
            **document,
            "target_type": document["task"],
            "distributions": [_record(Distribution, each) for each in document["distributions"]],
            "association": [["nan" if r is None else r for r in row] for row in associations],
            "steps": [
                _record(StepEvidence, (*step, [_record(Substitute, each) for each in others]))
                for step, others in zip(steps, substitutes, strict=True)
            ],
            "cost_of_all": "nan" if cost_of_all is None else cost_of_all,
        }


def _record(kind: Any, values: Any) -> dict[str, Any]:
    return dict(zip((each.name for each in fields(kind)), values, strict=False))


def step_evidence(evidence: Evidence | None, index: int) -> StepEvidence:
    """What the data say of step `index`; nothing without evidence."""
    known = evidence is not None and evidence.steps
    return known[index] if known else StepEvidence()


def load_evidence(file: str | os.PathLike[str]) -> Evidence | None:
    """Read the evidence saved in the file of a path; None if it has none."""
    text = load_evidence_json(file)
    return None if text is None else Evidence.from_json(text)
