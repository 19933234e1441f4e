"""A selection from data to output folder: nested cross-validation, evidence, test file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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

if TYPE_CHECKING:
    from secateur.data.costs import FeatureCosts
    from secateur.model_selection.held_out import HeldOut
    from secateur.model_selection.rows import Rows
    from secateur.model_selection.scorers import Metric
    from secateur.path import Selection, SelectionPath
    from secateur.report import Evidence
    from secateur.storage.reading.dataset import Dataset, TestRows


@dataclass(frozen=True, slots=True)
class Fits:
    """How many models are fitted, and for what.

    >>> print(Fits(folds=5, all_features=5).sentence)
    11 fits: 1 on all rows, 5 in folds, 5 of all features in folds.
    """

    all_rows: int = 1
    folds: int = 0
    all_features: int = 0
    subsets: int = 0
    test: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(asdict(self).values())

    @property
    def sentence(self) -> str:
        """The numbers in words."""
        words = {
            "all_rows": "on all rows",
            "folds": "in folds",
            "all_features": "of all features in folds",
            "subsets": "of a linear model on a subset in folds",
            "test": "on all rows for the test file",
        }
        parts = [f"{n} {words[name]}" for name, n in asdict(self).items() if n]
        return f"{self.total} fits: {', '.join(parts)}."

    def document(self) -> dict[str, Any]:
        """The numbers for JSON."""
        return {"total": self.total, **asdict(self), "sentence": self.sentence}

    @classmethod
    def of(cls, held: HeldOut) -> Fits:
        """The fits of a nested cross-validation.

        A selector that predicts nothing has a linear model for each subset of each fold.
        """
        n_folds = len(held.fold_paths)
        subsets = [
            {path[at].support.tobytes() for at in match if path[at].n_features}
            for path, match in zip(held.fold_paths, held.matches, strict=True)
        ]
        return cls(
            folds=n_folds,
            all_features=n_folds if held.all_features is not None else 0,
            subsets=0 if hasattr(held.selector, "predict") else sum(map(len, subsets)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a selection gives."""

    path: SelectionPath
    selection: Selection
    evidence: Evidence
    selector: Any
    fits: Fits
    seconds: float


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
    from secateur.model_selection.held_out import held_out
    from secateur.selectors.progress import listened

    y, weight, tasks = dataset.fit_arguments
    start = perf_counter()
    folds = folds_of(dataset, validation.cv)
    planned = planned_fits(folds, len(dataset.y))
    more = "" if hasattr(selector, "predict") else " And a linear model for each subset in folds."
    console.message(f"Selecting features by nested cross-validation. {planned.sentence}{more}")
    with (
        console.warnings_as_messages(),
        interrupts_end_the_command(),
        console.progress("Selecting", planned.total) as progress,
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
    path, selection = _named(held, dataset.features.names)
    with console.warnings_as_messages():
        evidence = _evidence(dataset, path, selection, costs, held)
    return Result(path, selection, evidence, held.selector, Fits.of(held), perf_counter() - start)


def planned_fits(folds: Any, n_rows: int) -> Fits:
    """The fits that are known beforehand.

    >>> [planned_fits(folds, 100).total for folds in (None, 2, [([0], [1])])]
    [11, 5, 3]
    """
    from secateur.model_selection.folds import MANY_ROWS

    if folds is None:
        folds = max(2, min(n_rows // 2, 5 if n_rows <= MANY_ROWS else 3))
    n_folds = folds if isinstance(folds, int) else len(folds)
    return Fits(folds=n_folds, all_features=n_folds)


def _named(held: HeldOut, names: tuple[str, ...]) -> tuple[SelectionPath, Selection]:
    """Path and selection with the names of the file, which a matrix does not have."""
    chosen = held.selector.selection_
    of_chosen = tuple(names[feature] for feature in chosen.support.tolist())
    return replace(held.path, feature_names=names), replace(chosen, names=of_chosen)


def _evidence(
    dataset: Dataset,
    path: SelectionPath,
    selection: Selection,
    costs: FeatureCosts | None,
    held: HeldOut,
) -> Evidence:
    from secateur.model_selection.rows import TEST_SAMPLE_SEED
    from secateur.report import gather_evidence
    from secateur.storage.stored_table import sample_stored

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
    folder: Path,
    console: Console,
    *,
    title: str,
    more: Mapping[str, Any],
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> None:
    """Write the output folder and show the selection."""
    more = {
        **more,
        "fits": result.fits.document(),
        "seconds": round(result.seconds, 3),
        "command": command_line(),
    }
    path, selection, evidence = result.path, result.selection, result.evidence
    document = selection_document(path, selection, evidence, more)
    names = write_selection(
        folder, path, selection, evidence, document, title=title, force=force, data=data
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
    from secateur.model_selection.fold_scores import StepScorer
    from secateur.model_selection.rows import read_rows

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
    return scores, replace(result, fits=replace(result.fits, test=n_fits))


def _metric(result: Result, train: Rows) -> Metric:
    """The metric of the scores of the path."""
    from secateur.model_selection.scorers import RELATIVE, metric_for

    score = result.selection.score
    name = None if score is None else score.metric
    scoring = None if name is None or name.startswith(RELATIVE) else name
    return metric_for(scoring, train, name)


def _score(model: Any, X: Any, metric: Metric, test: TestRows) -> dict[str, Any]:
    from secateur.model_selection.rows import TaskModel

    if test.tasks is not None:
        model = TaskModel(model, test.tasks)
    losses = metric.evaluate(model, X, test.y, np.ones(len(test.y)))
    return score_document(metric.score([losses])) or {}


def _model_of_selected(result: Result, train: Rows, test: TestRows) -> tuple[Any, Any]:
    """A model with the selected features, and the columns that it needs."""
    from secateur.data.frames import select_columns
    from secateur.model_selection.validators import linear_model

    if hasattr(result.selector, "predict"):
        return result.selector, test.X
    support = result.selection.support
    model = train.fit(linear_model(train.target_type, is_sparse=train.is_sparse), support)
    return model, select_columns(test.X, support)
