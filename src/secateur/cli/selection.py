"""A selection from data to output folder: nested cross-validation, evidence, test file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.cli.console import Console, interrupts_end_the_command
from secateur.cli.documents import (
    command_line,
    score_document,
    selection_document,
    selection_shown,
)
from secateur.cli.methods import TIME_FOLDS, time_splitter
from secateur.cli.options import ValidationOptions
from secateur.cli.output import write_selection
from secateur.data.frames import select_columns
from secateur.model_selection.folds import MANY_ROWS
from secateur.model_selection.held_out import HeldOut, held_out
from secateur.model_selection.rows import TEST_SAMPLE_SEED, Rows, TaskModel, read_rows
from secateur.model_selection.scorers import RELATIVE, Metric, metric_for
from secateur.model_selection.validators import StepScorer, linear_model
from secateur.path import Selection, SelectionPath
from secateur.report import Evidence, gather_evidence
from secateur.selectors.progress import listened
from secateur.storage.stored_table import sample_stored

if TYPE_CHECKING:
    from secateur.data.costs import FeatureCosts
    from secateur.storage.reading.dataset import Dataset, TestRows

FITS = {
    "all_rows": "on all rows",
    "folds": "in folds",
    "all_features": "of all features in folds",
    "subsets": "of a linear model on a subset in folds",
    "test": "on all rows for the test file",
}


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a selection gives; `fits` counts the fitted models by the names in `FITS`."""

    path: SelectionPath
    selection: Selection
    evidence: Evidence
    selector: Any
    fits: Mapping[str, int]
    seconds: float


def fits_document(fits: Mapping[str, int]) -> dict[str, Any]:
    """How many models are fitted, and for what, in numbers and words.

    >>> print(fits_document({"all_rows": 1, "folds": 5, "all_features": 5})["sentence"])
    11 fits: 1 on all rows, 5 in folds, 5 of all features in folds.
    """
    total = sum(fits.values())
    parts = [f"{fits[name]} {words}" for name, words in FITS.items() if fits.get(name)]
    numbers = {name: fits.get(name, 0) for name in FITS}
    return {"total": total, **numbers, "sentence": f"{total} fits: {', '.join(parts)}."}


def _fits_done(held: HeldOut) -> dict[str, int]:
    """The fits of a nested cross-validation.

    A selector that predicts nothing has a linear model for each subset of each fold.
    """
    n_folds = len(held.fold_paths)
    subsets = [
        {path[at].support.tobytes() for at in match if path[at].n_features}
        for path, match in zip(held.fold_paths, held.matches, strict=True)
    ]
    return {
        "all_rows": 1,
        "folds": n_folds,
        "all_features": n_folds if held.all_features is not None else 0,
        "subsets": 0 if hasattr(held.selector, "predict") else sum(map(len, subsets)),
    }


def _fits_planned(folds: Any, n_rows: int) -> dict[str, Any]:
    """The fits that are known beforehand."""
    if folds is None:
        folds = max(2, min(n_rows // 2, 5 if n_rows <= MANY_ROWS else 3))
    n_folds = folds if isinstance(folds, int) else len(folds)
    return fits_document({"all_rows": 1, "folds": n_folds, "all_features": n_folds})


def folds_of(dataset: Dataset, cv: int | None) -> Any:
    """The folds: a number, or those that test on later rows where there is a time column."""
    if dataset.time is None:
        return cv
    return list(time_splitter(cv or TIME_FOLDS).split(dataset.y))


def select_features(
    selector: Any,
    dataset: Dataset,
    costs: FeatureCosts | None,
    validation: ValidationOptions,
    console: Console,
) -> Result:
    """Fit the selector to all rows and in each fold, and gather what the report needs."""
    y, weight, tasks = dataset.fit_arguments
    start = perf_counter()
    folds = folds_of(dataset, validation.cv)
    planned = _fits_planned(folds, len(dataset.y))
    more = "" if hasattr(selector, "predict") else " And a linear model for each subset in folds."
    console.message(f"Selecting features by nested cross-validation. {planned['sentence']}{more}")
    with (
        console.warnings_as_messages(),
        interrupts_end_the_command(),
        console.progress("Selecting", planned["total"]) as progress,
        listened(progress.within),
    ):
        held = held_out(
            selector,
            dataset.features.X,
            y,
            cv=folds,
            groups=dataset.group,
            task=tasks,
            sample_weight=weight,
            scoring=validation.scoring,
            random_state=validation.seed,
            n_jobs=validation.jobs,
            on_fit=progress.done,
        )
    # a matrix does not have the names of the file
    names, chosen = dataset.features.names, held.selector.selection_
    path = replace(held.path, feature_names=names)
    selection = replace(chosen, names=tuple(names[at] for at in chosen.support.tolist()))
    with console.warnings_as_messages():
        evidence = _evidence(dataset, path, selection, costs, held)
    fits, seconds = _fits_done(held), perf_counter() - start
    return Result(path, selection, evidence, held.selector, fits, seconds)


def _evidence(
    dataset: Dataset,
    path: SelectionPath,
    selection: Selection,
    costs: FeatureCosts | None,
    held: HeldOut,
) -> Evidence:
    X, y = dataset.features.X, dataset.y
    if dataset.is_stored:
        sample = sample_stored(X, TEST_SAMPLE_SEED)
        X, y = sample.X, y[sample.rows]
    evidence = gather_evidence(
        X,
        y,
        path,
        target_type=dataset.target_type,
        costs=costs,
        fold_paths=held.fold_paths,
        all_features=held.all_features,
        all_features_model=held.all_features_model,
        selection=selection,
    )
    return replace(evidence, n_rows=len(dataset.y))


def write_results(
    result: Result,
    dataset: Dataset,
    folder: Path,
    console: Console,
    facts: Mapping[str, Any],
    *,
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> None:
    """Write the output folder and show the selection.

    `facts` are the file, the method, the notes, the seed, and the scores on the test file.
    """
    rows, n_features = len(dataset.rows), len(dataset.features.names)
    more = {
        "method": facts["method"],
        "target_type": dataset.target_type,
        "target": dataset.target,
        "data": {"file": facts["file"], "rows": rows, "features": n_features},
        "notes": facts["notes"],
        "seed": facts["seed"],
        **({"test": facts["test"]} if facts.get("test") else {}),
        "fits": fits_document(result.fits),
        "seconds": round(result.seconds, 3),
        "command": command_line(),
    }
    path, selection, evidence = result.path, result.selection, result.evidence
    document = selection_document(path, selection, evidence, more)
    names = write_selection(
        folder, path, selection, evidence, document, title=dataset.target, force=force, data=data
    )
    document |= {"folder": str(folder), "files": names}
    console.result(document, *selection_shown(document))


# ---- the test file --------------------------------------------------------------------------


def score_test_rows(
    test: TestRows, result: Result, dataset: Dataset, seed: int, console: Console
) -> tuple[dict[str, Any], Result]:
    """Score the selected and all features on the rows of another file.

    Both by the same kind of model: the method's own, without penalty for all features, or a linear
    one where the method does not predict.
    """
    y, weight, tasks = dataset.fit_arguments
    train = read_rows(
        dataset.features.X, y, target_type=dataset.target_type, sample_weight=weight, tasks=tasks
    )
    metric = _metric(result, train)
    scorer = StepScorer(result.selector, None, train, metric, seed)
    console.message(f"Fitting a model with all features, for the rows of {test.file}.")
    with console.warnings_as_messages(), interrupts_end_the_command():
        model, X = _model_of_selected(result, train, test)
        of_selected = _score(model, X, metric, test)
        of_all = _score(scorer.fit_all(train), test.X, metric, test)
    n_fits = 1 if model is result.selector else 2
    scores = {"file": test.file, "rows": len(test.y), **of_selected}
    scores["all_features"] = {**of_all, "model": scorer.name_of_all}
    return scores, replace(result, fits={**result.fits, "test": n_fits})


def _metric(result: Result, train: Rows) -> Metric:
    """The metric of the scores of the path."""
    score = result.selection.score
    name = None if score is None else score.metric
    scoring = None if name is None or name.startswith(RELATIVE) else name
    return metric_for(scoring, train, name)


def _score(model: Any, X: Any, metric: Metric, test: TestRows) -> dict[str, Any]:
    if test.tasks is not None:
        model = TaskModel(model, test.tasks)
    losses = metric.evaluate(model, X, test.y, np.ones(len(test.y)))
    return score_document(metric.score([losses])) or {}


def _model_of_selected(result: Result, train: Rows, test: TestRows) -> tuple[Any, Any]:
    """A model with the selected features, and the columns that it needs."""
    if hasattr(result.selector, "predict"):
        return result.selector, test.X
    support = result.selection.support
    model = train.fit(linear_model(train.target_type, is_sparse=train.is_sparse), support)
    return model, select_columns(test.X, support)
