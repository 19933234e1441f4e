"""``secateur select``: which features of a file to keep, and the score with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.cli import options
from secateur.cli.console import Console
from secateur.cli.options import flag, option

if TYPE_CHECKING:
    from secateur.cli.data import DataRequest
    from secateur.cli.selection import Result
    from secateur.storage.reading.dataset import Dataset


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """The options of this command alone."""

    task_column: str | None = option(
        options.COLUMNS, "The task of each row, for --method multitask."
    )
    test: Path | None = option(options.VALIDATION, "A file of further rows, scored at the end.")
    write_data: bool = flag(
        options.OUTPUT, "Write the reduced file too, in the format of DATA.", "--write-data"
    )


def select(
    data: options.Data,
    *,
    method: options.MethodOptions,
    costs: options.CostOptions,
    own: SelectOptions,
    out: options.Out = None,
    given: options.DataOptions,
    validation: options.ValidationOptions,
    scaling: options.ScalingOptions,
    console: Console,
) -> None:
    """Select features of DATA and write selection, path, names and report into a folder.

    Scores come from nested cross-validation: the whole selection is repeated in each fold without
    the held-out rows.
    """
    from secateur.cli.cluster import executor_of
    from secateur.cli.data import DataRequest, load, load_stored, read_feature_costs
    from secateur.cli.output import reserved_folder
    from secateur.data.memory import resolve_limit
    from secateur.storage.reading.dataset import read_test
    from secateur.storage.reading.formats import check_file, kind_of_name

    tasks = own.task_column
    request = DataRequest.of(data, given, costs.keep, tasks)
    check_file(data)
    default = f"{kind_of_name(data.name).stem}-selection"
    resolve_limit(scaling.memory_limit)  # raises before any work
    with (
        reserved_folder(out, default, force=console.force, data=data) as folder,
        executor_of(scaling, console) as executor,
    ):
        dataset = load_stored(
            request, console, scaling, executor, method.method, validation, own.write_data
        ) or load(request, console, method.method)
        feature_costs, notes = read_feature_costs(dataset, costs, request.roles.keep)
        console.message(*notes)
        rows = None if own.test is None else read_test(own.test, dataset, request.reading, tasks)
        # slow to import: by now everything that is wrong with the files has been reported
        from secateur.cli.methods import build_selector, notes_on_bins
        from secateur.cli.selection import score_test_rows, select_features, write_results

        selector = build_selector(method, dataset, feature_costs, validation)
        on_bins = notes_on_bins(selector, method)
        console.message(*on_bins)
        result = select_features(selector, dataset, feature_costs, validation, console)
        if rows is not None:
            result = score_test_rows(rows, result, dataset, validation.seed, console)
        facts = {"file": data.name, "method": method.method, "seed": validation.seed}
        facts["notes"] = [*dataset.notes, *notes, *on_bins]
        reduced = _reduced_file(request, dataset, result) if own.write_data else None
        write_results(result, dataset, folder, console, facts, reduced)


def _reduced_file(request: DataRequest, dataset: Dataset, result: Result) -> tuple[str, bytes]:
    """The file with the selected features and the columns that are not features."""
    from secateur.storage.reading.dataset import find_column
    from secateur.storage.reading.read_file import reduced_file

    others = [find_column(dataset.raw, name) for name in (dataset.target, *request.roles.named)]
    selected = dataset.plan.kept[result.entry.cut.support].tolist()
    columns = [*selected, *(place for place in others if place is not None)]
    return reduced_file(request.file, dataset.raw, columns, request.reading)
