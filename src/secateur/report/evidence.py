"""`Evidence`: what a report wants to know of the data, small enough to be kept with a path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from secateur.path import codec
from secateur.path.path import load_evidence_json
from secateur.path.step import Score

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the values of one feature are spread, by groups of the target.

    Parameters
    ----------
    labels : tuple of str
        The values of the bars, where the feature has few or is made of categories; else empty.
    edges : tuple of float
        The edges of the bars, one more than bars; empty where there are labels. Values beyond the
        ends are counted in the last bars.
    counts : tuple of tuple of int
        For each group of the target, the rows in each bar.
    missing : tuple of int
        For each group of the target, the rows without a value.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StandIn:
    """A feature that was left out, but chosen in place of another by folds without that one.

    Parameters
    ----------
    feature, other : int
        That of the step, and the one that stands for it.
    strength : float
        How alike the two are, from -1 to 1.
    n_folds : int
        Folds that chose the other and not the feature.
    """

    feature: int
    other: int
    strength: float
    n_folds: int


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """What the data say of one step, aligned with the order of entry.

    Parameters
    ----------
    paid : tuple of float
        What each feature cost when it came in; empty where nobody asked.
    frequency : tuple of float
        In which share of the folds each feature was chosen at a like step; empty without folds.
    stand_ins : tuple of StandIn
        For features that few of the folds chose, where others took their place.
    """

    paid: tuple[float, ...] = ()
    frequency: tuple[float, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()

    def stand_in(self, feature: int) -> StandIn | None:
        """The one that stands for a feature, if there is any."""
        return next((each for each in self.stand_ins if each.feature == feature), None)


@codec.file_format("secateur.evidence", 2, "piece of evidence", "Gather it again from the data.")
@dataclass(frozen=True, slots=True)
class Evidence:
    """What the data say of the features of a path.

    Made by `gather_evidence`; a report is drawn from it and the path, without the data.

    Parameters
    ----------
    n_rows, n_sampled : int
        Rows of the table, and how many of them were looked at.
    target_type : str
        ``"classification"`` or ``"regression"``.
    target_groups : tuple of str
        The classes, or thirds of a target that is a number; those that distributions are told by.
    target_counts : tuple of int
        Sampled rows of each.
    features : tuple of int
        The features told of, those chosen first.
    distributions : tuple of Distribution
        Aligned with `features`.
    association : tuple of tuple of float
        How alike two of `features` are, from -1 to 1; NaN where that cannot be told. Between
        numbers Pearson's r; where a category takes part the correlation ratio, or Cramér's V.
    substitutes : tuple of tuple of (int, float)
        For each of `features` the columns of the whole table that are most like it, best first.
    steps : tuple of StepEvidence
        One for each step of the path.
    costs : mapping of int to float
        What each feature of the path costs alone; empty where nobody asked.
    groups : mapping of int to tuple of str
        The bags of the features of the path that are in any.
    grid_shape : tuple of int
        Where features are the cells of a grid, as pixels, its shape; else empty.
    backdrop : tuple of float
        The mean of each cell of the grid, from 0 to 1; empty without a grid.
    cost_of_all : float
        What all features together cost; NaN where nobody asked.
    n_folds : int
        Folds behind the frequencies.
    all_features : Score or None
        How well all features together do, on the same rows.
    all_features_model : str
        Which model that is.
    """

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

    def to_json(self) -> str:
        """Return the evidence as strict JSON."""
        return codec.to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Evidence:
        """Read what `to_json` returned."""
        return codec.from_json(cls, text)

    @staticmethod
    def upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
        """Version 1 had lists for small records, and null for NaN."""
        distribution = ("labels", "edges", "counts", "missing")
        stand_in = ("feature", "other", "strength", "n_folds")
        steps = document["steps"]
        stand_ins = document.get("stand_ins", [()] * len(steps))
        nan = document["cost_of_all"] is None
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
                    "stand_ins": [_record(stand_in, each) for each in others],
                }
                for (paid, frequency), others in zip(steps, stand_ins, strict=True)
            ],
            "cost_of_all": "nan" if nan else document["cost_of_all"],
        }


def _record(names: tuple[str, ...], values: Any) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def load_evidence(file: str | os.PathLike[str]) -> Evidence | None:
    """Read the evidence kept in the file of a path; None if it has none."""
    text = load_evidence_json(file)
    return None if text is None else Evidence.from_json(text)
