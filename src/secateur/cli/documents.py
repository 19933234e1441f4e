"""Selections as JSON documents, complete and without NaN, from a path and its evidence."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.path.cutting import rule_to_document
from secateur.path.values import thawed_json
from secateur.report.sentences import answer, natural_key
from secateur.report.stability import is_unstable, unstable_sentence

if TYPE_CHECKING:
    from secateur.path import Score, Selection, SelectionPath
    from secateur.report import Evidence
    from secateur.report.evidence import StepEvidence


FORMAT = "secateur.selection"
VERSION = 1


def selection_document(
    path: SelectionPath,
    selection: Selection,
    evidence: Evidence | None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All that a program may want to know of a selection."""
    of_all = None if evidence is None else evidence.all_features
    return {
        "format": FORMAT,
        "version": VERSION,
        "answer": answer(path, selection.index, evidence),
        "sentence": selection.sentence,
        "unstable_sentence": unstable_sentence(
            path, selection.index, _step_evidence(selection, evidence)
        ),
        "rule": selection.rule,
        "cut": rule_to_document(selection.chooser),
        "algorithm": path.algorithm,
        "n_features": selection.n_features,
        "n_features_in": path.n_features_in,
        "cost": finite(selection.cost),
        "cost_unit": path.cost_unit,
        "score": score_document(selection.score),
        "all_features": score_document(of_all),
        "features": feature_rows(path, selection, evidence),
        "tasks": _tasks(path, selection),
        "parameters": _plain(thawed_json(path.parameters)),
        "versions": thawed_json(path.versions),
        **(more or {}),
    }


def _step_evidence(selection: Selection, evidence: Evidence | None) -> StepEvidence | None:
    return evidence.steps[selection.index] if evidence is not None and evidence.steps else None


def _tasks(path: SelectionPath, selection: Selection) -> dict[str, list[str]]:
    """The features of each task, where there are several."""
    supports = path[selection.index].supports
    return {
        task: [path.feature_names[each] for each in supports[task].tolist()]
        for task in sorted(supports, key=natural_key)
    }


def feature_rows(
    path: SelectionPath, selection: Selection, evidence: Evidence | None
) -> list[dict[str, Any]]:
    """One dict for each chosen feature, the most useful first.

    ``gain`` is its share of all the weight of the step, ``entered`` its place in the order of
    entry, ``frequency`` the share of folds that chose it too, ``substitute`` the one that folds
    without it chose instead, ``tasks`` those that use it.
    """
    step = path[selection.index]
    weight = np.abs(step.weight[np.searchsorted(step.support, step.order)])
    total = float(weight.sum())
    told = _step_evidence(selection, evidence)
    rows = []
    for place, feature in enumerate(step.order.tolist()):
        row: dict[str, Any] = {
            "name": path.feature_names[feature],
            "index": feature,
            "gain": float(weight[place]) / total if total > 0 else 0.0,
            "entered": place + 1,
            "frequency": told.frequency[place] if told and told.frequency else None,
        }
        if row["frequency"] is not None:
            row["unstable"] = is_unstable(row["frequency"])
            row["substitute"] = _substitute(path, feature, told)
        if step.supports:
            tasks = [task for task, used in step.supports.items() if feature in used]
            row["tasks"] = sorted(tasks, key=natural_key)
        if evidence is not None and feature in evidence.costs:
            row["cost"] = evidence.costs[feature]
            row["paid"] = told.paid[place] if told and told.paid else None
        if evidence is not None and feature in evidence.groups:
            row["groups"] = list(evidence.groups[feature])
        rows.append(_plain(row))
    return sorted(rows, key=lambda row: (-row["gain"], row["entered"]))


def _substitute(
    path: SelectionPath, feature: int, told: StepEvidence | None
) -> dict[str, Any] | None:
    """The feature that folds without this one chose instead, if there is any."""
    found = None if told is None else told.substitute_of(feature)
    if found is None:
        return None
    return {
        "name": path.feature_names[found.other],
        "index": found.other,
        "correlation": found.correlation,
        "folds": found.n_folds,
    }


def score_document(score: Score | None) -> dict[str, Any] | None:
    """A score as a plain dict."""
    if score is None:
        return None
    return {
        "metric": score.metric,
        "mean": finite(score.mean),
        "standard_error": finite(score.standard_error),
        "origin": score.origin,
        "greater_is_better": score.greater_is_better,
        "folds": [finite(value) for value in score.folds],
    }


def finite(value: float) -> float | None:
    """A number that JSON can hold."""
    return float(value) if math.isfinite(value) else None


def command_line() -> str:
    """The command as it was given, to be repeated."""
    return shlex.join(["secateur", *sys.argv[1:]])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return finite(value) if isinstance(value, float) else value
