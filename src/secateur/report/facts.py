"""All that a page shows of one path, computed apart from drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from secateur.exceptions import ParameterError, SecateurError
from secateur.path import Selection, SelectionPath, Step
from secateur.path.step import QUERY_QUANTILES, count_of
from secateur.report import sentences
from secateur.report.evidence import Evidence, step_evidence
from secateur.typing import FloatArray

MAX_STEPS = 300
MAX_CELLS = 20_000
MAX_LISTED = 500
MAX_ROWS = 800
MIN_ROWS = 50  # of the table of one path, however many paths share the page

RULES = {
    "near_best": "Near the best",
    "one_se": "One standard error",
    "best": "Best score",
    "elbow": "Elbow",
}


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

    def __post_init__(self) -> None:
        path, evidence = self.path, self.evidence
        if evidence is None:
            return
        pairs = zip(evidence.steps, path, strict=False)
        fits = (
            len(evidence.steps) in {0, len(path)}
            and max(evidence.mentioned, default=0) < path.n_features_in
            and all({len(e.paid), len(e.frequency)} <= {0, s.n_features} for e, s in pairs)
        )
        if not fits:
            raise ParameterError(
                "The evidence must be of the same path. Got that of another one in "
                f"{self.title!r}. Gather it again for this path."
            )

    @property
    def cut(self) -> Selection:
        """The selection; the cut by one standard error where there is none."""
        return self.path.cut() if self.selection is None else self.selection


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step that can be chosen; sequences are aligned, in order of entry.

    `rows` are positions in ``EntryFacts.features``, `place` counts entries from 1, `gain` is a
    share of all weight. `unstable` names features that few folds selected, `substitutes` what
    those folds selected instead. The `n_unlisted` features of least weight are not listed.
    """

    index: int
    step: Step
    n_unlisted: int
    label: str
    answer: str
    reason: str
    unstable: str
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


def _feature_facts(path: SelectionPath, feature: int, evidence: Evidence | None) -> FeatureFacts:
    known = Evidence(0, 0, "") if evidence is None else evidence
    position = known.features.index(feature) if feature in known.features else -1
    cost, groups = known.costs.get(feature, math.nan), known.groups.get(feature, ())
    return FeatureFacts(feature, path.feature_names[feature], cost, groups, position)


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """All that is shown of one path; `cut` and `rules` are positions in `steps`."""

    title: str
    path: SelectionPath
    score_kind: str
    greater_is_better: bool
    has_costs: bool
    cut: int
    rules: Mapping[str, int]
    steps: tuple[StepFacts, ...] = field(repr=False)
    features: tuple[FeatureFacts, ...] = field(repr=False)
    evidence: Evidence | None

    @property
    def chosen(self) -> StepFacts:
        """The step of the cut."""
        return self.steps[self.cut]

    @property
    def shown(self) -> SelectionPath:
        """The path of `steps`."""
        return replace(self.path, steps=tuple(each.step for each in self.steps))

    @property
    def has_errors(self) -> bool:
        """Whether any step has a standard error of its score."""
        return bool(np.isfinite(self.shown.standard_errors).any())

    @property
    def has_query_quantiles(self) -> bool:
        """Whether it is known how the score is distributed over test queries."""
        return any(QUERY_QUANTILES.keys() <= step.details.keys() for step in self.path)

    @property
    def has_marginal_costs(self) -> bool:
        """Whether a feature group, a neighbour or a rule changed the cost of any feature."""
        return any(
            paid != self.features[row].cost
            for step in self.steps
            for row, paid in zip(step.rows, step.paid, strict=False)
        )


def entry_facts(entry: Entry, *, n_entries: int = 1) -> EntryFacts:
    """Compute all that is shown of one path; `n_entries` paths share the limits of the page."""
    if len(entry.path) == 0:
        raise ParameterError(
            f"A page needs paths with steps. Got none in {entry.title!r} "
            f"({entry.path.stop_reason}). Leave this path out, or fit again with looser limits."
        )
    path, evidence, selection = entry.path, entry.evidence, entry.cut
    cuts = {}  # by each rule that applies to the path
    for name in RULES if path.has_scores else ():
        with suppress(SecateurError):
            cuts[name] = path.cut(name)
    kept = _kept_steps(path, {selection.index, *(cut.index for cut in cuts.values())}, n_entries)
    # positions in the order of entry: all, or those of largest gain
    by_gain = {index: np.argsort(-gains(path[index]), kind="stable") for index in kept}
    listed = {index: sorted(places[:MAX_LISTED].tolist()) for index, places in by_gain.items()}
    # the features of the table: those of the cut, then the others by entry
    orders = [path[index].order[listed[index]] for index in (selection.index, *listed)]
    shown = list(dict.fromkeys(np.concatenate(orders).tolist()))
    del shown[max(MAX_ROWS // n_entries, MIN_ROWS) :]
    rows = {feature: row for row, feature in enumerate(shown)}
    # where two rules choose one step, the first rule counts, and the selection before all
    reasons = {cut.index: cut.sentence for cut in reversed(cuts.values())}
    reasons[selection.index] = selection.sentence
    score = next((step.score for step in path if step.score), None)
    return EntryFacts(
        title=entry.title,
        path=path,
        score_kind="" if score is None else sentences.kind_words(score),
        greater_is_better=bool(score and score.greater_is_better),
        has_costs=sentences.has_costs(path),
        cut=kept.index(selection.index),
        rules={name: kept.index(cut.index) for name, cut in cuts.items()},
        steps=tuple(_step_facts(path, at, listed[at], rows, reasons, evidence) for at in kept),
        features=tuple(_feature_facts(path, feature, evidence) for feature in shown),
        evidence=evidence,
    )


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


def gains(step: Step) -> FloatArray:
    """Each feature's share of all weight of the step, in order of entry."""
    weight: FloatArray = np.abs(step.weight[np.searchsorted(step.support, step.order)])
    total = float(weight.sum())
    return weight / total if total > 0 else np.zeros(len(weight))


def _step_facts(
    path: SelectionPath,
    index: int,
    listed: list[int],
    rows: Mapping[int, int],
    reasons: Mapping[int, str],
    evidence: Evidence | None,
) -> StepFacts:
    step, known = path[index], step_evidence(evidence, index)
    order, gain = step.order.tolist(), gains(step).tolist()
    at = [place for place in listed if order[place] in rows]
    words = sentences.substitute_words
    instead = {each.feature: words(path, each) for each in reversed(known.substitutes)}
    label = count_of(step.n_features)
    if (path.n_features == step.n_features).sum() > 1 and math.isfinite(step.penalty):
        label += f", {path.penalty_name} {step.penalty:.3g}"
    return StepFacts(
        index=index,
        step=step,
        n_unlisted=step.n_features - len(at),
        label=label,
        answer=sentences.answer(path, index, evidence),
        reason=reasons.get(index, f"Step {index + 1} of {len(path)}, chosen by hand."),
        unstable=sentences.unstable_sentence(path, index, known),
        rows=tuple(rows[order[place]] for place in at),
        place=tuple(place + 1 for place in at),
        gain=tuple(gain[place] for place in at),
        paid=tuple(known.paid[place] for place in at) if known.paid else (),
        frequency=tuple(known.frequency[place] for place in at) if known.frequency else (),
        substitutes=tuple(instead.get(order[place], "") for place in at) if instead else (),
        tasks={
            task: tuple(rows[f] for f in step.supports[task].tolist() if f in rows)
            for task in sorted(step.supports, key=sentences.natural_key)
        },
    )
