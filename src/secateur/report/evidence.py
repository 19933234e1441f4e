"""`Evidence`: what a report needs to know of the data, small enough to be saved with a path."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from secateur.exceptions import ParameterError
from secateur.path import codec
from secateur.path.path import saved_with
from secateur.path.step import Score, count_of, set_fields

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram of one feature; `counts` and `missing` count rows for each group of the target.

    `labels` are the values where there are few of them or they are categories, else the bins have
    `edges`; values beyond the ends are counted in the outer bins, and `limits` are their range.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...] = field(repr=False)
    counts: tuple[tuple[int, ...], ...] = field(repr=False)
    missing: tuple[int, ...]
    limits: tuple[float, ...] = field(default=(), metadata=codec.saved(optional=True))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and largest value of a histogram with edges; these where it is not known."""
        low, *_, high = self.limits or self.edges
        return low, high

    def __post_init__(self) -> None:
        n_bins = len(self.labels) or max(0, len(self.edges) - 1)
        numbers = [*self.missing, *(count for group in self.counts for count in group)]
        are_finite = all(map(math.isfinite, (*self.edges, *self.limits)))
        _check(
            ("'counts' must have a number for each bin", {*map(len, self.counts)} <= {n_bins}),
            ("'missing' must have a number for each group", len(self.missing) == len(self.counts)),
            ("'counts' and 'missing' must be numbers of rows", min(numbers, default=0) >= 0),
            ("'edges' must be those of some bins", len(self.edges) != 1),
            ("'edges' must be sorted", list(self.edges) == sorted(self.edges)),
            ("'limits' must be two values", len(self.limits) in {0, 2}),
            ("'edges' and 'limits' must be finite", are_finite),
        )


@dataclass(frozen=True, slots=True)
class Substitute:
    """A correlated feature `other` that `n_folds` folds selected in place of an unstable one."""

    feature: int
    other: int
    correlation: float
    n_folds: int

    def __post_init__(self) -> None:
        _check(("'feature' and 'other' must not be negative", min(self.feature, self.other) >= 0))


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """What the data say of one step, aligned with the order of entry.

    `paid` is the marginal cost of each feature when it entered, `frequency` the share of the folds
    that selected it at the matching step; empty without costs and without folds.
    """

    paid: tuple[float, ...] = field(default=(), repr=False)
    frequency: tuple[float, ...] = field(default=(), repr=False)
    substitutes: tuple[Substitute, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Evidence(codec.Saved):
    """What the data say of the features of a path.

    Made by `gather_evidence`; a report is drawn from it and the path, without the data.

    Parameters
    ----------
    n_rows, n_sampled : int
        Rows of the table, and how many of them were sampled.
    target_type : {"classification", "regression", "ranking"}
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
        Where features are cells such as pixels: the shape of the grid, and the means from 0 to 1.
    cost_of_all : float
        Cost of all features together; NaN without costs.
    n_folds : int
        Folds behind the frequencies.
    all_features, all_features_model : Score or None, str
        The score of all features on the same rows, and the model behind it.
    shap : mapping of int to float
        Mean size of the SHAP values of each selected feature; empty where they are not known.
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
    shap: Mapping[int, float] = field(default_factory=dict, metadata=codec.saved(optional=True))

    def __post_init__(self) -> None:
        for name in ("costs", "groups", "shap"):
            set_fields(self, **{name: MappingProxyType(dict(getattr(self, name)))})
        n_groups, n_cells = len(self.target_groups), len(self.backdrop)
        lists = (self.distributions, self.association, self.substitutes)
        lengths = {len(held) for held in lists} - {0, len(self.features)}
        of_groups = all(len(each.counts) == n_groups for each in self.distributions)
        is_square = {*map(len, self.association)} <= {len(self.association)}
        correlations = [r for row in self.association for r in row]
        correlations += [r for each in self.substitutes for _, r in each]
        counted = (self.n_rows, self.n_sampled, self.n_folds, *self.target_counts)
        is_grid = min(self.grid_shape, default=0) > 0 and math.prod(self.grid_shape) == n_cells
        _check(
            ("'target_counts' must be those of the groups", len(self.target_counts) == n_groups),
            ("distributions and correlations must be of all features", not lengths),
            ("'distributions' must have all groups of the target", of_groups),
            ("'association' must be a square", is_square),
            ("correlations must be from -1 to 1", not any(abs(r) > 1.01 for r in correlations)),
            ("numbers of rows and folds must not be negative", min(counted) >= 0),
            ("'backdrop' must be from 0 to 1", all(0.0 <= each <= 1.0 for each in self.backdrop)),
            ("'grid_shape' must be that of 'backdrop'", is_grid or not self.grid_shape),
            ("'features' must not be negative", min(self.mentioned, default=0) >= 0),
        )

    def __repr__(self) -> str:
        return f"Evidence({self.n_rows} rows, {count_of(len(self.features))})"

    @property
    def mentioned(self) -> set[int]:
        """All features that anything is said of."""
        others = {feature for each in self.substitutes for feature, _ in each}
        for step in self.steps:
            others.update(*((each.feature, each.other) for each in step.substitutes))
        return {*self.features, *self.costs, *self.groups, *self.shap} | others

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


def _check(*facts: tuple[str, bool]) -> None:
    for fact, is_true in facts:
        if not is_true:
            raise ParameterError(f"{fact}. Got others. Gather the evidence again.")


def _record(kind: Any, values: Any) -> dict[str, Any]:
    return dict(zip((each.name for each in fields(kind)), values, strict=False))


def step_evidence(evidence: Evidence | None, index: int) -> StepEvidence:
    """What the data say of step `index`; nothing without evidence."""
    known = evidence is not None and evidence.steps
    return known[index] if known else StepEvidence()


def load_evidence(file: str | os.PathLike[str]) -> Evidence | None:
    """Read the evidence saved in the file of a path; None if it has none."""
    with codec.naming(file):
        document = saved_with(file, "evidence")
        return None if document is None else Evidence.from_json(json.dumps(document))
