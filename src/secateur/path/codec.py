"""Paths as versioned, strict JSON: readable without the data or the models that made them."""

from __future__ import annotations

import json
import math
import os
import platform
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from secateur import __version__
from secateur.exceptions import SecateurError, StorageError
from secateur.path.cutting import AtMost, Best, CuttingRule, Elbow, OneStandardError, WithinBudget
from secateur.path.path import SelectionPath
from secateur.path.step import Score, Step
from secateur.path.values import thawed_json


def versions() -> dict[str, str]:
    """Return the versions of secateur, numpy and Python.

    Examples
    --------
    >>> sorted(versions())
    ['numpy', 'python', 'secateur']
    """
    return {
        "secateur": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def write_whole(file: str | os.PathLike[str], text: str) -> Path:
    """Write `text` to `file`, whole or not at all, and return where it is.

    A link is followed, so that what it points to is replaced and not the link.
    """
    target = Path(file).resolve()
    # In the same folder, because a file can only be renamed in one go within one file system.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target


def checked_document(text: str | bytes, *, form: str, version: int, what: str) -> dict[str, Any]:
    """Read a JSON object of the given format, of this version or an older one.

    >>> checked_document('{"format": "a.b", "version": 1}', form="a.b", version=1, what="path")
    {'format': 'a.b', 'version': 1}
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        raise StorageError(
            f"A {what} must be JSON. Got text that breaks off or is something else ({error}). "
            "Save it again, or check that this is the right file."
        ) from error
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(document, dict) or found != form:
        raise StorageError(
            f"A {what} must have the format {form!r}. Got {found!r}. "
            f"Check that this is a file in which a {what} was saved."
        )
    _check_version(document.get("version"), version, what)
    return document


def _check_version(found: Any, known: int, what: str) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise StorageError(
            f"A {what} must have a whole number >= 1 as its version. Got {found!r}. Save it again."
        )
    if found > known:
        raise StorageError(
            f"The {what} must be of version {known} or older. Got version {found}. "
            "Install a newer secateur to read it."
        )


def float_out(value: float) -> float | str:
    """Write a float. Strict JSON has no NaN and no infinity; float() reads their names back."""
    return value if math.isfinite(value) else repr(value)


def encoded(value: Any) -> Any:
    """Write a frozen JSON value; where anything may stand, a special float needs a mark."""
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [encoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return thawed_json(value)


def decoded(value: Any) -> Any:
    """Read what `encoded` wrote."""
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


RULE_VERSION = 1
KINDS: dict[str, type[Any]] = {
    "best": Best,
    "one_se": OneStandardError,
    "elbow": Elbow,
    "at_most": AtMost,
    "within_budget": WithinBudget,
}


def rule_to_document(rule: CuttingRule | None) -> dict[str, Any] | None:
    """Return a rule as a plain dict; None for None and for rules of the user's own.

    Examples
    --------
    >>> rule_to_document(AtMost(3))
    {'version': 1, 'kind': 'at_most', 'n_features': 3}
    """
    names = {kind: name for name, kind in KINDS.items()}
    name = names.get(type(rule))
    if name is None:
        return None
    values = {each.name: encoded(getattr(rule, each.name)) for each in fields(KINDS[name])}
    return {"version": RULE_VERSION, "kind": name, **values}


def rule_from_document(document: Any) -> CuttingRule | None:
    """Read what `rule_to_document` returned. Keys it does not know are ignored."""
    if document is None:
        return None
    kind = KINDS.get(str(document.get("kind"))) if isinstance(document, Mapping) else None
    if kind is None or document.get("version") not in range(1, RULE_VERSION + 1):
        raise StorageError(
            f"A cutting rule must be one of {', '.join(KINDS)} in version {RULE_VERSION} or "
            f"older. Got {document!r}. Install a newer secateur to read it, or name a rule."
        )
    known = {each.name for each in fields(kind)} & document.keys()
    try:
        rule: CuttingRule = kind(**{name: decoded(document[name]) for name in known})
    except (TypeError, SecateurError) as error:
        raise StorageError(
            f"The cutting rule is damaged. Got {document!r}: {error}. Name a rule instead."
        ) from error
    return rule


FORMAT = "secateur.path"
VERSION = 1


def save_path(
    path: SelectionPath,
    file: str | os.PathLike[str],
    *,
    evidence: str | None = None,
    rule: CuttingRule | None = None,
) -> None:
    """Write `path` to `file`, whole or not at all: a reader never sees half a file.

    Parameters
    ----------
    path : SelectionPath
    file : path-like
    evidence : str, optional
        JSON that goes along with the path, as what a report wants to know of the data; those who
        read the path only do not see it.
    rule : CuttingRule, optional
        The rule that the path was cut by, for `load_rule`; one of the user's own is not kept.
    """
    write_whole(file, path_to_json(path, evidence=evidence, rule=rule) + "\n")


def load_path(file: str | os.PathLike[str]) -> SelectionPath:
    """Read a path that `save_path` wrote."""
    with _named(file):
        return path_from_json(Path(file).read_bytes())


def load_evidence_json(file: str | os.PathLike[str]) -> str | None:
    """Read the evidence that `save_path` wrote along with a path; None if there is none."""
    with _named(file):
        evidence = _checked_document(Path(file).read_bytes()).get("evidence")
    return None if evidence is None else json.dumps(evidence)


def load_rule(file: str | os.PathLike[str]) -> CuttingRule | None:
    """Read the rule that a saved path was cut by; None if it is not known, as in older files."""
    with _named(file):
        return rule_from_document(_checked_document(Path(file).read_bytes()).get("cut"))


@contextmanager
def _named(file: str | os.PathLike[str]) -> Iterator[None]:
    """Say in which file something is wrong."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{os.fspath(file)}: {error}") from error


def path_to_json(
    path: SelectionPath, *, evidence: str | None = None, rule: CuttingRule | None = None
) -> str:
    """Return `path` as strict JSON, without its models.

    `evidence` is JSON that goes along, `rule` the rule that the path was cut by.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": path.algorithm,
        "stop_reason": path.stop_reason.value,
        "control_name": path.penalty_name,
        "cost_unit": path.cost_unit,
        "parameters": encoded(path.parameters),
        "versions": encoded(path.versions),
        "feature_names": list(path.feature_names),
        "steps": [_step_to_document(step) for step in path],
    }
    cut = rule_to_document(rule)
    if cut is not None:
        document["cut"] = cut
    if evidence is not None:
        document["evidence"] = json.loads(evidence)
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def path_from_json(text: str | bytes) -> SelectionPath:
    """Read a path from what `path_to_json` returned. Keys it does not know are ignored."""
    document = _checked_document(text)
    try:
        return _path_from_document(document)
    except (KeyError, TypeError, ValueError, OverflowError, SecateurError) as error:
        raise StorageError(
            f"The path is damaged. Got {type(error).__name__}: {error}. "
            "Save it again from the run that made it."
        ) from error


def _checked_document(text: str | bytes) -> dict[str, Any]:
    return checked_document(text, form=FORMAT, version=VERSION, what="path")


def _path_from_document(document: Mapping[str, Any]) -> SelectionPath:
    names = document["feature_names"]
    if not isinstance(names, list):
        raise TypeError("'feature_names' is not a list")
    return SelectionPath(
        steps=tuple(_step_from_document(step) for step in document["steps"]),
        stop_reason=document["stop_reason"],
        feature_names=tuple(names),
        algorithm=str(document["algorithm"]),
        penalty_name=str(document["control_name"]),
        cost_unit=str(document["cost_unit"]),
        parameters=decoded(document["parameters"]),
        versions=decoded(document["versions"]),
    )


def _step_to_document(step: Step) -> dict[str, Any]:
    # The support is the sorted order, so only the order is written.
    document = {
        "order": step.order.tolist(),
        "weight": [float_out(value) for value in step.weight.tolist()],
        "control": float_out(step.penalty),
        "objective": float_out(step.objective),
        "cost": float_out(step.cost),
        "seconds": float_out(step.seconds),
        "score": None if step.score is None else score_to_document(step.score),
        "details": encoded(step.details),
    }
    if step.supports:
        document["supports"] = {name: each.tolist() for name, each in step.supports.items()}
    return document


def _step_from_document(document: Mapping[str, Any]) -> Step:
    order = np.array(document["order"])
    score = document["score"]
    return Step(
        support=np.sort(order),
        order=order,
        weight=np.array([float(value) for value in document["weight"]], dtype=np.float64),
        penalty=float(document["control"]),
        objective=float(document["objective"]),
        cost=float(document["cost"]),
        score=None if score is None else score_from_document(score),
        seconds=float(document["seconds"]),
        details=decoded(document["details"]),
        supports={
            name: np.array(each, dtype=np.int64)
            for name, each in document.get("supports", {}).items()
        },
    )


def score_to_document(score: Score) -> dict[str, Any]:
    """Return a score as plain JSON values."""
    return {
        "mean": float_out(score.mean),
        "spread": float_out(score.standard_error),
        "folds": [float_out(fold) for fold in score.folds],
        "origin": score.origin,
        "metric": score.metric,
        "greater_is_better": score.greater_is_better,
    }


def score_from_document(document: Mapping[str, Any]) -> Score:
    """Read what `score_to_document` returned."""
    return Score(
        mean=float(document["mean"]),
        standard_error=float(document["spread"]),
        folds=tuple(float(fold) for fold in document["folds"]),
        origin=document["origin"],
        metric=str(document["metric"]),
        greater_is_better=bool(document["greater_is_better"]),
    )
