"""Comparisons as versioned, strict JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from secateur.exceptions import SecateurError, StorageError
from secateur.path.comparison import Comparison
from secateur.path.documents import checked_document, decoded, encoded, float_out
from secateur.path.trial import Subset, Trial

FORMAT = "secateur.comparison"
VERSION = 1


def load_comparison(file: str | os.PathLike[str]) -> Comparison:
    """Read a comparison from a file."""
    try:
        return comparison_from_json(Path(file).read_bytes())
    except StorageError as error:
        raise StorageError(f"{os.fspath(file)}: {error}") from error


def comparison_to_json(comparison: Comparison) -> str:
    """Return a comparison as strict JSON."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "methods": list(comparison.methods),
        "validators": list(comparison.validators),
        "sizes": list(comparison.sizes),
        "fold_sizes": [list(pair) for pair in comparison.fold_sizes],
        "task": comparison.task,
        "metric": comparison.metric,
        "greater_is_better": comparison.greater_is_better,
        "seed": comparison.seed,
        "parameters": encoded(comparison.parameters),
        "versions": encoded(comparison.versions),
        "feature_names": list(comparison.feature_names),
        "trials": [_trial_to_document(trial) for trial in comparison.trials],
    }
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def comparison_from_json(text: str | bytes) -> Comparison:
    """Read what `comparison_to_json` returned. Keys it does not know are ignored."""
    document = checked_document(text, form=FORMAT, version=VERSION, what="comparison")
    try:
        return _from_document(document)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, SecateurError) as error:
        raise StorageError(
            f"The comparison is damaged. Got {type(error).__name__}: {error}. "
            "Make it again, or take an older copy of the file."
        ) from error


def _from_document(document: Mapping[str, Any]) -> Comparison:
    for name in ("methods", "validators", "feature_names", "trials"):
        if not isinstance(document[name], list):
            raise TypeError(f"{name!r} is not a list")
    return Comparison(
        trials=tuple(_trial_from_document(trial) for trial in document["trials"]),
        methods=tuple(document["methods"]),
        validators=tuple(document["validators"]),
        sizes=tuple(document["sizes"]),
        feature_names=tuple(document["feature_names"]),
        fold_sizes=tuple((train, test) for train, test in document["fold_sizes"]),
        task=str(document["task"]),
        metric=str(document["metric"]),
        greater_is_better=bool(document["greater_is_better"]),
        seed=int(document["seed"]),
        parameters=decoded(document["parameters"]),
        versions=decoded(document["versions"]),
    )


def _trial_to_document(trial: Trial) -> dict[str, Any]:
    return {
        "method": trial.method,
        "fold": trial.fold,
        "status": trial.status.value,
        "message": trial.message,
        "seconds": float_out(trial.seconds),
        "subsets": [
            {
                "size": subset.size,
                "order": subset.order.tolist(),
                "scores": {name: float_out(value) for name, value in subset.scores.items()},
            }
            for subset in trial.subsets
        ],
    }


def _trial_from_document(document: Mapping[str, Any]) -> Trial:
    subsets = [
        Subset(
            size=None if subset["size"] is None else int(subset["size"]),
            order=np.array(subset["order"]),
            scores={str(name): float(value) for name, value in subset["scores"].items()},
        )
        for subset in document["subsets"]
    ]
    return Trial(
        method=str(document["method"]),
        fold=int(document["fold"]),
        status=document["status"],
        message=str(document["message"]),
        seconds=float(document["seconds"]),
        subsets=tuple(subsets),
    )
