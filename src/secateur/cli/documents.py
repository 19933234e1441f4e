"""Selections as JSON documents without NaN, and the same on the console."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from secateur.exceptions import printable
from secateur.path import Step
from secateur.path.rules import rule_to_document
from secateur.path.step import count_of, thawed_json
from secateur.report import sentences
from secateur.report.evidence import StepEvidence, step_evidence
from secateur.report.facts import Entry, gains

MAX_SHOWN = 40
METHOD_HEADS = ("method", "features", "score", "worse than the best", "seconds")


def selection_document(entry: Entry, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All facts of a selection."""
    path, selection, evidence = entry.path, entry.cut, entry.evidence
    supports, known = path[selection.index].supports, step_evidence(evidence, selection.index)
    of_all = None if evidence is None else evidence.all_features
    return {
        "format": "secateur.selection",
        "version": 1,
        "answer": sentences.answer(path, selection.index, evidence),
        "sentence": selection.sentence,
        "unstable_sentence": sentences.unstable_sentence(path, selection.index, known),
        "rule": selection.rule,
        "cut": rule_to_document(selection.chooser),
        "algorithm": path.algorithm,
        "n_features": selection.n_features,
        "n_features_in": path.n_features_in,
        "cost": selection.cost,
        "cost_unit": path.cost_unit,
        "score": selection.score and asdict(selection.score),
        "all_features": of_all and asdict(of_all),
        "features": _feature_rows(entry, path[selection.index], known),
        "tasks": {
            task: [path.feature_names[each] for each in supports[task].tolist()]
            for task in sorted(supports, key=sentences.natural_key)
        },
        "parameters": thawed_json(path.parameters),
        "versions": thawed_json(path.versions),
        **(more or {}),
    }


def _feature_rows(entry: Entry, step: Step, known: StepEvidence) -> list[dict[str, Any]]:
    """One dict for each selected feature, those of largest gain first."""
    path, evidence = entry.path, entry.evidence
    substitutes = {each.feature: each for each in reversed(known.substitutes)}
    rows = []
    pairs = zip(step.order.tolist(), gains(step).tolist(), strict=True)
    for place, (feature, gain) in enumerate(pairs):
        row: dict[str, Any] = {
            "name": path.feature_names[feature],
            "index": feature,
            "gain": gain,  # its share of all weight of the step
            "entered": place + 1,  # in the order of entry
            # the share of folds that selected it too
            "frequency": known.frequency[place] if known.frequency else None,
        }
        if known.frequency:
            row["unstable"] = known.frequency[place] < sentences.MIN_FREQUENCY
            other = substitutes.get(feature)
            row["substitute"] = other and {  # which folds without it selected
                "name": path.feature_names[other.other],
                "index": other.other,
                "correlation": other.correlation,
                "folds": other.n_folds,
            }
        if step.supports:
            tasks = [task for task, used in step.supports.items() if feature in used]
            row["tasks"] = sorted(tasks, key=sentences.natural_key)
        if evidence is not None and feature in evidence.costs:
            row["cost"] = evidence.costs[feature]
            row["paid"] = known.paid[place] if known.paid else None
        if evidence is not None and feature in evidence.groups:
            row["groups"] = list(evidence.groups[feature])
        rows.append(row)
    return sorted(rows, key=lambda row: (-row["gain"], row["entered"]))


def command_line() -> str:
    """The command as it was given."""
    return shlex.join(["secateur", *sys.argv[1:]])


def about_page(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the report says of the file and the command."""
    data, test = document.get("data"), document.get("test")
    size = f"{data['rows']} rows, {count_of(data['features'])}" if data else ""
    verified = document.get("verification", {})
    is_verified = verified.get("status", "complete") == "complete"
    about = {
        "Data": f"{data['file']}: {size}" if data else "",
        "Preprocessing": " ".join(document.get("notes", ())),
        "Test file": test_sentence(test) if test else "",
        "Verification" if is_verified else "warning": verified.get("sentence", ""),
        "Methods compared": document.get("comparison", {}).get("sentence", ""),
        "Fits": document["fits"]["sentence"] if "fits" in document else "",
        "methods": document.get("comparison", {}).get("table", []),
        "command": document.get("command", ""),
    }
    return {key: words for key, words in about.items() if words}


def selection_shown(document: Mapping[str, Any]) -> list[Any]:
    """What the console shows of a selection."""
    from rich.text import Text

    document = printable(document)
    shown: list[Any] = [Text(document["answer"], style="bold"), document["sentence"]]
    if "verification" in document:
        shown.append(document["verification"]["sentence"])
    if document.get("test"):
        shown.append(test_sentence(document["test"]))
    if document["features"]:
        shown.append(_features_table(document["features"], document["cost_unit"]))
    if document["unstable_sentence"]:
        shown.append(document["unstable_sentence"])
    if "comparison" in document:
        heads = {head: head != "method" for head in METHOD_HEADS}
        shown += [
            document["comparison"]["sentence"],
            _table(heads, document["comparison"]["table"]),
        ]
    if "folder" in document:
        shown.append(written(document))
    return shown


def written(document: Mapping[str, Any]) -> str:
    """Where the results are."""
    return f"Written to {document['folder']}: {', '.join(document['files'])}"


def _features_table(rows: Sequence[Mapping[str, Any]], unit: str) -> Any:
    """The selected features; a column only where there is something in it."""
    heads = {"feature": "name", "gain": "gain", f"cost {unit}".strip(): "cost"}
    heads |= {"group": "groups", "tasks": "tasks", "in folds": "frequency", "": "unstable"}
    heads |= {"substitute (folds)": "substitute"}
    columns = {head: [_cell(key, row.get(key)) for row in rows] for head, key in heads.items()}
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    are_numbers = {head: heads[head] in {"gain", "cost", "frequency"} for head in columns}
    shown = [*zip(*columns.values(), strict=True)][:MAX_SHOWN]
    if len(rows) > MAX_SHOWN:
        shown.append((f"... and {len(rows) - MAX_SHOWN} more",))
    return _table(are_numbers, shown)


def _table(heads: Mapping[str, bool], rows: Sequence[Sequence[str]]) -> Any:
    """A table for rich; heads of columns with whether they hold numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for head, is_number in heads.items():
        table.add_column(head, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # as Text, so that markup in names is not interpreted
    return table


def _cell(key: str, value: Any) -> str:
    formats = {"gain": "{:.1%}", "frequency": "{:.0%}", "cost": "{:.6g}", "unstable": "unstable"}
    if value is None or value is False:
        return ""
    if key == "substitute":
        return f"{sentences.short(value['name'])} ({value['folds']})"
    if isinstance(value, list | tuple):
        return sentences.few(value)
    return formats.get(key, "{}").format(value)


def test_sentence(test: Mapping[str, Any]) -> str:
    """The scores on the rows of the test file."""
    metric = str(test["metric"]).replace("_", " ")
    sentence = f"On the {test['rows']} rows of {test['file']}: {metric} {_with_error(test)}"
    return f"{sentence}; with all features {_with_error(test['all_features'])}."


def _with_error(score: Mapping[str, Any]) -> str:
    mean, error = score["mean"], score["standard_error"]
    if math.isnan(mean):
        return "unknown"
    return f"{mean:.4g}" + ("" if math.isnan(error) else f" ± {error:.4g}")
