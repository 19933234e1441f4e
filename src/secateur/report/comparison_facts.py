"""All that a page tells of a comparison of methods, computed apart from drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from secateur.model_selection.comparison import Comparison
from secateur.model_selection.comparison_summary import (
    Curve,
    PairedTest,
    Timing,
    sentences,
    shortened,
)
from secateur.model_selection.statistics import Agreement


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """One method: `scores` are those of its own choice, by validator, as (mean, standard_error)."""

    name: str
    rank: float
    n_features: float
    scores: Mapping[str, tuple[float, float]]
    agreement: Agreement
    timing: Timing


@dataclass(frozen=True, slots=True)
class Failure:
    """A method that did not come to an end: on how many folds, and what it said first."""

    method: str
    status: str
    n_folds: int
    message: str


@dataclass(frozen=True, slots=True)
class ContestFacts:
    """All that is shown of a comparison; methods come by mean rank."""

    sentences: tuple[str, ...]
    validators: tuple[str, ...]
    score_kind: str
    greater_is_better: bool
    n_folds: int
    n_features_in: int
    methods: tuple[MethodFacts, ...]
    curves: Mapping[str, tuple[Curve, ...]]
    tests: tuple[PairedTest, ...]
    failures: tuple[Failure, ...]
    done: Mapping[str, str]
    parameters: Mapping[str, object]


def contest_facts(comparison: Comparison) -> ContestFacts:
    """Compute all that is shown of a comparison."""
    methods = _methods(comparison)
    order = [method.name for method in methods]
    return ContestFacts(
        sentences=tuple(sentences(comparison).splitlines()),
        validators=comparison.validators,
        score_kind=f"held-out {comparison.metric}".replace("_", " "),
        greater_is_better=comparison.greater_is_better,
        n_folds=comparison.n_folds,
        n_features_in=comparison.n_features_in,
        methods=methods,
        curves={
            validator: tuple(
                sorted(comparison.curves(validator), key=lambda each: order.index(each.method))
            )
            for validator in comparison.validators
        },
        tests=_tests(comparison, order),
        failures=_failures(comparison),
        done={
            "Type of target": comparison.target_type,
            "Folds": f"{comparison.n_folds}; selection inside each of them",
            "Sizes": ", ".join(map(str, comparison.sizes)) or "the methods' own",
            "Seed": str(comparison.seed),
            "Versions": ", ".join(f"{key} {value}" for key, value in comparison.versions.items()),
        },
        parameters=comparison.parameters,
    )


def _methods(comparison: Comparison) -> tuple[MethodFacts, ...]:
    rank_of = {rank.method: rank.mean for rank in comparison.ranks()}
    agreement, seconds = comparison.stability(), comparison.seconds()
    curves = comparison.curves()
    found = []
    for name in comparison.methods:
        own = {c.validator: c.own for c in curves if c.method == name and c.own is not None}
        scores = {v: (point.score.mean, point.score.standard_error) for v, point in own.items()}
        count = next((point.n_features for point in own.values()), math.nan)
        rank = rank_of.get(name, math.nan)
        found.append(MethodFacts(name, rank, count, scores, agreement[name], seconds[name]))
    return tuple(sorted(found, key=lambda each: (math.isnan(each.rank), each.rank)))


def _tests(comparison: Comparison, order: list[str]) -> tuple[PairedTest, ...]:
    """The best-ranked method that has a choice of its own against all others, by validator."""
    tests: list[PairedTest] = []
    for validator in comparison.validators:
        for best in order:
            made = comparison.paired_tests(validator, against=best)
            if made:
                tests += made
                break
    return tuple(tests)


def _failures(comparison: Comparison) -> tuple[Failure, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for trial in comparison.failures:
        found.setdefault((trial.method, trial.status.value), []).append(trial.message)
    return tuple(
        Failure(method, status, len(messages), shortened(messages[0]))
        for (method, status), messages in found.items()
    )
