"""``secateur select``: which features of a file to keep, and the score with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from secateur.cli import options
from secateur.cli.console import with_exit_codes
from secateur.cli.options import option, with_option_classes

if TYPE_CHECKING:
    from secateur.cli.data import DataRequest
    from secateur.cli.selection import Result
    from secateur.storage.reading.dataset import Dataset


@with_exit_codes
@with_option_classes
def select(
    data: options.Data,
    target: options.Target = None,
    keep: Annotated[
        list[str] | None,
        option(options.SELECTION, "Features that are always selected, at no cost."),
    ] = None,
    task_column: Annotated[
        str | None, option(options.COLUMNS, "The task of each row, for --method multitask.")
    ] = None,
    test: Annotated[
        Path | None, option(options.VALIDATION, "A file of further rows, scored at the end.")
    ] = None,
    out: options.Out = None,
    write_data: Annotated[
        bool,
        option(
            options.OUTPUT, "Write the reduced file too, in the format of DATA.", "--write-data"
        ),
    ] = False,
    *,
    method: options.MethodOptions,
    costs: options.CostOptions,
    columns: options.ColumnOptions,
    validation: options.ValidationOptions,
    reading: options.ReadingOptions,
    scaling: options.ScalingOptions,
    output: options.OutputOptions,
) -> None:
    """Select features of DATA and write selection, path, names and report into a folder.

    Scores come from nested cross-validation: the whole selection is repeated in each fold without
    the held-out rows.
    """
    from secateur.cli.cluster import executor_of
    from secateur.cli.data import DataRequest, load, load_stored, read_feature_costs
    from secateur.cli.output import check_folder, free_name
    from secateur.data.memory import resolve_limit
    from secateur.storage.reading.dataset import read_test
    from secateur.storage.reading.formats import check_file, kind_of_name

    kept = options.split_names(keep)
    request = DataRequest.of(data, target, columns, reading, keep=kept, tasks=task_column)
    check_file(data)
    folder = out or free_name(Path(f"{kind_of_name(data.name).stem}-selection"))
    check_folder(folder, force=output.force)
    resolve_limit(scaling.memory_limit)  # raises before any work
    console, seed = output.console, validation.seed
    with executor_of(scaling, console) as executor:
        dataset = load_stored(
            request, console, scaling, executor, method.method, validation, write_data=write_data
        ) or load(request, console, method.method)
        feature_costs, notes = read_feature_costs(dataset, costs, kept)
        console.message(*notes)
        rows = None if test is None else read_test(test, dataset, request.reading, task_column)
        # slow to import: by now everything that is wrong with the files has been reported
        from secateur.cli.methods import build_selector, notes_on_bins
        from secateur.cli.selection import score_test_rows, select_features, write_results

        selector = build_selector(method, dataset, feature_costs, seed, validation.jobs)
        on_bins = notes_on_bins(selector, method)
        console.message(*on_bins)
        result = select_features(selector, dataset, feature_costs, validation, console)
        scores = None
        if rows is not None:
            scores, result = score_test_rows(rows, result, dataset, seed, console)
        facts = {"file": data.name, "method": method.method, "seed": seed, "test": scores}
        facts["notes"] = [*dataset.notes, *notes, *on_bins]
        reduced = _reduced_file(request, dataset, result) if write_data else None
        write_results(result, dataset, folder, console, facts, force=output.force, data=reduced)


def _reduced_file(request: DataRequest, dataset: Dataset, result: Result) -> tuple[str, bytes]:
    """The file with the selected features and the columns that are not features."""
    from secateur.storage.reading.dataset import find_column
    from secateur.storage.reading.read_file import reduced_file

    roles = request.roles
    named = (dataset.target, roles.weight, roles.time, roles.group, roles.tasks)
    others = [find_column(dataset.raw, name) for name in named if name is not None]
    selected = dataset.plan.kept[dataset.features.sources[result.selection.support]].tolist()
    columns = [*selected, *(place for place in others if place is not None)]
    return reduced_file(request.file, dataset.raw, columns, request.reading)
