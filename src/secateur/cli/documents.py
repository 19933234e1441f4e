"""Selections as JSON documents without NaN, and the same on the console."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.path.path import rule_to_document
from secateur.path.step import format_features, thawed_json
from secateur.report.evidence import StepEvidence
from secateur.report.sentences import (
    answer,
    few,
    is_unstable,
    natural_key,
    short,
    unstable_sentence,
)

if TYPE_CHECKING:
    from rich.table import Table

    from secateur.path import Score, Selection, SelectionPath
    from secateur.report import Evidence


FORMAT = "secateur.selection"
VERSION = 1
MAX_SHOWN = 40


def selection_document(
    path: SelectionPath,
    selection: Selection,
    evidence: Evidence | None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All facts of a selection."""
    supports = path[selection.index].supports
    known = _step_evidence(selection, evidence)
    return {
        "format": FORMAT,
        "version": VERSION,
        "answer": answer(path, selection.index, evidence),
        "sentence": selection.sentence,
        "unstable_sentence": unstable_sentence(path, selection.index, known),
        "rule": selection.rule,
        "cut": rule_to_document(selection.chooser),
        "algorithm": path.algorithm,
        "n_features": selection.n_features,
        "n_features_in": path.n_features_in,
        "cost": finite(selection.cost),
        "cost_unit": path.cost_unit,
        "score": score_document(selection.score),
        "all_features": score_document(None if evidence is None else evidence.all_features),
        "features": feature_rows(path, selection, evidence),
        "tasks": {
            task: [path.feature_names[each] for each in supports[task].tolist()]
            for task in sorted(supports, key=natural_key)
        },
        "parameters": _finite_only(thawed_json(path.parameters)),
        "versions": thawed_json(path.versions),
        **(more or {}),
    }


def feature_rows(
    path: SelectionPath, selection: Selection, evidence: Evidence | None
) -> list[dict[str, Any]]:
    """One dict for each selected feature, those of largest gain first.

    ``gain`` is its share of all weight of the step, ``entered`` its place in the order of entry,
    ``frequency`` the share of folds that selected it too, ``substitute`` the correlated feature
    that folds without it selected, ``tasks`` those that use it.
    """
    step = path[selection.index]
    known = _step_evidence(selection, evidence)
    weight = np.abs(step.weight[np.searchsorted(step.support, step.order)])
    total = float(weight.sum())
    rows = []
    for place, feature in enumerate(step.order.tolist()):
        row: dict[str, Any] = {
            "name": path.feature_names[feature],
            "index": feature,
            "gain": float(weight[place]) / total if total > 0 else 0.0,
            "entered": place + 1,
            "frequency": known.frequency[place] if known.frequency else None,
        }
        if row["frequency"] is not None:
            row["unstable"] = is_unstable(row["frequency"])
            row["substitute"] = _substitute(path, feature, known)
        if step.supports:
            tasks = [task for task, used in step.supports.items() if feature in used]
            row["tasks"] = sorted(tasks, key=natural_key)
        if evidence is not None and feature in evidence.costs:
            row["cost"] = evidence.costs[feature]
            row["paid"] = known.paid[place] if known.paid else None
        if evidence is not None and feature in evidence.groups:
            row["groups"] = list(evidence.groups[feature])
        rows.append(_finite_only(row))
    return sorted(rows, key=lambda row: (-row["gain"], row["entered"]))


def _step_evidence(selection: Selection, evidence: Evidence | None) -> StepEvidence:
    if evidence is None or not evidence.steps:
        return StepEvidence()
    return evidence.steps[selection.index]


def _substitute(path: SelectionPath, feature: int, known: StepEvidence) -> dict[str, Any] | None:
    found = known.substitute_of(feature)
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
    """A number for JSON: None if not finite."""
    return float(value) if math.isfinite(value) else None


def _finite_only(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite_only(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite_only(item) for item in value]
    return finite(value) if isinstance(value, float) else value


def command_line() -> str:
    """The command as it was given."""
    return shlex.join(["secateur", *sys.argv[1:]])


def about_page(document: Mapping[str, Any]) -> dict[str, str]:
    """What the report says of the file and the command."""
    about = {}
    if "data" in document:
        data = document["data"]
        about["Data"] = f"{data['file']}: {data['rows']} rows, {format_features(data['features'])}"
    if document.get("notes"):
        about["Preprocessing"] = " ".join(document["notes"])
    if document.get("test"):
        about["Test file"] = test_sentence(document["test"])
    if "fits" in document:
        about["Fits"] = document["fits"]["sentence"]
    if "command" in document:
        about["command"] = document["command"]
    return about


# ---- on the console -------------------------------------------------------------------------


def selection_shown(document: Mapping[str, Any]) -> list[Any]:
    """What the console shows of a selection."""
    from rich.text import Text

    shown: list[Any] = [Text(document["answer"], style="bold"), Text(document["sentence"])]
    if document.get("test"):
        shown.append(Text(test_sentence(document["test"])))
    if document["features"]:
        shown.append(_features_table(document["features"], document["cost_unit"]))
    if document["unstable_sentence"]:
        shown.append(Text(document["unstable_sentence"]))
    if "folder" in document:
        shown.append(written(document))
    return shown


def written(document: Mapping[str, Any]) -> Any:
    """Where the results are."""
    from rich.text import Text

    return Text(f"Written to {document['folder']}: {', '.join(document['files'])}")


def _features_table(rows: Sequence[Mapping[str, Any]], unit: str) -> Table:
    """The selected features; a column only where there is something in it."""
    from rich.table import Table
    from rich.text import Text

    heads = {"feature": "name", "gain": "gain", f"cost {unit}".strip(): "cost"}
    heads |= {"group": "groups", "tasks": "tasks", "in folds": "frequency", "": "unstable"}
    heads |= {"substitute (folds)": "substitute"}
    heads = {
        head: key
        for head, key in heads.items()
        if not all(_is_missing(row.get(key)) for row in rows)
    }
    table = Table(box=None, pad_edge=False)
    for head, key in heads.items():
        is_number = key in {"gain", "cost", "frequency"}
        table.add_column(head, justify="right" if is_number else "left", overflow="fold")
    for row in rows[:MAX_SHOWN]:
        # as Text, so that markup in names is shown and not interpreted
        table.add_row(*(Text(_cell(key, row.get(key))) for key in heads.values()))
    if len(rows) > MAX_SHOWN:
        table.add_row(Text(f"... and {len(rows) - MAX_SHOWN} more"))
    return table


def _cell(key: str, value: Any) -> str:
    if _is_missing(value):
        return ""
    if key == "substitute":
        return f"{short(value['name'])} ({value['folds']})"
    formats = {"gain": "{:.1%}", "frequency": "{:.0%}", "cost": "{:.6g}"}
    if key in formats:
        return formats[key].format(value)
    if key == "unstable":
        return "unstable"
    return few(value) if isinstance(value, list | tuple) else str(value)


def _is_missing(value: Any) -> bool:
    return value is None or value is False


def test_sentence(test: Mapping[str, Any]) -> str:
    """The scores on the rows of the test file."""
    metric = str(test["metric"]).replace("_", " ")
    sentence = f"On the {test['rows']} rows of {test['file']}: {metric} {_with_error(test)}"
    of_all = test.get("all_features")
    return sentence + (f"; with all features {_with_error(of_all)}." if of_all else ".")


def _with_error(score: Mapping[str, Any]) -> str:
    mean, error = score["mean"], score["standard_error"]
    if mean is None:
        return "unknown"
    return f"{mean:.4g}" + ("" if error is None else f" ± {error:.4g}")
