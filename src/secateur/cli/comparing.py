"""``secateur compare``: the honest race of methods on one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.cli import options
from secateur.cli.bundling import unbundled
from secateur.cli.ending import ends_well

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
    from secateur.cli.building import judging_folds
    from secateur.cli.folder import check_folder, free_name
    from secateur.cli.loading import DataRequest, load
    from secateur.cli.racing import Race, conclude_race, run_race, trials_file
    from secateur.cli.talking import Talk
    from secateur.cli.work import Judging

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
    from secateur._data.memory import require_memory
    from secateur._data.reading.opening import check_file
    from secateur.files.estimating import needed_memory

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
