"""``secateur select``: which columns of a file to keep, and what that costs in accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options, tables
from secateur.cli.ending import ends_well

if TYPE_CHECKING:
    from secateur.cli.loading import DataRequest
    from secateur.files.dataset import Dataset

CHOOSING = "What is chosen"


@ends_well
def select(
    data: options.Data,
    target: options.Target = None,
    method: Annotated[
        str,
        typer.Option(
            help="agbm, gbfs, gtgbm, fg, grafting, featboost, iis.", rich_help_panel=CHOOSING
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
    groups: Annotated[
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
    drop: options.Drop = None,
    weight: options.Weight = None,
    task: options.Task = None,
    cv: options.Folds = None,
    time_column: options.TimeColumn = None,
    group_column: options.GroupColumn = None,
    scoring: options.Scoring = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="A file of further rows that judge at the end.", rich_help_panel=options.JUDGING
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    encoding: options.Encoding = None,
    memory_limit: tables.MemoryLimit = None,
    cache: tables.Cache = None,
    dask: tables.DaskAddress = None,
    workers: tables.Workers = None,
    out: options.Out = None,
    write_data: Annotated[
        bool,
        typer.Option(
            "--write-data",
            help="Write the reduced file too, in the format of DATA.",
            rich_help_panel=options.WRITING,
        ),
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose columns of DATA and write selection, path, names and report into a folder.

    Scores are held out: the whole selection is repeated without the rows that judge it.
    """
    from secateur.cli.building import Wish
    from secateur.cli.loading import DataRequest
    from secateur.cli.talking import Talk

    request = DataRequest.of(
        data,
        target=target,
        task=task,
        weight=weight,
        time=time_column,
        group=group_column,
        keep=options.split_names(keep),
        drop=options.split_names(drop),
        delimiter=delimiter,
        header=header,
        encoding=encoding,
    )
    wish = Wish(method, max_features, budget, penalty, cut, tuple(settings or ()))
    talk = Talk(as_json=as_json, quiet=quiet)
    room = tables.Room(memory_limit, cache, dask, workers)
    _Selecting(request, wish, talk, room).run(
        prices=(costs, groups, cost_unit),
        judging=(cv, scoring, seed, jobs),
        output=(out, write_data, force),
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
        prices: tuple[Path | None, Path | None, str],
        judging: tuple[int | None, str | None, int, int | None],
        output: tuple[Path | None, bool, bool],
        test: Path | None,
    ) -> None:
        from secateur._data.reading.opening import check_file
        from secateur.cli.folder import check_folder, free_name

        check_file(self.request.file)
        out, write_data, force = output
        folder = out or free_name(Path(f"{_stem(self.request.file)}-selection"))
        check_folder(folder, force=force)
        self.room.limit()  # complains before any work
        with self.room.executor(self.talk) as executor:
            dataset = self._load(executor, judging, write_data=write_data)
            self._work(dataset, prices, judging, (folder, write_data, force), test)

    def _work(
        self,
        dataset: Dataset,
        prices: tuple[Path | None, Path | None, str],
        judging: tuple[int | None, str | None, int, int | None],
        output: tuple[Path, bool, bool],
        test: Path | None,
    ) -> None:
        from secateur.cli.pricing import read_prices

        folder, write_data, force = output
        costs, notes = read_prices(
            dataset, prices[0], prices[1], self.request.roles.keep, prices[2]
        )
        self.talk.notes(notes)
        # slow to load: what is wrong with the files has been said by now
        from secateur.cli.building import build_selector, judging_folds
        from secateur.cli.work import Judging, conclude, judge_on, select_features

        cv, scoring, seed, jobs = judging
        selector = build_selector(self.wish, dataset, costs, seed, jobs)
        how = Judging(judging_folds(dataset, cv), scoring, seed, jobs)
        outcome = select_features(selector, dataset, costs, how, self.talk)
        more = self._told(dataset, seed, notes)
        if test is not None:
            more["test"] = judge_on(test, outcome, dataset, self.request)
        reduced = self._reduced(dataset, outcome) if write_data else None
        conclude(
            outcome, folder, self.talk, title=dataset.target, more=more, force=force, data=reduced
        )

    def _load(self, executor: Any, judging: Any, *, write_data: bool) -> Dataset:
        from secateur.cli.loading import load, told
        from secateur.cli.tables import load_stored

        _, _, seed, jobs = judging
        stored = load_stored(
            self.request,
            self.talk,
            self.room,
            executor,
            method=self.wish.method,
            seed=seed,
            jobs=jobs,
            write_data=write_data,
        )
        if stored is not None:
            return told(stored, self.request, self.talk)

        def needs_numbers() -> bool:
            from secateur.cli.methods import takes_categories

            return not takes_categories(self.wish.method)

        return load(self.request, self.talk, needs_numbers)

    def _told(self, dataset: Dataset, seed: int, notes: list[str]) -> dict[str, Any]:
        rows, columns = len(dataset.rows), len(dataset.features.names)
        return {
            "method": self.wish.method,
            "task": dataset.task,
            "target": dataset.target,
            "data": {"file": self.request.file.name, "rows": rows, "features": columns},
            "notes": [*dataset.notes, *notes],
            "seed": seed,
        }

    def _reduced(self, dataset: Dataset, outcome: Any) -> tuple[str, bytes]:
        from secateur.files.writing import reduced_bytes, reduced_name

        columns = kept_columns(dataset, self.request.roles, outcome.selection.support)
        content = reduced_bytes(self.request.file, dataset.raw, columns, self.request.reading)
        return reduced_name(dataset.raw), content


def kept_columns(dataset: Dataset, roles: Any, support: Any) -> list[int]:
    """Positions, in the file, of the chosen features and of the columns with a use of their own."""
    from secateur.files.dataset import find_column

    named = (dataset.target, roles.weight, roles.time, roles.group)
    own = [find_column(dataset.raw, name) for name in named if name is not None]
    sources = dataset.features.sources[support]
    return [*dataset.plan.kept[sources].tolist(), *(place for place in own if place is not None)]


def _stem(file: Path) -> str:
    from secateur._data.reading.formats import kind_of_name

    return kind_of_name(file.name).stem
