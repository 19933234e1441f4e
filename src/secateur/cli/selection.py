"""A selection from data to output folder: nested cross-validation, evidence, test file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from secateur.cli.console import Console, interrupts_end_the_command
from secateur.cli.data import DataRequest
from secateur.cli.documents import command_line, selection_document, selection_shown
from secateur.cli.methods import TIME_FOLDS
from secateur.cli.options import ValidationOptions
from secateur.cli.output import write_selection
from secateur.data.costs import FeatureCosts
from secateur.data.frames import select_columns
from secateur.model_selection.encoding import over_columns
from secateur.model_selection.folds import default_outer_folds
from secateur.model_selection.held_out import HeldOut, held_out
from secateur.model_selection.rows import (
    RELATIVE,
    TEST_SAMPLE_SEED,
    TaskModel,
    metric_for,
    read_rows,
)
from secateur.model_selection.validators import StepScorer
from secateur.report import Entry, gather_evidence
from secateur.selectors.progress import listened
from secateur.storage.reading.dataset import Dataset, TestRows, find_column
from secateur.storage.reading.plan import without_indicators
from secateur.storage.reading.read_file import reduced_file
from secateur.storage.stored_table import sample_stored

FITS = {
    "all_rows": "on all rows",
    "folds": "in folds",
    "all_features": "of all features in folds",
    "subsets": "of a linear model on a subset in folds",
    "test": "on all rows for the test file",
}


def fits_document(fits: Mapping[str, int]) -> dict[str, Any]:
    """How many models are fitted, and for what, in numbers and words.

    >>> print(fits_document({"all_rows": 1, "folds": 5, "all_features": 5})["sentence"])
    11 fits: 1 on all rows, 5 in folds, 5 of all features in folds.
    """
    total = sum(fits.values())
    parts = [f"{fits[name]} {words}" for name, words in FITS.items() if fits.get(name)]
    numbers = {name: fits.get(name, 0) for name in FITS}
    return {"total": total, **numbers, "sentence": f"{total} fits: {', '.join(parts)}."}


def folds_of(dataset: Dataset, cv: int | None) -> Any:
    """The folds: a number, or those that test on later rows where there is a time column."""
    if dataset.time is None:
        return cv
    return list(TimeSeriesSplit(cv or TIME_FOLDS).split(dataset.y))


def select_features(
    selector: Any,
    dataset: Dataset,
    costs: FeatureCosts | None,
    validation: ValidationOptions,
    console: Console,
) -> tuple[Entry, Any, dict[str, Any]]:
    """Fit to all rows and in each fold: the entry of the report, the fitted selector, facts."""
    start = perf_counter()
    held, fits = _held_out(selector, dataset, validation, console)
    sources = dataset.features.sources if dataset.is_encoded else None
    path, *fold_paths = (
        over_columns(each, sources, dataset.plan.names) for each in (held.path, *held.fold_paths)
    )
    selection = path.cut(held.selector.selection_.chooser)
    X, y = dataset.features.X, dataset.y
    if dataset.is_stored:
        sample = sample_stored(X, TEST_SAMPLE_SEED)
        X, y = sample.X, y[sample.rows]
    if sources is not None:
        X = without_indicators(dataset.plan, X, sources)
    with console.warnings_as_messages():
        evidence = gather_evidence(
            X,
            y,
            path,
            target_type=dataset.target_type,
            costs=costs,
            fold_paths=fold_paths,
            all_features=held.all_features,
            all_features_model=held.all_features_model,
            selection=selection,
        )
    evidence = replace(evidence, n_rows=len(dataset.y))
    entry = Entry(dataset.target, path, selection, evidence)
    return entry, held.selector, {"fits": fits, "seconds": round(perf_counter() - start, 3)}


def _held_out(
    selector: Any, dataset: Dataset, validation: ValidationOptions, console: Console
) -> tuple[HeldOut, dict[str, int]]:
    """Held-out scores of all steps, and how many models were fitted, by the names in `FITS`."""
    y, weight, tasks = dataset.fit_arguments
    folds = folds_of(dataset, validation.cv)
    drawn = folds or default_outer_folds(len(dataset.y))
    n_folds = len(drawn) if isinstance(drawn, list) else drawn
    planned = fits_document({"all_rows": 1, "folds": n_folds, "all_features": n_folds})
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
    n_done, n_subsets = len(held.fold_paths), 0
    if not hasattr(held.selector, "predict"):  # a linear model for each subset of each fold
        for path, match in zip(held.fold_paths, held.matches, strict=True):
            n_subsets += len({path[at].support.tobytes() for at in match if path[at].n_features})
    n_all = 0 if held.all_features is None else n_done
    return held, {"all_rows": 1, "folds": n_done, "all_features": n_all, "subsets": n_subsets}


def write_results(
    entry: Entry,
    facts: Mapping[str, Any],
    dataset: Dataset,
    folder: Path,
    console: Console,
    reduced: DataRequest | None = None,
) -> None:
    """Write the output folder, with the reduced file of a request, and show the selection."""
    data = None
    if reduced is not None:  # the selected features and the columns that are not features
        others = (find_column(dataset.raw, n) for n in (dataset.target, *reduced.roles.named))
        columns = dataset.plan.kept[entry.cut.support].tolist()
        columns += [place for place in others if place is not None]
        data = reduced_file(reduced.file, dataset.raw, columns, reduced.reading)
    rows, n_features = len(dataset.rows), len(dataset.plan.names)
    more = {
        "method": facts["method"],
        "target_type": dataset.target_type,
        "target": dataset.target,
        "data": {"file": facts["file"], "rows": rows, "features": n_features},
        "notes": facts.get("notes", []),
        "seed": facts["seed"],
        **({"test": facts["test"]} if "test" in facts else {}),
        "fits": fits_document(facts["fits"]),
        "seconds": facts["seconds"],
        "command": command_line(),
    }
    document = selection_document(entry, more)
    document |= write_selection(folder, entry, document, force=console.force, data=data)
    console.result(document, *selection_shown(document))


def score_test_rows(
    test: TestRows,
    selector: Any,
    facts: Mapping[str, Any],
    dataset: Dataset,
    seed: int,
    console: Console,
) -> dict[str, Any]:
    """Score the selected and all features on another file by the method's own or a linear model."""
    y, weight, tasks = dataset.fit_arguments
    kind = dataset.target_type
    train = read_rows(dataset.features.X, y, target_type=kind, sample_weight=weight, tasks=tasks)
    selection = selector.selection_
    name = None if selection.score is None else selection.score.metric
    metric = metric_for(None if name is None or name.startswith(RELATIVE) else name, train, name)

    def score(model: Any, X: Any) -> dict[str, Any]:
        fitted = model if test.tasks is None else TaskModel(model, test.tasks)
        losses = metric.evaluate(fitted, X, test.y, np.ones(len(test.y)))
        return asdict(metric.score([losses]))

    scorer = StepScorer(selector, None, train, metric, seed)
    console.message(f"Fitting a model with all features, for the rows of {test.file}.")
    with console.warnings_as_messages(), interrupts_end_the_command():
        if hasattr(selector, "predict"):
            n_fits, of_selected = 1, score(selector, test.X)
        else:
            model = scorer.fit_all(train, selection.support)
            n_fits, of_selected = 2, score(model, select_columns(test.X, selection.support))
        of_all = {**score(scorer.fit_all(train), test.X), "model": scorer.name_of_all}
    scores = {"file": test.file, "rows": len(test.y), **of_selected, "all_features": of_all}
    return {"test": scores, "fits": {**facts["fits"], "test": n_fits}}
