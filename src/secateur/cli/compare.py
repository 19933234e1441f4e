"""``secateur compare``: the honest race of methods on one file."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import Talk, metered
from secateur.cli.documents import command_line, finite, score_document
from secateur.cli.exit import ended_by_interrupts, ends_well
from secateur.cli.folder import whole_folder
from secateur.cli.job import Judging
from secateur.cli.options import unbundled
from secateur.cli.show import written
from secateur.exceptions import InputError

if TYPE_CHECKING:
    from secateur.model_selection.comparison import Comparison
    from secateur.storage.reading.dataset import Dataset


FORMAT = "secateur.race"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Race:
    """Who races, who judges, and where trials are kept."""

    methods: str | None
    validators: str | None
    sizes: list[int] | None
    time_limit: float | None
    kept: Path


def trials_file(folder: Path, *, resume: bool, force: bool) -> Path:
    """Where finished trials are kept until the folder is written: beside it."""
    file = folder.absolute().with_name(f"{folder.name}.trials.json")
    if file.exists() and not resume:
        if not force:
            raise InputError(
                f"{file.name} holds the trials of an interrupted race. Got neither --resume nor "
                "--force. Go on from it with --resume, or begin again with --force."
            )
        file.unlink()
    return file


def run_race(dataset: Dataset, race: Race, judging: Judging, talk: Talk) -> Comparison:
    """Try every method on every fold, and keep what is done."""
    from secateur.model_selection.compare import compare

    said: set[tuple[str, str]] = set()

    def tell(trial: Any, done: int, total: int) -> None:
        meter.parts(done, total)
        if not trial.is_done and (trial.method, trial.message) not in said:
            said.add((trial.method, trial.message))
            talk.note(f"{trial.method}, fold {trial.fold + 1}: {trial.status}. {trial.message}")

    talk.note("Racing: each method chooses inside each fold, the rows left out judge.")
    try:
        with (
            talk.warned(),
            ended_by_interrupts(),
            metered("Racing", 1, quiet=talk.quiet) as meter,
        ):
            comparison = compare(
                dataset.features.X,
                dataset.y,
                race.methods,
                validators=race.validators,
                cv=judging.cv,
                sizes=race.sizes,
                target_type=dataset.target_type,
                scoring=judging.scoring,
                groups=dataset.group,
                sample_weight=dataset.weight,
                time_limit=race.time_limit,
                resume=race.kept,
                on_trial=tell,
                random_state=judging.seed,
                n_jobs=judging.jobs,
            )
    except KeyboardInterrupt:
        if race.kept.exists():
            talk.note(f"Finished trials are kept in {race.kept.name}: --resume goes on from there.")
        raise
    return replace(comparison, feature_names=dataset.features.names)


def conclude_race(
    comparison: Comparison, folder: Path, kept: Path, dataset: Dataset, talk: Talk, *, force: bool
) -> None:
    """Write the folder of results, whole or not at all, and show who came first.

    A race that no method finished is written too, and is an error.
    """
    from rich.text import Text

    document = race_document(comparison, dataset)
    names = _write(comparison, folder, document, force=force)
    with suppress(OSError):
        kept.unlink(missing_ok=True)  # all of it is in comparison.json now
    document |= {"folder": str(folder), "files": names}
    talk.result(document, comparison, Text(str(comparison)), written(folder, names))
    if not any(trial.is_done for trial in comparison.trials):
        raise InputError(
            f"A race needs a method that comes to its end. Got none; the first said: "
            f"{comparison.failures[0].message} Name other --methods, or allow more time."
        )


def race_document(comparison: Comparison, dataset: Dataset) -> dict[str, Any]:
    """All that a program may want to know of a race."""
    rows, columns = dataset.features.X.shape
    return {
        "format": FORMAT,
        "version": VERSION,
        "sentences": str(comparison),
        "target_type": comparison.target_type,
        "target": dataset.target,
        "metric": comparison.metric,
        "greater_is_better": comparison.greater_is_better,
        "data": {"rows": rows, "features": columns},
        "notes": list(dataset.notes),
        "ranks": [{"method": r.method, "mean": r.mean} for r in comparison.ranks()],
        "methods": {name: _method(comparison, name) for name in comparison.methods},
        "failures": [
            {"method": t.method, "fold": t.fold, "status": str(t.status), "message": t.message}
            for t in comparison.failures
        ],
        "seed": comparison.seed,
        "versions": dict(comparison.versions),
        "command": command_line(),
    }


def _method(comparison: Comparison, name: str) -> dict[str, Any]:
    agreed = comparison.stability()[name]
    points = [
        {
            "validator": curve.validator,
            "size": point.size,
            "n_features": finite(point.n_features),
            **(score_document(point.score) or {}),
        }
        for curve in comparison.curves()
        if curve.method == name
        for point in (*curve.points, *([curve.own] if curve.own else []))
    ]
    return {
        "seconds": finite(comparison.seconds()[name].median),
        "stability": finite(agreed.index),
        "stability_interval": [finite(agreed.low), finite(agreed.high)],
        "scores": points,
    }


def _write(
    comparison: Comparison, folder: Path, document: dict[str, Any], *, force: bool
) -> list[str]:
    from secateur.report import write_page

    rows = comparison.to_rows()
    with whole_folder(folder, force=force) as draft:
        comparison.save(draft / "comparison.json")
        text = json.dumps(document, allow_nan=False, indent=2)
        (draft / "race.json").write_text(text + "\n", encoding="utf-8")
        with (draft / "scores.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]) if rows else ["method"])
            writer.writeheader()
            writer.writerows(rows)
        about = {"command": document["command"]}
        write_page(draft / "report.html", [], comparison=comparison, about=about)
        return sorted(file.name for file in draft.iterdir())


RACING = "Who races"


@ends_well
@unbundled
def compare(
    data: options.Data,
    target: options.Target = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Parted by commas: agbm, gbfs, gtgbm, fg, grafting, featboost, iis, f_classif, "
            "f_regression, mutual_info, mrmr, l1, rfecv, boruta, cegb, random, all.",
            rich_help_panel=RACING,
        ),
    ] = None,
    validators: Annotated[
        str | None,
        typer.Option(
            help="The models that judge: logistic (or ridge), knn, trees.", rich_help_panel=RACING
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="The most features to ask for, as 1,5,20.", rich_help_panel=RACING),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds for one method on one fold.", rich_help_panel=RACING),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from an interrupted race.", rich_help_panel=RACING),
    ] = False,
    out: options.Out = None,
    task_column: Annotated[str | None, typer.Option("--task-column", hidden=True)] = None,
    *,
    rows: options.RowOptions,
    judging: options.JudgingOptions,
    reading: options.ReadingOptions,
    talking: options.TalkingOptions,
) -> None:
    """Race methods on DATA: selection inside the folds, scores by several models.

    A method that fails or takes too long is reported, and the others go on. Finished trials are
    kept beside the folder of results until it is written.
    """
    _refuse_tasks(task_column)
    from secateur.cli.console import Talk
    from secateur.cli.data import DataRequest, load
    from secateur.cli.folder import check_folder, free_name
    from secateur.cli.job import Judging, judging_folds

    request = DataRequest.of(data, target, rows, reading)
    talk = Talk(as_json=talking.as_json, quiet=talking.quiet)
    folder = out or free_name(Path(f"{data.name.partition('.')[0]}-comparison"))
    check_folder(folder, force=talking.force)
    _check_size(data)
    kept = trials_file(folder, resume=resume, force=talking.force)
    race = Race(methods, validators, _sizes(sizes), time_limit or None, kept)
    dataset = load(request, talk, lambda: False)
    how = Judging.of(judging, judging_folds(dataset, judging.cv))
    comparison = run_race(dataset, race, how, talk)
    conclude_race(comparison, folder, kept, dataset, talk, force=talking.force)


def _check_size(file: Path) -> None:
    """A race has its rows in memory; what cannot fit is refused before it is read."""
    from secateur.data.memory import require_memory
    from secateur.storage.reading.formats import check_file
    from secateur.storage.reading.read_file import needed_memory

    check_file(file)
    require_memory(
        needed_memory(file),
        f"The rows of {file.name}, which a race has in memory,",
        "Race on a part of the rows, or use secateur select, which can do with a table on disk.",
    )


def _refuse_tasks(task_column: str | None) -> None:
    """Those who know `select --task-column` try it here."""
    if task_column is not None:
        raise typer.BadParameter(
            f"a race is about one task; got '--task-column' {task_column}. Leave the option out to "
            "race with the task as one more column; or use 'secateur select --method "
            "multitask --task-column', which tells what each task needs."
        )


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = options.split_names([text])
    if not parts or not all(part.isdigit() and int(part) for part in parts):
        raise typer.BadParameter(f"'--sizes' must be whole numbers, as 1,5,20; got {text!r}.")
    return [int(part) for part in parts]
