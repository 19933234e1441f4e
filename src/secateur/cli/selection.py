"""A selection from data to output folder: the answer first, then nested cross-validation of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from secateur.cli.console import Console, interrupts_end_the_command
from secateur.cli.methods import TIME_FOLDS, folds_of
from secateur.cli.options import ValidationOptions
from secateur.data.costs import FeatureCosts
from secateur.exceptions import SecateurError
from secateur.model_selection.candidates import NAMES
from secateur.model_selection.encoding import over_columns
from secateur.model_selection.folds import default_outer_folds, outer_folds, read_seed
from secateur.model_selection.rows import Rows, fit_clone, read_metric, read_rows
from secateur.path import Selection, SelectionPath, StopReason
from secateur.path.step import count_of, listed
from secateur.selectors.progress import listened
from secateur.storage.reading.dataset import Dataset, TestRows, find_column
from secateur.typing import IntArray

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
OPTIMISTIC = "Scores are those of the search itself, on rows that took part in choosing a step."


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


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A selector fitted to all rows of a table X, whose columns were made of those of the file."""

    selector: Any  # of one method
    X: Any
    sources: IntArray | None
    fits: Mapping[str, int]
    auto: Any = None  # the selector that chose the method
    is_interrupted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SelectionRun:
    """What a selection is made from, and the console that shows it."""

    selector: Any
    dataset: Dataset
    costs: FeatureCosts | None
    validation: ValidationOptions
    console: Console
    verify: bool = True

    @property
    def cv(self) -> Any:
        """The outer folds, as `held_out` takes them."""
        return folds_of(self.dataset, self.validation.cv)

    @property
    def n_folds(self) -> int:
        """How many outer folds there are."""
        folds = self.cv or default_outer_folds(len(self.dataset.y))
        return len(folds) if isinstance(folds, list) else int(folds)

    def select(self) -> tuple[Entry, Answer, dict[str, Any]]:
        """Fit to all rows, show the answer, verify it in folds: entry of the report, answer, facts.

        Ctrl-C after the answer keeps what is known by then.
        """
        start = perf_counter()
        rows = self._read_rows(self.dataset.features.X, groups=self.dataset.group)
        read_metric(self.validation.scoring, rows.target_type)  # these raise before any work
        if self.verify:
            outer_folds(rows, self.cv, read_seed(self.validation.seed))
        self._say_plan()
        answer = self._answered(rows)
        held, is_interrupted, failure = None, answer.is_interrupted, ""
        if self.verify and not is_interrupted:
            try:
                held = self._verified(answer)
                is_interrupted = held.all_features is None
            except KeyboardInterrupt:
                is_interrupted = True
            except SecateurError as error:  # for instance too few rows of a class: the answer stays
                failure = str(error)
        entry, first = self._entry(answer, held), answer.selector
        n_first = self._in_file(first.path_, answer)[first.selection_.index].n_features
        facts: dict[str, Any] = {
            "fits": {**answer.fits, **({} if held is None else fits_in(held))},
            "verification": verification_document(
                held, self.n_folds if self.verify else 0, n_first, entry.cut.n_features, failure
            ),
            "is_interrupted": is_interrupted,
        }
        if answer.auto is not None:
            facts["comparison"] = _comparison(answer.auto)
        facts["seconds"] = round(perf_counter() - start, 3)
        return entry, answer if held is None else replace(answer, selector=held.selector), facts

    def _read_rows(self, X: Any, groups: Any = None) -> Rows:
        y, weight, tasks = self.dataset.fit_arguments
        facts: dict[str, Any] = {"tasks": tasks, "groups": groups, "qid": self.dataset.query}
        kind = self.dataset.target_type
        return read_rows(X, y, target_type=kind, sample_weight=weight, **facts)

    def _in_file(self, path: SelectionPath, answer: Answer) -> SelectionPath:
        """A path over the columns of the file."""
        return over_columns(path, answer.sources, self.dataset.plan.names)

    def _say_plan(self) -> None:
        """Say how many fits there will be, and which is the first to give an answer."""
        planned, selector, dataset = {"all_rows": 1}, self.selector, self.dataset
        is_auto = hasattr(selector, "for_model")
        if is_auto:
            from secateur.model_selection.validators import labelled
            from secateur.selectors.auto import OUTER_FOLDS, default_candidates

            names = selector.candidates or default_candidates(*dataset.features.X.shape)
            n_outer = OUTER_FOLDS if dataset.time is None else TIME_FOLDS
            planned["comparison"] = len(labelled(names)) * n_outer + 1
        if self.verify:
            planned |= {"folds": self.n_folds, "all_features": self.n_folds}
        sentence = fits_document(planned)["sentence"]
        sentence = f"At most {sentence}" if is_auto else sentence
        if self.verify and not hasattr(selector, "predict"):
            sentence += " And a linear model for each subset in folds."
        self.console.message(f"Selecting features. {sentence}")

    def _answered(self, rows: Rows) -> Answer:
        """Fit to all rows and show the answer as soon as there is one."""
        selector, dataset, console = self.selector, self.dataset, self.console
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
            shown = f"{head} of {name} on all rows after {seconds:.1f} s: {selection.sentence}"
            with bar.paused():
                console.answer(shown, f"Features: {listed(chosen, MAX_NAMES)}.")

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
                    fitted = fit_clone(selector, rows, self.validation.seed, self.validation.jobs)
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

    def _verified(self, answer: Answer) -> HeldOut:
        """Held-out scores of all steps; the fit to all rows is not repeated."""
        from secateur.model_selection.held_out import held_out

        dataset, validation, console = self.dataset, self.validation, self.console
        console.message(
            f"Verifying in {self.n_folds} folds that the selection repeats without "
            "the rows that score it. Ctrl-C keeps the answer."
        )
        y, weight, tasks = dataset.fit_arguments
        with (
            console.warnings_as_messages(),
            console.progress("Verifying", 1) as progress,
            listened(progress.within),
        ):
            return held_out(
                clone(answer.selector),
                answer.X,
                y,
                cv=self.cv,
                groups=dataset.group,
                task=tasks,
                qid=dataset.query,
                sample_weight=weight,
                scoring=validation.scoring,
                random_state=validation.seed,
                n_jobs=validation.jobs,
                on_fit=progress.done,
                fitted=answer.selector,
            )

    def _entry(self, answer: Answer, held: HeldOut | None) -> Entry:
        """What the report shows: the path with its scores, the selection, and what the data say."""
        from secateur.data.tasks import read_queries
        from secateur.model_selection.rows import TEST_SAMPLE_SEED
        from secateur.report import Entry, gather_evidence
        from secateur.storage.reading.plan import without_indicators
        from secateur.storage.sampled_rows import sample_stored

        dataset, shown = self.dataset, answer.selector if held is None else held.selector
        path = self._in_file(shown.path_, answer)
        fold_paths = () if held is None else held.fold_paths
        selection = path.cut(shown.selection_.chooser)
        X, y = dataset.features.X, dataset.y
        if dataset.is_stored:
            queries = None if dataset.query is None else read_queries(dataset.query)
            sample = sample_stored(X, TEST_SAMPLE_SEED, queries=queries)
            X, y = sample.X, y[sample.rows]
        if dataset.is_encoded:
            X = without_indicators(dataset.plan, X, dataset.features.sources)
        with self.console.warnings_as_messages():
            evidence = gather_evidence(
                X,
                y,
                path,
                target_type=dataset.target_type,
                costs=self.costs,
                fold_paths=[self._in_file(each, answer) for each in fold_paths],
                all_features=None if held is None else held.all_features,
                all_features_model="" if held is None else held.all_features_model,
                selection=selection,
                selector=None if dataset.is_stored or dataset.is_encoded else shown,
            )
        return Entry(dataset.target, path, selection, replace(evidence, n_rows=len(dataset.y)))

    def score_test_rows(
        self, test: TestRows, answer: Answer, facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Score the selected and all features on another file, by the own or a linear model."""
        from secateur.data.frames import select_columns
        from secateur.data.tasks import read_queries
        from secateur.model_selection.rows import RELATIVE, TaskModel, metric_for
        from secateur.model_selection.validators import StepScorer

        train, selector, X = self._read_rows(answer.X), answer.selector, test.X
        selection = selector.selection_
        if answer.auto is not None and answer.auto.encoder_ is not None:
            X = answer.auto.encoder_.transform(X)
        name = None if selection.score is None else selection.score.metric
        is_relative = name is not None and name.startswith(RELATIVE)
        metric = metric_for(None if is_relative else name, train, name)

        def score(model: Any, rows: Any) -> dict[str, Any]:
            fitted = model if test.tasks is None else TaskModel(model, test.tasks)
            queries = None if test.query is None else read_queries(test.query)
            losses = metric.evaluate(fitted, rows, test.y, np.ones(len(test.y)), queries)
            return asdict(metric.score([losses]))

        scorer = StepScorer(selector, None, train, metric, self.validation.seed)
        self.console.message(f"Fitting a model with all features, for the rows of {test.file}.")
        with self.console.warnings_as_messages(), interrupts_end_the_command():
            if hasattr(selector, "predict"):
                n_fits, of_selected = 1, score(selector, X)
            else:
                model = scorer.fit_all(train, selection.support)
                n_fits, of_selected = 2, score(model, select_columns(X, selection.support))
            of_all = {**score(scorer.fit_all(train), X), "model": scorer.name_of_all}
        scores = {"file": test.file, "rows": len(test.y), **of_selected, "all_features": of_all}
        return {"test": scores, "fits": {**facts["fits"], "test": n_fits}}

    def write(
        self,
        entry: Entry,
        facts: Mapping[str, Any],
        folder: Path,
        reduced: DataRequest | None = None,
    ) -> None:
        """Write the output folder, with the reduced file of a request, and show the selection."""
        from secateur.cli.documents import command_line, selection_document, selection_shown
        from secateur.cli.output import write_selection
        from secateur.storage.reading.read_file import reduced_file

        dataset, data = self.dataset, None
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
            **{
                name: facts[name]
                for name in ("test", "comparison", "verification")
                if name in facts
            },
            "fits": fits_document(facts["fits"]),
            "seconds": facts["seconds"],
            "command": command_line(),
        }
        document = selection_document(entry, more)
        document |= write_selection(folder, entry, document, force=self.console.force, data=data)
        self.console.result(document, *selection_shown(document))
        if facts.get("is_interrupted"):
            raise KeyboardInterrupt  # all that is known is written: the exit code says the rest


def fits_in(held: HeldOut) -> dict[str, int]:
    """How many models were fitted in the folds, by the names in `FITS`."""
    n_done, n_subsets = len(held.fold_paths), 0
    if not hasattr(held.selector, "predict"):  # a linear model for each subset of each fold
        for path, match in zip(held.fold_paths, held.matches, strict=True):
            n_subsets += len({path[at].support.tobytes() for at in match if path[at].n_features})
    n_all = 0 if held.all_features is None else n_done
    return {"folds": n_done, "all_features": n_all, "subsets": n_subsets}


def verification_document(
    held: HeldOut | None, n_folds: int, n_first: int, n_features: int, failure: str = ""
) -> dict[str, Any]:
    """How far the selection was verified, in words too; no folds mean that none was asked for."""
    n_done = 0 if held is None else len(held.folds)
    status = "complete" if held is not None and held.all_features is not None else "interrupted"
    if n_folds == 0:
        status, words = "skipped", f"Not verified, as --no-verify was given. {OPTIMISTIC}"
    elif failure:
        status, words = "failed", f"Not verified: {failure} {OPTIMISTIC}"
    elif status == "complete":
        words = f"Verified by nested cross-validation in {count_of(n_done, 'fold')}."
    elif n_done:
        words = f"Verification was interrupted: scores are from {n_done} of {n_folds} folds."
    else:
        words = f"Not verified: the command was interrupted. {OPTIMISTIC}"
    if n_done and n_first != n_features:
        words += f" The held-out scores choose {n_features} instead of the {n_first} first shown."
    return {"status": status, "folds": n_done, "planned": n_folds, "sentence": words}


def _comparison(auto: Any) -> dict[str, Any]:
    """What became of the candidates."""
    from secateur.model_selection.candidates import candidates_document

    return {
        "winner": auto.winner_,
        "sentence": auto.sentence_,
        "candidates": candidates_document(auto.candidates_),
        "table": [candidate.row() for candidate in auto.candidates_],
    }
