"""Results as plain JSON values: supports, penalties, scores and predictions, no sentences."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from golden import names

N_PREDICTIONS = 20


def plain(value: Any) -> Any:
    """A value that JSON can hold; NaN and infinities as text."""
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def score_facts(score: Any) -> Any:
    """Mean, standard error, metric and origin of a score."""
    if score is None:
        return None
    return {name: plain(names.of_score(score, name)) for name in names.SCORE}


def step_facts(step: Any) -> dict[str, Any]:
    """What one step selects, in order of entry, at which penalty, and how well."""
    facts = {name: plain(names.of_step(step, name)) for name in ("order", "penalty", "objective")}
    cost = plain(names.of_step(step, "cost"))
    if cost != "nan":
        facts["cost"] = cost
    if step.score is not None:
        facts["score"] = plain(names.of_score(step.score, "mean"))
        facts["standard_error"] = plain(names.of_score(step.score, "standard_error"))
    supports = names.of_step(step, "supports")
    if supports:
        facts["supports"] = {str(task): plain(used) for task, used in supports.items()}
    return facts


def path_facts(path: Any) -> dict[str, Any]:
    """Every step of a path, and why it ended."""
    metrics = {names.of_score(step.score, "metric") for step in path if step.score is not None}
    return {
        "stop_reason": path.stop_reason.value,
        "metric": sorted(metrics),
        "steps": [step_facts(step) for step in path],
    }


def selection_facts(selection: Any) -> dict[str, Any]:
    """Which step was chosen, by which rule."""
    return {
        "index": selection.index,
        "support": plain(selection.support),
        "names": list(selection.names),
        "rule": type(selection.chooser).__name__,
        "cost": plain(selection.cost),
        "score": score_facts(selection.score),
    }


def selector_facts(selector: Any, X: Any, **arguments: Any) -> dict[str, Any]:
    """All that a fitted selector leaves: path, selection, importances and predictions."""
    chosen = selector.path_[selector.selection_.index]
    facts = {
        "path": path_facts(selector.path_),
        "selection": selection_facts(selector.selection_),
        "ranking": plain(selector.ranking_),
        "weight": plain(names.of_step(chosen, "weight")),
    }
    if hasattr(selector, "scores_"):
        facts["scores"] = plain(selector.scores_)
    for name in ("predict_proba", "predict"):
        if hasattr(selector, name):
            facts["predictions"] = prediction_facts(getattr(selector, name)(X, **arguments))
            break
    return facts


def prediction_facts(predictions: Any) -> dict[str, Any]:
    """A hash of all predictions, and the first of them."""
    if isinstance(predictions, dict):
        return {str(key): prediction_facts(each) for key, each in predictions.items()}
    if isinstance(predictions, list):
        return {str(place): prediction_facts(each) for place, each in enumerate(predictions)}
    array = np.ascontiguousarray(predictions)
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
    first = array[:N_PREDICTIONS]
    return {"hash": digest, "first": plain(first[:, -1] if first.ndim == 2 else first)}


def document_facts(document: Any) -> Any:
    """What is determined of ``selection.json``, without sentences, versions, paths and times."""
    if isinstance(document, dict):
        return {
            names.DOCUMENT.get(key, key): document_facts(value)
            for key, value in document.items()
            if key not in names.NOT_COMPARED
        }
    if isinstance(document, list):
        return [document_facts(value) for value in document]
    return document
