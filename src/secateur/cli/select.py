"""``secateur select``: which features of a file to keep, and the score with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from secateur.cli import options
from secateur.cli.console import Console, with_exit_codes
from secateur.cli.options import option, with_option_classes

if TYPE_CHECKING:
    from secateur.cli.data import DataRequest
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
    from secateur.cli.data import DataRequest
    from secateur.cli.output import check_folder, free_name
    from secateur.data.memory import resolve_limit
    from secateur.storage.reading.formats import check_file, kind_of_name

    kept = options.split_names(keep)
    request = DataRequest.of(data, target, columns, reading, keep=kept, tasks=task_column)
    check_file(data)
    folder = out or free_name(Path(f"{kind_of_name(data.name).stem}-selection"))
    check_folder(folder, force=output.force)
    resolve_limit(scaling.memory_limit)  # raises before any work
    console = output.console
    with executor_of(scaling, console) as executor:
        run = _Run(request, method, validation, console)
        dataset = run.load(scaling, executor, write_data=write_data)
        run.select(dataset, costs, test, folder, write_data=write_data, force=output.force)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the command."""

    request: DataRequest
    method: options.MethodOptions
    validation: options.ValidationOptions
    console: Console

    def load(self, scaling: options.ScalingOptions, executor: Any, *, write_data: bool) -> Dataset:
        """Read the data into memory, or write them to a table on disk."""
        from secateur.cli.data import load, load_stored

        stored = load_stored(
            self.request,
            self.console,
            scaling,
            executor,
            method=self.method.method,
            seed=self.validation.seed,
            jobs=self.validation.jobs,
            write_data=write_data,
        )
        if stored is not None:
            return stored

        def needs_numbers() -> bool:
            from secateur.cli.methods import takes_categories

            return not takes_categories(self.method.method)

        return load(self.request, self.console, needs_numbers)

    def select(
        self,
        dataset: Dataset,
        cost_options: options.CostOptions,
        test: Path | None,
        folder: Path,
        *,
        write_data: bool,
        force: bool,
    ) -> None:
        """Select features, score them on the test file, and write the results."""
        from secateur.cli.data import read_feature_costs
        from secateur.storage.reading.dataset import read_test

        files, unit = (cost_options.costs, cost_options.feature_groups), cost_options.cost_unit
        costs, notes = read_feature_costs(dataset, *files, self.request.roles.keep, unit)
        self.console.message(*notes)
        roles, reading, seed = self.request.roles, self.request.reading, self.validation.seed
        test_rows = None if test is None else read_test(test, dataset, reading, roles.tasks)
        # slow to import: by now everything that is wrong with the files has been reported
        from secateur.cli.methods import build_selector, notes_on_bins
        from secateur.cli.selection import score_test_rows, select_features, write_results

        selector = build_selector(self.method, dataset, costs, seed, self.validation.jobs)
        on_bins = notes_on_bins(selector, self.method)
        self.console.message(*on_bins)
        result = select_features(selector, dataset, costs, self.validation, self.console)
        more = self._facts(dataset, [*notes, *on_bins])
        if test_rows is not None:
            more["test"], result = score_test_rows(test_rows, result, dataset, seed, self.console)
        reduced = self._reduced_file(dataset, result.selection.support) if write_data else None
        title = dataset.target
        write_results(
            result, folder, self.console, title=title, more=more, force=force, data=reduced
        )

    def _facts(self, dataset: Dataset, notes: list[str]) -> dict[str, Any]:
        rows, n_features = len(dataset.rows), len(dataset.features.names)
        return {
            "method": self.method.method,
            "target_type": dataset.target_type,
            "target": dataset.target,
            "data": {"file": self.request.file.name, "rows": rows, "features": n_features},
            "notes": [*dataset.notes, *notes],
            "seed": self.validation.seed,
        }

    def _reduced_file(self, dataset: Dataset, support: Any) -> tuple[str, bytes]:
        """The file with the selected features and the columns that are not features."""
        from secateur.storage.reading.dataset import find_column
        from secateur.storage.reading.read_file import reduced_file

        roles = self.request.roles
        named = (dataset.target, roles.weight, roles.time, roles.group, roles.tasks)
        others = [find_column(dataset.raw, name) for name in named if name is not None]
        selected = dataset.plan.kept[dataset.features.sources[support]].tolist()
        columns = [*selected, *(place for place in others if place is not None)]
        return reduced_file(self.request.file, dataset.raw, columns, self.request.reading)
