"""Verification of an answer by nested cross-validation: how it repeats on rows it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from secateur.cli.console import Console
from secateur.cli.methods import TIME_FOLDS
from secateur.cli.options import ValidationOptions
from secateur.model_selection.encoding import over_columns
from secateur.model_selection.folds import default_outer_folds
from secateur.path import SelectionPath
from secateur.path.step import count_of
from secateur.selectors.progress import listened
from secateur.storage.reading.dataset import Dataset
from secateur.typing import IntArray

if TYPE_CHECKING:
    from secateur.model_selection.held_out import HeldOut

OPTIMISTIC = "Scores are those of the search itself, on rows that took part in choosing a step."


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A selector fitted to all rows of a table X, whose columns were made of those of the file."""

    selector: Any  # of one method
    X: Any
    sources: IntArray | None
    fits: Mapping[str, int]
    auto: Any = None  # the selector that chose the method
    is_interrupted: bool = False

    def path(self, names: tuple[str, ...]) -> SelectionPath:
        """The path over the columns of the file."""
        return over_columns(self.selector.path_, self.sources, names)


def folds_of(dataset: Dataset, cv: int | None) -> Any:
    """The folds: a number, or those that test on later rows where there is a time column."""
    if dataset.time is None:
        return cv
    from sklearn.model_selection import TimeSeriesSplit

    return list(TimeSeriesSplit(cv or TIME_FOLDS).split(dataset.y))


def n_folds_of(dataset: Dataset, validation: ValidationOptions) -> int:
    """How many folds there are."""
    folds = folds_of(dataset, validation.cv) or default_outer_folds(len(dataset.y))
    return len(folds) if isinstance(folds, list) else int(folds)


def verify_answer(
    answer: Answer, dataset: Dataset, validation: ValidationOptions, console: Console
) -> HeldOut:
    """Held-out scores of all steps; the fit to all rows is not repeated."""
    from secateur.model_selection.held_out import held_out

    console.message(
        f"Verifying in {n_folds_of(dataset, validation)} folds that the selection repeats without "
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
            cv=folds_of(dataset, validation.cv),
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
