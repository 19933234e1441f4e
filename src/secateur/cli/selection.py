"""A selection from data to output folder: the answer first, then nested cross-validation of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from secateur.cli.console import Console, interrupts_end_the_command
from secateur.cli.methods import TIME_FOLDS
from secateur.cli.options import ValidationOptions
from secateur.cli.verification import (
    Answer,
    fits_in,
    folds_of,
    n_folds_of,
    verification_document,
    verify_answer,
)
from secateur.data.costs import FeatureCosts
from secateur.exceptions import SecateurError
from secateur.model_selection.candidates import NAMES
from secateur.model_selection.encoding import over_columns
from secateur.model_selection.folds import outer_folds, read_seed
from secateur.model_selection.rows import Rows, fit_clone, read_metric, read_rows
from secateur.path import Selection, SelectionPath, StopReason
from secateur.path.step import count_of, listed
from secateur.selectors.progress import listened
from secateur.storage.reading.dataset import Dataset, TestRows, find_column

# what comes after the answer is imported after it

if TYPE_CHECKING:
    from secateur.cli.data import DataRequest
    from secateur.model_selection.held_out import HeldOut
    from secateur.report import Entry

FITS = {
    "all_rows": "on all rows",
    "comparison": "to compare methods",
    "folds": "in folds",
    "all_features": "of all features in folds",
    "subsets": "of a linear model on a subset in folds",
    "test": "on all rows for the test file",
}
MAX_NAMES = 40


def fits_document(fits: Mapping[str, int]) -> dict[str, Any]:
    """How many models are fitted, and for what, in numbers and words.

    >>> print(fits_document({"all_rows": 1, "folds": 5, "all_features": 5})["sentence"])
    11 fits: 1 on all rows, 5 in folds, 5 of all features in folds.
    """
    total = sum(fits.values())
    parts = [f"{fits[name]} {words}" for name, words in FITS.items() if fits.get(name)]
    numbers = {name: fits.get(name, 0) for name in FITS}
    noun = count_of(total, "fit")
    return {"total": total, **numbers, "sentence": f"{noun}: {', '.join(parts)}."}


def select_features(
    selector: Any,
    dataset: Dataset,
    costs: FeatureCosts | None,
    validation: ValidationOptions,
    console: Console,
    *,
    verify: bool = True,
) -> tuple[Entry, Answer, dict[str, Any]]:
    """Fit to all rows, show the answer, verify it in folds: entry of the report, answer, facts.

    Ctrl-C after the answer keeps what is known by then.
    """
    start = perf_counter()
    rows = _read_rows(dataset)
    read_metric(validation.scoring, dataset.target_type)  # these raise before any work
    if verify:
        outer_folds(rows, folds_of(dataset, validation.cv), read_seed(validation.seed))
    _say_plan(selector, dataset, validation, console, verify=verify)
    answer = _answered(selector, rows, dataset, validation, console)
    held, is_interrupted, failure = None, answer.is_interrupted, ""
    if verify and not is_interrupted:
        try:
            held = verify_answer(answer, dataset, validation, console)
            is_interrupted = held.all_features is None
        except KeyboardInterrupt:
            is_interrupted = True
        except SecateurError as error:  # for instance too few rows of a class: the answer stays
            failure = str(error)
    entry = _entry(answer, held, dataset, costs, console)
    facts: dict[str, Any] = {"fits": {**answer.fits, **({} if held is None else fits_in(held))}}
    first = answer.path(dataset.plan.names)[answer.selector.selection_.index].n_features
    n_folds = n_folds_of(dataset, validation) if verify else 0
    facts["verification"] = verification_document(
        held, n_folds, first, entry.cut.n_features, failure
    )
    if answer.auto is not None:
        facts["comparison"] = _comparison(answer.auto)
    facts |= {"is_interrupted": is_interrupted, "seconds": round(perf_counter() - start, 3)}
    if held is not None:
        answer = replace(answer, selector=held.selector)
    return entry, answer, facts


# ---- the fit to all rows --------------------------------------------------------------------


def _say_plan(
    selector: Any,
    dataset: Dataset,
    validation: ValidationOptions,
    console: Console,
    *,
    verify: bool,
) -> None:
    """Say how many fits there will be, and which is the first to give an answer."""
    planned, n_folds = {"all_rows": 1}, n_folds_of(dataset, validation)
    is_auto = hasattr(selector, "for_model")
    if is_auto:
        from secateur.model_selection.validators import labelled
        from secateur.selectors.auto import OUTER_FOLDS, default_candidates

        names = selector.candidates or default_candidates(*dataset.features.X.shape)
        n_outer = OUTER_FOLDS if dataset.time is None else TIME_FOLDS
        planned["comparison"] = len(labelled(names)) * n_outer + 1
    if verify:
        planned |= {"folds": n_folds, "all_features": n_folds}
    sentence = fits_document(planned)["sentence"]
    sentence = f"At most {sentence}" if is_auto else sentence
    more = "" if hasattr(selector, "predict") else " And a linear model for each subset in folds."
    console.message(f"Selecting features. {sentence}{more if verify else ''}")


def _read_rows(dataset: Dataset) -> Rows:
    y, weight, tasks = dataset.fit_arguments
    return read_rows(
        dataset.features.X,
        y,
        target_type=dataset.target_type,
        sample_weight=weight,
        groups=dataset.group,
        tasks=tasks,
        qid=dataset.query,
    )


def _answered(
    selector: Any, rows: Rows, dataset: Dataset, validation: ValidationOptions, console: Console
) -> Answer:
    """Fit to all rows and show the answer as soon as there is one."""
    names, started = dataset.plan.names, perf_counter()
    sources = dataset.features.sources if dataset.is_encoded else None
    n_answers = 0

    def show(method: str, path: SelectionPath, selection: Selection) -> None:
        nonlocal n_answers
        n_answers += 1
        head = "Answer" if n_answers == 1 else "The comparison chose another method: answer"
        path = over_columns(path, None, names)
        chosen = path.names_of(path[selection.index])
        name, seconds = NAMES.get(method, method), perf_counter() - started
        shown = f"{head} of {name} on all rows after {seconds:.1f} s: "
        with bar.paused():
            console.answer(shown + selection.sentence, f"Features: {listed(chosen, MAX_NAMES)}.")

    is_auto = hasattr(selector, "on_answer")
    with (
        console.warnings_as_messages(),
        console.progress("Selecting", 1) as bar,
        listened(bar.within),
    ):
        if is_auto:
            fitted = rows.fit(clone(selector).set_params(on_answer=show, on_interrupt="keep"))
        else:
            with interrupts_end_the_command():
                fitted = fit_clone(selector, rows, validation.seed, validation.jobs)
            path = over_columns(fitted.path_, sources, names)
            show(type(fitted).__name__, path, path.cut(fitted.selection_.chooser))
    if not is_auto:
        return Answer(fitted, rows.X, sources, {"all_rows": 1})
    X, encoder = rows.X, fitted.encoder_
    if encoder is not None:
        X, sources = encoder.transform(X), encoder.sources_
    return Answer(
        fitted.estimator_,
        X,
        sources,
        {"all_rows": 1, "comparison": fitted.n_fits_ - 1},
        fitted,
        is_interrupted=fitted.path_.stop_reason is StopReason.INTERRUPTED,
    )


# ---- what is written ------------------------------------------------------------------------


def _comparison(auto: Any) -> dict[str, Any]:
    """What became of the candidates."""
    from secateur.model_selection.candidates import candidates_document

    return {
        "winner": auto.winner_,
        "sentence": auto.sentence_,
        "candidates": candidates_document(auto.candidates_),
        "table": [candidate.row() for candidate in auto.candidates_],
    }


def _entry(
    answer: Answer,
    held: HeldOut | None,
    dataset: Dataset,
    costs: FeatureCosts | None,
    console: Console,
) -> Entry:
    """What the report shows: the path with its scores, the selection, and what the data say."""
    from secateur.model_selection.rows import TEST_SAMPLE_SEED
    from secateur.report import Entry, gather_evidence
    from secateur.storage.reading.plan import without_indicators
    from secateur.storage.stored_table import sample_stored

    names = dataset.plan.names
    chooser = (answer if held is None else held).selector.selection_.chooser
    path = answer.path(names) if held is None else over_columns(held.path, answer.sources, names)
    fold_paths = () if held is None else held.fold_paths
    selection = path.cut(chooser)
    X, y = dataset.features.X, dataset.y
    if dataset.is_stored:
        sample = sample_stored(X, TEST_SAMPLE_SEED)
        X, y = sample.X, y[sample.rows]
    if dataset.is_encoded:
        X = without_indicators(dataset.plan, X, dataset.features.sources)
    with console.warnings_as_messages():
        evidence = gather_evidence(
            X,
            y,
            path,
            target_type=dataset.target_type,
            costs=costs,
            fold_paths=[over_columns(each, answer.sources, names) for each in fold_paths],
            all_features=None if held is None else held.all_features,
            all_features_model="" if held is None else held.all_features_model,
            selection=selection,
        )
    return Entry(dataset.target, path, selection, replace(evidence, n_rows=len(dataset.y)))


def write_results(
    entry: Entry,
    facts: Mapping[str, Any],
    dataset: Dataset,
    folder: Path,
    console: Console,
    reduced: DataRequest | None = None,
) -> None:
    """Write the output folder, with the reduced file of a request, and show the selection."""
    from secateur.cli.documents import command_line, selection_document, selection_shown
    from secateur.cli.output import write_selection
    from secateur.storage.reading.read_file import reduced_file

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
        **{name: facts[name] for name in ("test", "comparison", "verification") if name in facts},
        "fits": fits_document(facts["fits"]),
        "seconds": facts["seconds"],
        "command": command_line(),
    }
    document = selection_document(entry, more)
    document |= write_selection(folder, entry, document, force=console.force, data=data)
    console.result(document, *selection_shown(document))
    if facts.get("is_interrupted"):
        raise KeyboardInterrupt  # all that is known is written: the exit code says the rest


def score_test_rows(
    test: TestRows,
    answer: Answer,
    facts: Mapping[str, Any],
    dataset: Dataset,
    seed: int,
    console: Console,
) -> dict[str, Any]:
    """Score the selected and all features on another file by the method's own or a linear model."""
    from secateur.data.frames import select_columns
    from secateur.data.tasks import read_queries
    from secateur.model_selection.rows import RELATIVE, TaskModel, metric_for
    from secateur.model_selection.validators import StepScorer

    y, weight, tasks = dataset.fit_arguments
    kind, selector = dataset.target_type, answer.selector
    of_rows = {"sample_weight": weight, "tasks": tasks, "qid": dataset.query}
    train = read_rows(answer.X, y, target_type=kind, **of_rows)
    selection, X = selector.selection_, test.X
    if answer.auto is not None and answer.auto.encoder_ is not None:
        X = answer.auto.encoder_.transform(X)
    name = None if selection.score is None else selection.score.metric
    metric = metric_for(None if name is None or name.startswith(RELATIVE) else name, train, name)

    def score(model: Any, rows: Any) -> dict[str, Any]:
        fitted = model if test.tasks is None else TaskModel(model, test.tasks)
        queries = None if test.query is None else read_queries(test.query)
        losses = metric.evaluate(fitted, rows, test.y, np.ones(len(test.y)), queries)
        return asdict(metric.score([losses]))

    scorer = StepScorer(selector, None, train, metric, seed)
    console.message(f"Fitting a model with all features, for the rows of {test.file}.")
    with console.warnings_as_messages(), interrupts_end_the_command():
        if hasattr(selector, "predict"):
            n_fits, of_selected = 1, score(selector, X)
        else:
            model = scorer.fit_all(train, selection.support)
            n_fits, of_selected = 2, score(model, select_columns(X, selection.support))
        of_all = {**score(scorer.fit_all(train), X), "model": scorer.name_of_all}
    scores = {"file": test.file, "rows": len(test.y), **of_selected, "all_features": of_all}
    return {"test": scores, "fits": {**facts["fits"], "test": n_fits}}
