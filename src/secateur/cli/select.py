"""``secateur select``: which columns of a file to keep, and what that costs in accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import data as tables
from secateur.cli import options
from secateur.cli.exit import ends_well
from secateur.cli.options import unbundled

if TYPE_CHECKING:
    from secateur.cli.data import DataRequest
    from secateur.storage.reading.dataset import Dataset
    from secateur.storage.reading.further import TestRows


CHOOSING = "What is chosen"


@ends_well
@unbundled
def select(
    data: options.Data,
    target: options.Target = None,
    method: Annotated[
        str,
        typer.Option(
            help="agbm, gbfs, gtgbm, multitask, fg, grafting, featboost, iis.",
            rich_help_panel=CHOOSING,
        ),
    ] = "agbm",
    max_features: Annotated[
        int | None, typer.Option(min=1, help="The most features.", rich_help_panel=CHOOSING)
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="The most that features may cost.", rich_help_panel=CHOOSING),
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(min=0, help="One penalty instead of a search.", rich_help_panel=CHOOSING),
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(help="one-se (default), best, elbow or a number.", rich_help_panel=CHOOSING),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="A file of feature,cost lines.", rich_help_panel=CHOOSING)
    ] = None,
    feature_groups: Annotated[
        Path | None,
        typer.Option(
            help="A file of feature,group lines: the first of a group pays for all.",
            rich_help_panel=CHOOSING,
        ),
    ] = None,
    cost_unit: Annotated[
        str, typer.Option(help="What costs are counted in.", rich_help_panel=CHOOSING)
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="name=value of any parameter.", rich_help_panel=CHOOSING),
    ] = None,
    keep: options.Keep = None,
    task_column: options.TaskColumn = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="A file of further rows that judge at the end.", rich_help_panel=options.JUDGING
        ),
    ] = None,
    out: options.Out = None,
    write_data: Annotated[
        bool,
        typer.Option(
            "--write-data",
            help="Write the reduced file too, in the format of DATA.",
            rich_help_panel=options.WRITING,
        ),
    ] = False,
    *,
    rows: options.RowOptions,
    judging: options.JudgingOptions,
    reading: options.ReadingOptions,
    room: tables.Room,
    talking: options.TalkingOptions,
) -> None:
    """Choose columns of DATA and write selection, path, names and report into a folder.

    Scores are held out: the whole selection is repeated without the rows that judge it.
    """
    from secateur.cli.console import Talk
    from secateur.cli.data import DataRequest
    from secateur.cli.job import Wish

    kept = options.split_names(keep)
    request = DataRequest.of(data, target, rows, reading, keep=kept, tasks=task_column)
    wish = Wish(method, max_features, budget, penalty, cut, tuple(settings or ()))
    talk = Talk(as_json=talking.as_json, quiet=talking.quiet)
    _Selecting(request, wish, talk, room).run(
        cost_files=(costs, feature_groups, cost_unit),
        judging=judging,
        output=(out, write_data, talking.force),
        test=test,
    )


class _Selecting:
    """The steps of the command, one after the other."""

    def __init__(self, request: DataRequest, wish: Any, talk: Any, room: tables.Room) -> None:
        self.request = request
        self.wish = wish
        self.talk = talk
        self.room = room

    def run(
        self,
        *,
        cost_files: tuple[Path | None, Path | None, str],
        judging: options.JudgingOptions,
        output: tuple[Path | None, bool, bool],
        test: Path | None,
    ) -> None:
        from secateur.cli.folder import check_folder, free_name
        from secateur.storage.reading.formats import check_file

        check_file(self.request.file)
        out, write_data, force = output
        folder = out or free_name(Path(f"{_stem(self.request.file)}-selection"))
        check_folder(folder, force=force)
        self.room.limit()  # complains before any work
        with self.room.executor(self.talk) as executor:
            dataset = self._load(executor, judging, write_data=write_data)
            self._work(dataset, cost_files, judging, (folder, write_data, force), test)

    def _work(
        self,
        dataset: Dataset,
        cost_files: tuple[Path | None, Path | None, str],
        judging: options.JudgingOptions,
        output: tuple[Path, bool, bool],
        test: Path | None,
    ) -> None:
        from secateur.cli.costs import read_feature_costs

        folder, write_data, force = output
        costs, notes = read_feature_costs(
            dataset, cost_files[0], cost_files[1], self.request.roles.keep, cost_files[2]
        )
        self.talk.notes(notes)
        further = None if test is None else self._further_rows(test, dataset)
        # slow to load: what is wrong with the files has been said by now
        from secateur.cli.data import judge_on
        from secateur.cli.job import (
            Judging,
            build_selector,
            conclude,
            judging_folds,
            select_features,
            told_of_bins,
        )

        selector = build_selector(self.wish, dataset, costs, judging.seed, judging.jobs)
        thrift = told_of_bins(selector, self.wish)
        self.talk.notes(thrift)
        how = Judging.of(judging, judging_folds(dataset, judging.cv))
        outcome = select_features(selector, dataset, costs, how, self.talk)
        more = self._told(dataset, judging.seed, [*notes, *thrift])
        if further is not None:
            more["test"] = judge_on(further, outcome, dataset, judging.seed, self.talk)
        reduced = self._reduced(dataset, outcome) if write_data else None
        conclude(
            outcome, folder, self.talk, title=dataset.target, more=more, force=force, data=reduced
        )

    def _load(self, executor: Any, judging: options.JudgingOptions, *, write_data: bool) -> Dataset:
        from secateur.cli.data import load, load_stored, told

        stored = load_stored(
            self.request,
            self.talk,
            self.room,
            executor,
            method=self.wish.method,
            seed=judging.seed,
            jobs=judging.jobs,
            write_data=write_data,
        )
        if stored is not None:
            return told(stored, self.request, self.talk)

        def needs_numbers() -> bool:
            from secateur.cli.methods import takes_categories

            return not takes_categories(self.wish.method)

        return load(self.request, self.talk, needs_numbers)

    def _further_rows(self, file: Path, dataset: Dataset) -> TestRows:
        from secateur.storage.reading.further import read_test

        return read_test(file, dataset, self.request.reading, self.request.roles.tasks)

    def _told(self, dataset: Dataset, seed: int, notes: list[str]) -> dict[str, Any]:
        rows, columns = len(dataset.rows), len(dataset.features.names)
        return {
            "method": self.wish.method,
            "target_type": dataset.target_type,
            "target": dataset.target,
            "data": {"file": self.request.file.name, "rows": rows, "features": columns},
            "notes": [*dataset.notes, *notes],
            "seed": seed,
        }

    def _reduced(self, dataset: Dataset, outcome: Any) -> tuple[str, bytes]:
        from secateur.storage.reading.read_file import reduced_file

        columns = kept_columns(dataset, self.request.roles, outcome.selection.support)
        return reduced_file(self.request.file, dataset.raw, columns, self.request.reading)


def kept_columns(dataset: Dataset, roles: Any, support: Any) -> list[int]:
    """Positions, in the file, of the chosen features and of the columns with a use of their own."""
    from secateur.storage.reading.dataset import find_column

    named = (dataset.target, roles.weight, roles.time, roles.group, roles.tasks)
    own = [find_column(dataset.raw, name) for name in named if name is not None]
    sources = dataset.features.sources[support]
    return [*dataset.plan.kept[sources].tolist(), *(place for place in own if place is not None)]


def _stem(file: Path) -> str:
    from secateur.storage.reading.formats import kind_of_name

    return kind_of_name(file.name).stem
