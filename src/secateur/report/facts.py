"""All that a page tells of one path, computed exactly and apart from drawing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from secateur.exceptions import ParameterError, SecateurError
from secateur.path import Selection, SelectionPath, Step, wording
from secateur.report.answers import (
    answer,
    doubt_of_step,
    has_costs,
    in_natural_order,
    kind_words,
    stand_in_words,
)
from secateur.report.evidence import Evidence, StepEvidence
from secateur.typing import FloatArray, IntArray

MOST_STEPS = 300
MOST_CELLS = 20_000
MOST_LISTED = 500
MOST_ROWS = 800
FEWEST_ROWS = 50
"""Of one of several paths, however many share the page."""


def kept_steps(path: SelectionPath, needed: set[int], n_entries: int) -> list[int]:
    """The steps that can be chosen: all, or every second, third ... and those needed.

    Fewer features come first, whichever way the algorithm went.
    """
    sizes = np.minimum(path.n_features, MOST_LISTED)
    for stride in range(1, len(path) + 1):
        kept = {*range(0, len(path), stride), len(path) - 1, *needed}
        n_cells = int(sizes[sorted(kept)].sum())
        if len(kept) <= MOST_STEPS and n_cells <= MOST_CELLS // n_entries:
            return sorted(kept, key=_by_size(path))
    return sorted({len(path) - 1, *needed}, key=_by_size(path))


def _by_size(path: SelectionPath) -> Callable[[int], tuple[int, int]]:
    return lambda index: (path[index].n_features, index)


def listed_places(step: Step) -> IntArray:
    """Positions in ``step.order`` of the features told of: all, or those that weigh most."""
    if step.n_features <= MOST_LISTED:
        return np.arange(step.n_features)
    heaviest = np.argsort(-weight_in_order(step), kind="stable")[:MOST_LISTED]
    return np.sort(heaviest)


def weight_in_order(step: Step) -> FloatArray:
    """How much each feature weighs, aligned with ``step.order``."""
    weight: FloatArray = np.abs(step.weight[np.searchsorted(step.support, step.order)])
    return weight


def shown_features(
    path: SelectionPath, listed: Mapping[int, IntArray], cut: int, n_entries: int
) -> dict[int, int]:
    """The features of the table and their rows: those of the cut, then the others by entry."""
    order = [path[index].order[listed[index]] for index in (cut, *listed)]
    features = np.concatenate(order)
    _, first = np.unique(features, return_index=True)
    shown = features[np.sort(first)][: max(MOST_ROWS // n_entries, FEWEST_ROWS)]
    return {feature: row for row, feature in enumerate(shown.tolist())}


RULES = {"one_se": "One standard error", "best": "Best score", "elbow": "Elbow"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One path to be shown: what it is called, where it is cut, what is known of the data.

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
    """One step that can be chosen; lists are aligned, in order of entry.

    `rows` are positions in ``EntryFacts.features``; `gain` is the share of each feature of all the
    weight of the step; `place` counts entries from 1. `n_unlisted` features weigh least and are
    not told of. `doubt` names the features that few of the folds chose, `instead` who stood for
    each of them in other folds.
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
    doubt: str
    entered: tuple[str, ...]
    left: tuple[str, ...]
    rows: tuple[int, ...]
    place: tuple[int, ...]
    gain: tuple[float, ...]
    paid: tuple[float, ...]
    frequency: tuple[float, ...]
    instead: tuple[str, ...]
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
    algorithm: str
    n_features_in: int
    n_steps: int
    score_kind: str
    greater_is_better: bool
    penalty_name: str
    cost_unit: str
    has_costs: bool
    stop_reason: str
    seconds: float
    cut: int
    rules: Mapping[str, int]
    steps: tuple[StepFacts, ...]
    features: tuple[FeatureFacts, ...]
    parameters: Mapping[str, object]
    versions: Mapping[str, str]
    names: tuple[str, ...]
    evidence: Evidence | None

    def name_of(self, feature: int) -> str:
        """Return the name of any feature of the problem, shown or not."""
        return self.names[feature]

    @property
    def chosen(self) -> StepFacts:
        """The step of the cut."""
        return self.steps[self.cut]


def entry_facts(entry: Entry, *, n_entries: int = 1) -> EntryFacts:
    """Compute all that is shown of one path.

    Parameters
    ----------
    entry : Entry
    n_entries : int, default=1
        How many share the page: each gets its part of the room.
    """
    path, evidence = entry.path, entry.evidence
    if len(path) == 0:
        raise ParameterError(
            f"A page needs paths with steps. Got none in {entry.title!r} ({path.stop_reason}). "
            "Leave this path out, or fit again with looser limits."
        )
    _check_evidence(entry)
    selection = path.cut() if entry.selection is None else entry.selection
    rules = _rule_steps(path)
    needed = {selection.index, *rules.values()}
    kept = kept_steps(path, needed, n_entries)
    listed = {index: listed_places(path[index]) for index in kept}
    shown = shown_features(path, listed, selection.index, n_entries)
    reasons = _reasons(path, selection, rules)
    position = {index: at for at, index in enumerate(kept)}
    score = next((step.score for step in path if step.score), None)
    return EntryFacts(
        title=entry.title,
        algorithm=path.algorithm,
        n_features_in=path.n_features_in,
        n_steps=len(path),
        score_kind="" if score is None else kind_words(score),
        greater_is_better=bool(score and score.greater_is_better),
        penalty_name=path.penalty_name,
        cost_unit=path.cost_unit,
        has_costs=has_costs(path),
        stop_reason=str(path.stop_reason),
        seconds=path[-1].seconds,
        cut=position[selection.index],
        rules={name: position[index] for name, index in rules.items()},
        steps=tuple(
            _step_facts(path, index, listed[index], shown, reasons, evidence) for index in kept
        ),
        features=tuple(_feature_facts(path, feature, evidence) for feature in shown),
        parameters=path.parameters,
        versions=path.versions,
        names=path.feature_names,
        evidence=evidence,
    )


def _check_evidence(entry: Entry) -> None:
    evidence, path = entry.evidence, entry.path
    if evidence is None or not evidence.steps:
        return
    fits = len(evidence.steps) == len(path) and all(
        len(each) in {0, step.n_features}
        for told, step in zip(evidence.steps, path, strict=True)
        for each in (told.paid, told.frequency)
    )
    if not fits:
        raise ParameterError(
            f"The evidence must be of the same path. Got that of another one in {entry.title!r}. "
            "Gather it again for this path."
        )


def _rule_steps(path: SelectionPath) -> dict[str, int]:
    """Where each rule of thumb would cut; a rule that cannot is left out."""
    found = {}
    for name in RULES:
        try:
            found[name] = path.cut(name).index
        except SecateurError:
            continue
    return found if path.has_scores else {}


def _reasons(path: SelectionPath, selection: Selection, rules: Mapping[str, int]) -> dict[int, str]:
    """How steps that a rule chooses are chosen; that of the selection comes first."""
    reasons = {index: path.cut(name).sentence for name, index in reversed(list(rules.items()))}
    return reasons | {selection.index: selection.sentence}


def _step_facts(
    path: SelectionPath,
    index: int,
    listed: IntArray,
    rows: Mapping[int, int],
    reasons: Mapping[int, str],
    evidence: Evidence | None,
) -> StepFacts:
    step = path[index]
    at = [place for place in listed.tolist() if int(step.order[place]) in rows]
    weight = weight_in_order(step)
    total = float(weight.sum())
    told = evidence.steps[index] if evidence is not None and evidence.steps else None
    return StepFacts(
        index=index,
        n_features=step.n_features,
        n_unlisted=step.n_features - len(at),
        cost=step.cost,
        score=math.nan if step.score is None else step.score.mean,
        standard_error=math.nan if step.score is None else step.score.standard_error,
        penalty=step.penalty,
        label=_label(path, index),
        answer=_answer(path, index, evidence),
        reason=reasons.get(index, f"Step {index + 1} of {len(path)}, chosen by hand."),
        doubt=doubt_of_step(path, index, told),
        entered=path.entered(index),
        left=path.left(index),
        rows=tuple(rows[int(step.order[place])] for place in at),
        place=tuple(place + 1 for place in at),
        gain=tuple(float(weight[place]) / total if total > 0 else 0.0 for place in at),
        paid=tuple(told.paid[place] for place in at) if told and told.paid else (),
        frequency=tuple(told.frequency[place] for place in at) if told and told.frequency else (),
        instead=_instead(path, [int(step.order[place]) for place in at], told),
        tasks=_tasks(step, rows),
    )


def _instead(
    path: SelectionPath, features: Sequence[int], told: StepEvidence | None
) -> tuple[str, ...]:
    """Who stood for each of some features in other folds; empty where nobody stood for any."""
    if told is None or not told.stand_ins:
        return ()
    found = [told.stand_in(feature) for feature in features]
    return tuple("" if each is None else stand_in_words(path, each) for each in found)


def _label(path: SelectionPath, index: int) -> str:
    """What a step is called: its size, and its penalty where several have that size."""
    step = path[index]
    size = wording.features(step.n_features)
    is_single = int((path.n_features == step.n_features).sum()) == 1
    if is_single or not math.isfinite(step.penalty):
        return size
    return f"{size}, {path.penalty_name} {step.penalty:.3g}"


def _answer(path: SelectionPath, index: int, evidence: Evidence | None) -> str:
    if evidence is None:
        return answer(path, index)
    return answer(path, index, all_features=evidence.all_features, cost_of_all=evidence.cost_of_all)


def _tasks(step: Step, rows: Mapping[int, int]) -> dict[str, tuple[int, ...]]:
    return {
        task: tuple(rows[feature] for feature in step.supports[task].tolist() if feature in rows)
        for task in sorted(step.supports, key=in_natural_order)
    }


def _feature_facts(path: SelectionPath, feature: int, evidence: Evidence | None) -> FeatureFacts:
    name = path.feature_names[feature]
    if evidence is None:
        return FeatureFacts(feature, name, math.nan, (), -1)
    known = evidence.features.index(feature) if feature in evidence.features else -1
    cost = evidence.costs.get(feature, math.nan)
    return FeatureFacts(feature, name, cost, evidence.groups.get(feature, ()), known)
