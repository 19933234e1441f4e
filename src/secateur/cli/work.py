"""A selection from beginning to end: folds, path, evidence, test rows, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from secateur.cli.bar import metered
from secateur.cli.documents import command_line, selection_document
from secateur.cli.ending import ended_by_interrupts
from secateur.cli.folder import whole_folder
from secateur.cli.showing import selection_shown, test_words, written
from secateur.cli.talking import Talk
from secateur.path import wording

if TYPE_CHECKING:
    from secateur._data.costs import FeatureCosts
    from secateur.cli.options import JudgingOptions
    from secateur.evaluation import HeldOut
    from secateur.files.dataset import Dataset
    from secateur.path import Selection, SelectionPath
    from secateur.report import Evidence


@dataclass(frozen=True, slots=True)
class Judging:
    """How subsets are judged."""

    cv: Any = None
    scoring: str | None = None
    seed: int = 0
    jobs: int | None = None

    @classmethod
    def of(cls, options: JudgingOptions, folds: Any) -> Judging:
        """As it stands on the command line, with the folds that follow from it."""
        return cls(folds, options.scoring, options.seed, options.jobs)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a selection leaves behind."""

    path: SelectionPath
    selection: Selection
    evidence: Evidence
    selector: Any
    seconds: float


def select_features(
    selector: Any, dataset: Dataset, costs: FeatureCosts | None, judging: Judging, talk: Talk
) -> Outcome:
    """Fit the selector to all rows and inside each fold, and gather what a report needs."""
    from secateur.evaluation import held_out
    from secateur.selectors.progress import listened

    X, names = dataset.features.X, dataset.features.names
    y, weight, tasks = dataset.beside
    start = perf_counter()
    talk.note("Selecting, on all rows and again without those that judge.")
    with (
        talk.warned(),
        ended_by_interrupts(),
        metered("Selecting", n_fits(judging.cv, len(dataset.y)), quiet=talk.quiet) as meter,
        listened(meter.within),
    ):
        held = held_out(
            selector,
            X,
            y,
            cv=judging.cv,
            groups=dataset.group,
            task=tasks,
            sample_weight=weight,
            scoring=judging.scoring,
            random_state=judging.seed,
            n_jobs=judging.jobs,
            on_fit=meter.parts,
        )
    path, selection = _named(held, names)
    with talk.warned():
        evidence = _evidence(dataset, path, selection, costs, held)
    return Outcome(path, selection, evidence, held.selector, perf_counter() - start)


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
    held: Any,
) -> Evidence:
    from secateur.report import gather_evidence

    X, y = seen_rows(dataset)
    evidence = gather_evidence(
        X,
        y,
        path,
        task=dataset.task,
        costs=costs,
        fold_paths=held.fold_paths,
        all_features=held.all_features,
        selection=selection,
    )
    return replace(evidence, n_rows=len(dataset.y))


def seen_rows(dataset: Dataset) -> tuple[Any, Any]:
    """The rows that a report looks at: all, or those of a table on disk that are in memory."""
    from secateur._data.stored_rows import sample_stored
    from secateur.evaluation.rows import JUDGING_SEED

    if not dataset.is_stored:
        return dataset.features.X, dataset.y
    sample = sample_stored(dataset.features.X, JUDGING_SEED)
    return sample.X, dataset.y[sample.rows]


def n_fits(cv: Any, n_rows: int) -> int:
    """How many fits there will be: one to all rows, two in each fold, one of them all columns.

    >>> n_fits(None, 100), n_fits(2, 100), n_fits([([0], [1])], 2)
    (11, 5, 3)
    """
    from secateur.evaluation.folds import MANY_ROWS

    if cv is None:
        cv = 5 if n_rows <= MANY_ROWS else 3
    return 1 + 2 * (cv if isinstance(cv, int) else len(cv))


def conclude(
    outcome: Outcome,
    folder: Path,
    talk: Talk,
    *,
    title: str,
    more: Mapping[str, Any],
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> None:
    """Write the folder of results, whole or not at all, and show what was chosen."""
    told = {**more, "seconds": round(outcome.seconds, 3), "command": command_line()}
    document = selection_document(outcome.path, outcome.selection, outcome.evidence, told)
    names = write_results(
        folder, outcome.path, outcome.selection, outcome.evidence, document, title, force, data
    )
    document |= {"folder": str(folder), "files": names}
    talk.result(document, *selection_shown(document), written(folder, names))


def write_results(
    folder: Path,
    path: SelectionPath,
    selection: Selection,
    evidence: Evidence | None,
    document: Mapping[str, Any],
    title: str,
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> list[str]:
    """Write selection, path, names and page into a folder; give the names of the files."""
    import json

    from secateur.path.storing import save_path
    from secateur.report import Entry, write_page

    with whole_folder(folder, force=force) as draft:
        saved = None if evidence is None else evidence.to_json()
        save_path(path, draft / "path.json", evidence=saved, rule=selection.chooser)
        text = json.dumps(document, allow_nan=False, indent=2)
        (draft / "selection.json").write_text(text + "\n", encoding="utf-8")
        lines = "".join(f"{name}\n" for name in _one_line(selection.names))
        (draft / "features.txt").write_text(lines, encoding="utf-8")
        entry = Entry(title, path, selection, evidence)
        write_page(draft / "report.html", [entry], about=_about(document))
        if data is not None:
            (draft / data[0]).write_bytes(data[1])
        return sorted(file.name for file in draft.iterdir())


def _about(document: Mapping[str, Any]) -> dict[str, str]:
    """What the page tells of the file and the command, in words."""
    told = {}
    if "data" in document:
        data = document["data"]
        told["data"] = f"{data['file']}: {data['rows']} rows, {wording.features(data['features'])}"
    if document.get("notes"):
        told["what was done to the file"] = " ".join(document["notes"])
    if document.get("test"):
        told["other rows"] = test_words(document["test"])
    if "command" in document:
        told["command"] = document["command"]
    return told


def _one_line(names: tuple[str, ...]) -> list[str]:
    """Names as lines of a file: line breaks inside them become spaces."""
    return [" ".join(name.splitlines()) for name in names]
