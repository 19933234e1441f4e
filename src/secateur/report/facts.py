"""All that a page shows of one path, computed apart from drawing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.exceptions import ParameterError, SecateurError
from secateur.path import Selection, SelectionPath, Step
from secateur.path.step import format_features, thawed_json
from secateur.report.evidence import Evidence, StepEvidence
from secateur.report.sentences import (
    answer,
    has_costs,
    kind_words,
    natural_key,
    substitute_words,
    unstable_sentence,
)
from secateur.typing import FloatArray, IntArray

MAX_STEPS = 300
MAX_CELLS = 20_000
MAX_LISTED = 500
MAX_ROWS = 800
MIN_ROWS = 50
"""Rows of the table of one path, however many paths share the page."""

RULES = {"one_se": "One standard error", "best": "Best score", "elbow": "Elbow"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One path to show: its title, its cut, and what is known of the data.

    Parameters
    ----------
    title : str
    path : SelectionPath
    selection : Selection or None, default=None
        None cuts by one standard error.
    evidence : Evidence or None, default=None
    """

    title: str
    path: SelectionPath
    selection: Selection | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step that can be chosen; sequences are aligned, in order of entry.

    `rows` are positions in ``EntryFacts.features``; `gain` is each feature's share of all weight of
    the step; `place` counts entries from 1. The `n_unlisted` features of least weight are not
    listed. `unstable` names the features that few folds selected, `substitutes` what those folds
    selected instead.
    """

    index: int
    n_features: int
    n_unlisted: int
    cost: float
    score: float
    standard_error: float
    penalty: float
    label: str
    answer: str
    reason: str
    unstable: str
    entered: tuple[str, ...]
    left: tuple[str, ...]
    rows: tuple[int, ...]
    place: tuple[int, ...]
    gain: tuple[float, ...]
    paid: tuple[float, ...]
    frequency: tuple[float, ...]
    substitutes: tuple[str, ...]
    tasks: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class FeatureFacts:
    """One feature of the table: `known` is its position in the evidence, -1 without any."""

    feature: int
    name: str
    cost: float
    groups: tuple[str, ...]
    known: int


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """All that is shown of one path.

    `steps` are those that can be chosen, the smallest first; `cut` and `rules` are positions in
    them.
    """

    title: str
    path: SelectionPath
    score_kind: str
    greater_is_better: bool
    has_costs: bool
    cut: int
    rules: Mapping[str, int]
    steps: tuple[StepFacts, ...]
    features: tuple[FeatureFacts, ...]
    evidence: Evidence | None

    @property
    def chosen(self) -> StepFacts:
        """The step of the cut."""
        return self.steps[self.cut]

    @property
    def has_marginal_costs(self) -> bool:
        """Whether a feature group, a neighbour or a rule changed the cost of any feature."""
        return any(
            paid != self.features[row].cost
            for step in self.steps
            for row, paid in zip(step.rows, step.paid, strict=False)
        )

    @property
    def python_call(self) -> str:
        """Python code that computes such a path, as far as parameters are plain values."""
        name = self.path.algorithm
        given = [f"    {key}={_literal(value)}," for key, value in self.path.parameters.items()]
        lines = [f"from secateur import {name}", "", f"selector = {name}(", *given, ")"]
        return "\n".join([*lines, "selector.fit(X, y)"])


def entry_facts(entry: Entry, *, n_entries: int = 1) -> EntryFacts:
    """Compute all that is shown of one path.

    Parameters
    ----------
    entry : Entry
    n_entries : int, default=1
        How many paths share the limits of the page.
    """
    path, evidence = entry.path, entry.evidence
    _check(entry)
    selection = path.cut() if entry.selection is None else entry.selection
    cuts = _cuts_by_rule(path)
    kept = _kept_steps(path, {selection.index, *(cut.index for cut in cuts.values())}, n_entries)
    listed = {index: _listed_places(path[index]) for index in kept}
    shown = _shown_features(path, listed, selection.index, n_entries)
    # where two rules choose one step, the first rule counts, and the selection before all
    reasons = {cut.index: cut.sentence for cut in reversed(cuts.values())}
    reasons[selection.index] = selection.sentence
    position = {index: at for at, index in enumerate(kept)}
    score = next((step.score for step in path if step.score), None)
    return EntryFacts(
        title=entry.title,
        path=path,
        score_kind="" if score is None else kind_words(score),
        greater_is_better=bool(score and score.greater_is_better),
        has_costs=has_costs(path),
        cut=position[selection.index],
        rules={name: position[cut.index] for name, cut in cuts.items()},
        steps=tuple(
            _step_facts(path, index, listed[index], shown, reasons, evidence) for index in kept
        ),
        features=tuple(_feature_facts(path, feature, evidence) for feature in shown),
        evidence=evidence,
    )


def _check(entry: Entry) -> None:
    path, evidence = entry.path, entry.evidence
    if len(path) == 0:
        raise ParameterError(
            f"A page needs paths with steps. Got none in {entry.title!r} ({path.stop_reason}). "
            "Leave this path out, or fit again with looser limits."
        )
    if evidence is None or not evidence.steps:
        return
    fits = len(evidence.steps) == len(path) and all(
        len(each) in {0, step.n_features}
        for known, step in zip(evidence.steps, path, strict=True)
        for each in (known.paid, known.frequency)
    )
    if not fits:
        raise ParameterError(
            f"The evidence must be of the same path. Got that of another one in {entry.title!r}. "
            "Gather it again for this path."
        )


# ---- which steps and features are shown -----------------------------------------------------


def _cuts_by_rule(path: SelectionPath) -> dict[str, Selection]:
    """The cut by each rule that applies to the path."""
    found = {}
    for name in RULES if path.has_scores else ():
        try:
            found[name] = path.cut(name)
        except SecateurError:
            continue
    return found


def _kept_steps(path: SelectionPath, needed: set[int], n_entries: int) -> list[int]:
    """All steps, or every second, third ... and those needed; the smallest first."""
    sizes = np.minimum(path.n_features, MAX_LISTED)
    for stride in range(1, len(path) + 1):
        kept = {*range(0, len(path), stride), len(path) - 1, *needed}
        n_cells = int(sizes[sorted(kept)].sum())
        if len(kept) <= MAX_STEPS and n_cells <= MAX_CELLS // n_entries:
            break
    else:
        kept = {len(path) - 1, *needed}
    return sorted(kept, key=lambda index: (path[index].n_features, index))


def _listed_places(step: Step) -> IntArray:
    """Positions in ``step.order`` of the listed features: all, or those of largest weight."""
    if step.n_features <= MAX_LISTED:
        return np.arange(step.n_features)
    return np.sort(np.argsort(-_weight_in_order(step), kind="stable")[:MAX_LISTED])


def _weight_in_order(step: Step) -> FloatArray:
    weight: FloatArray = np.abs(step.weight[np.searchsorted(step.support, step.order)])
    return weight


def _shown_features(
    path: SelectionPath, listed: Mapping[int, IntArray], cut: int, n_entries: int
) -> dict[int, int]:
    """The features of the table and their rows: those of the cut, then the others by entry."""
    features = np.concatenate([path[index].order[listed[index]] for index in (cut, *listed)])
    _, first = np.unique(features, return_index=True)
    shown = features[np.sort(first)][: max(MAX_ROWS // n_entries, MIN_ROWS)]
    return {feature: row for row, feature in enumerate(shown.tolist())}


# ---- one step, one feature ------------------------------------------------------------------


def _step_facts(
    path: SelectionPath,
    index: int,
    listed: IntArray,
    rows: Mapping[int, int],
    reasons: Mapping[int, str],
    evidence: Evidence | None,
) -> StepFacts:
    step = path[index]
    order = step.order.tolist()
    at = [place for place in listed.tolist() if order[place] in rows]
    weight = _weight_in_order(step)
    total = float(weight.sum())
    known = evidence.steps[index] if evidence is not None and evidence.steps else StepEvidence()
    instead = {each.feature: substitute_words(path, each) for each in reversed(known.substitutes)}
    return StepFacts(
        index=index,
        n_features=step.n_features,
        n_unlisted=step.n_features - len(at),
        cost=step.cost,
        score=math.nan if step.score is None else step.score.mean,
        standard_error=math.nan if step.score is None else step.score.standard_error,
        penalty=step.penalty,
        label=_label(path, index),
        answer=answer(path, index, evidence),
        reason=reasons.get(index, f"Step {index + 1} of {len(path)}, chosen by hand."),
        unstable=unstable_sentence(path, index, known),
        entered=path.entered(index),
        left=path.left(index),
        rows=tuple(rows[order[place]] for place in at),
        place=tuple(place + 1 for place in at),
        gain=tuple(float(weight[place]) / total if total > 0 else 0.0 for place in at),
        paid=tuple(known.paid[place] for place in at) if known.paid else (),
        frequency=tuple(known.frequency[place] for place in at) if known.frequency else (),
        substitutes=tuple(instead.get(order[place], "") for place in at) if instead else (),
        tasks={
            task: tuple(rows[f] for f in step.supports[task].tolist() if f in rows)
            for task in sorted(step.supports, key=natural_key)
        },
    )


def _label(path: SelectionPath, index: int) -> str:
    """The size of a step, and its penalty where several steps have that size."""
    step = path[index]
    size = format_features(step.n_features)
    is_single = int((path.n_features == step.n_features).sum()) == 1
    if is_single or not math.isfinite(step.penalty):
        return size
    return f"{size}, {path.penalty_name} {step.penalty:.3g}"


def _feature_facts(path: SelectionPath, feature: int, evidence: Evidence | None) -> FeatureFacts:
    name = path.feature_names[feature]
    if evidence is None:
        return FeatureFacts(feature, name, math.nan, (), -1)
    known = evidence.features.index(feature) if feature in evidence.features else -1
    cost = evidence.costs.get(feature, math.nan)
    return FeatureFacts(feature, name, cost, evidence.groups.get(feature, ()), known)


def _literal(value: Any) -> str:
    plain = thawed_json(value)
    if isinstance(plain, float) and not math.isfinite(plain):
        return f'float("{plain}")'
    return json.dumps(plain) if isinstance(plain, str) else repr(plain)
