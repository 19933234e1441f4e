"""Comparisons as versioned, strict JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import SecateurError, StorageError
from secateur.model_selection.comparison import Comparison
from secateur.model_selection.comparison_statistics import Point
from secateur.model_selection.trial_results import Subset, Trial, TrialStatus
from secateur.path import wording
from secateur.path.codec import checked_document, decoded, encoded, float_out
from secateur.path.rendering import html_table, rich_table

if TYPE_CHECKING:
    from rich.table import Table

    from secateur.model_selection.comparison import Comparison


MOST_MESSAGE = 160


def summary(comparison: Comparison) -> str:
    """Return a comparison in a few words."""
    total = len(comparison.methods) * comparison.n_folds
    return ", ".join(
        (
            _count(len(comparison.methods), "method"),
            _count(comparison.n_folds, "fold"),
            _count(len(comparison.validators), "validator"),
            f"{len(comparison.trials)} of {total} trials",
        )
    )


def sentences(comparison: Comparison) -> str:
    """Say what was compared, who came first, and what was not done."""
    lines = [_what(comparison)]
    ranks = comparison.ranks()
    if ranks:
        listed = ", ".join(f"{rank.method} {rank.mean:.1f}" for rank in ranks)
        lines.append(f"Mean rank over folds, sizes and validators (1 is best): {listed}.")
    lines += [_of_validator(comparison, validator) for validator in comparison.validators]
    lines += _not_done(comparison)
    return "\n".join(line for line in lines if line)


def _what(comparison: Comparison) -> str:
    judges = ", ".join(comparison.validators)
    is_part = "" if comparison.is_complete else " so far"
    return (
        f"{_count(len(comparison.methods), 'method')} on {_count(comparison.n_folds, 'fold')}"
        f"{is_part}, {wording.features(comparison.n_features_in)}; selection inside the folds, "
        f"held-out {comparison.metric} by {judges}."
    )


def _of_validator(comparison: Comparison, validator: str) -> str:
    """The best of all at any size, and what fewer features give."""
    found = [
        (curve.method, point)
        for curve in comparison.curves(validator)
        for point in (*curve.points, *([curve.own] if curve.own else []))
    ]
    if not found:
        return f"By {validator}: no scores."
    method, best = max(found, key=lambda pair: pair[1].score.utility)
    slack = 0.0 if math.isnan(best.score.standard_error) else best.score.standard_error
    near = [pair for pair in found if pair[1].score.utility >= best.score.utility - slack]
    thrifty, small = min(near, key=lambda pair: (pair[1].n_features, -pair[1].score.utility))
    told = f"By {validator}: best is {method}, {_told(best)}"
    if small.n_features < best.n_features:
        told += f"; within one standard error of it {thrifty}, {_told(small)}"
    return told + "."


def _told(point: Point) -> str:
    count = f"{point.n_features:.0f}" if point.n_features == 1 else f"{point.n_features:.3g}"
    noun = "feature" if point.n_features == 1 else "features"
    return f"{wording.score_with_error(point.score)} with {count} {noun}"


def _not_done(comparison: Comparison) -> list[str]:
    lines = []
    for method in comparison.methods:
        failed = [trial for trial in comparison.trials_of(method) if not trial.is_done]
        if failed:
            late = all(trial.status is TrialStatus.TIMED_OUT for trial in failed)
            what = "took too long" if late else "failed"
            folds = _count(len(failed), "fold")
            lines.append(f"{method} {what} on {folds}: {shortened(failed[0].message)}")
    return lines


def shortened(message: str) -> str:
    """One line that is not too long."""
    line = " ".join(message.split())
    return line if len(line) <= MOST_MESSAGE else line[: MOST_MESSAGE - 1] + "…"


def header(comparison: Comparison) -> tuple[str, ...]:
    """Return the heads of the table's columns."""
    own = [f"{validator}, own" for validator in comparison.validators]
    size = _shown_size(comparison)
    sized = [f"{validator}, ≤ {size}" for validator in comparison.validators if size]
    steady = f"stability, ≤ {size}" if size else "stability, own"
    return ("method", "rank", "own features", *own, *sized, steady, "seconds", "done")


def table(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return a row for each method, by mean rank; those without a rank come last."""
    rank_of = {rank.method: rank.mean for rank in comparison.ranks()}
    order = sorted(comparison.methods, key=lambda name: rank_of.get(name, math.inf))
    return [_cells(comparison, name, rank_of.get(name, math.nan)) for name in order]


def _cells(comparison: Comparison, method: str, rank: float) -> tuple[str, ...]:
    curves = {c.validator: c for c in comparison.curves() if c.method == method}
    own = [curves[validator].own for validator in comparison.validators]
    size = _shown_size(comparison)
    sized = [
        next((p for p in curves[validator].points if p.size == size), None)
        for validator in (comparison.validators if size else ())
    ]
    timing = comparison.seconds()[method]
    agreement = comparison.stability(size)[method]
    count = next((f"{point.n_features:.4g}" for point in own if point), "")
    return (
        method,
        "" if math.isnan(rank) else f"{rank:.1f}",
        count,
        *(wording.score_with_error(point.score if point else None) for point in own),
        *(wording.score_with_error(point.score if point else None) for point in sized),
        "" if math.isnan(agreement.index) else str(agreement),
        "" if math.isnan(timing.median) else f"{timing.median:.3g}",
        f"{timing.n_done} of {comparison.n_folds}",
    )


def _shown_size(comparison: Comparison) -> int | None:
    """The size that the table shows: the largest up to ten, where curves differ most."""
    small = [size for size in comparison.sizes if size <= 10]
    return small[-1] if small else next(iter(comparison.sizes), None)


def comparison_to_rich(comparison: Comparison) -> Table:
    """Return the comparison as a table for rich."""
    return rich_table(summary(comparison), header(comparison), table(comparison), text_columns=(0,))


def comparison_to_html(comparison: Comparison) -> str:
    """Return the comparison as an HTML table, everything escaped."""
    return html_table(summary(comparison), header(comparison), table(comparison))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


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
        "target_type": comparison.target_type,
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
        target_type=str(document.get("target_type", document.get("task"))),
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
