"""The options that commands share, in dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from secateur.cli.console import Console

SELECTION = "Selection"
READING = "Reading the file"
COLUMNS = "Columns that are not features"
VALIDATION = "Cross-validation"
OUTPUT = "Output"
SCALING = "Large files and clusters"


def with_option_classes(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose options are also the fields of its dataclass parameters.

    >>> def greet(name: str, *, output: OutputOptions) -> str:
    ...     return name if output.quiet else f"{name}!"
    >>> list(inspect.signature(with_option_classes(greet)).parameters)
    ['name', 'force', 'as_json', 'quiet']
    """
    signature = inspect.signature(command, eval_str=True)
    classes = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def expanded(**given: Any) -> Any:
        for name, kind in classes.items():
            own = {each.name: given.pop(each.name) for each in fields(kind) if each.name in given}
            given[name] = kind(**own)  # type: ignore[operator]  # a class, as is_dataclass has seen
        return command(**given)

    listed = [
        option
        for parameter in signature.parameters.values()
        for option in _options(parameter, classes.get(parameter.name))
    ]
    # inspect reads the first, typer the second
    expanded.__signature__ = signature.replace(parameters=listed)  # type: ignore[attr-defined]
    expanded.__annotations__ = {option.name: option.annotation for option in listed}
    return expanded


def _options(parameter: inspect.Parameter, kind: Any) -> list[inspect.Parameter]:
    if kind is None:
        return [parameter]
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(kind)
    ]


def option(panel: str, description: str, *names: str, **more: Any) -> Any:
    """An option in a panel of the help."""
    return typer.Option(*names, help=description, rich_help_panel=panel, **more)


def _version(wanted: bool) -> None:
    if wanted:
        from secateur import __version__

        typer.echo(f"secateur {__version__}")
        raise typer.Exit


def show_version(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """The option of the command itself."""
    del version


class TargetTypeOption(StrEnum):
    """The type of the target."""

    classification = "classification"
    regression = "regression"


Data = Annotated[
    Path,
    typer.Argument(help="CSV, TSV, Parquet, Feather, LIBSVM or NPZ, also .gz, .bz2, .xz, .zst."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-y", help="The column to predict; LIBSVM files have one."),
]
Out = Annotated[Path | None, option(OUTPUT, "The output folder.", "--out", "-o")]


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """The method, its limits and its parameters."""

    method: Annotated[
        str, option(SELECTION, "agbm, gbfs, gtgbm, multitask, fg, grafting, featboost, iis.")
    ] = "agbm"
    max_features: Annotated[
        int | None, option(SELECTION, "The largest number of features.", min=1)
    ] = None
    budget: Annotated[
        float | None, option(SELECTION, "The largest total cost of features.", min=0)
    ] = None
    penalty: Annotated[
        float | None, option(SELECTION, "One penalty instead of a search.", min=0)
    ] = None
    cut: Annotated[str | None, option(SELECTION, "one-se (default), best, elbow or a number.")] = (
        None
    )
    settings: Annotated[
        list[str] | None, option(SELECTION, "name=value of any parameter.", "--set")
    ] = None


@dataclass(frozen=True, slots=True)
class CostOptions:
    """Costs and groups of features."""

    costs: Annotated[Path | None, option(SELECTION, "A file of feature,cost lines.")] = None
    feature_groups: Annotated[
        Path | None, option(SELECTION, "A file of feature,group lines: a group is paid for once.")
    ] = None
    cost_unit: Annotated[str, option(SELECTION, "The unit of costs.")] = ""


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """Columns that are not features."""

    weight: Annotated[str | None, option(COLUMNS, "The column of sample weights.")] = None
    drop: Annotated[list[str] | None, option(COLUMNS, "Columns to ignore: a,b,c.")] = None
    target_type: Annotated[
        TargetTypeOption | None, option(COLUMNS, "The type of the target; guessed by default.")
    ] = None
    time_column: Annotated[
        str | None, option(VALIDATION, "Test on later rows than those used for training.")
    ] = None
    group_column: Annotated[
        str | None, option(VALIDATION, "Rows with the same value stay in one fold.")
    ] = None


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Cross-validation."""

    cv: Annotated[
        int | None, option(VALIDATION, "Number of folds: 5, or 3 above 5,000 rows.", min=2)
    ] = None
    scoring: Annotated[
        str | None,
        option(VALIDATION, "log_loss, accuracy, squared_error or any scorer of scikit-learn."),
    ] = None
    seed: Annotated[int, option(VALIDATION, "Seed of all random numbers.", min=0)] = 0
    jobs: Annotated[int | None, option(VALIDATION, "Threads; all cores by default.")] = None


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How the file is read."""

    delimiter: Annotated[str | None, option(READING, "Guessed by default; '\\t' for tabs.")] = None
    header: Annotated[
        bool | None, option(READING, "Whether the first line holds names.", "--header/--no-header")
    ] = None
    encoding: Annotated[str | None, option(READING, "Guessed by default.")] = None


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """What is written, and whether results may be replaced."""

    force: Annotated[bool, option(OUTPUT, "Replace existing results.", "--force")] = False
    as_json: Annotated[bool, option(OUTPUT, "Print one JSON document.", "--json")] = False
    quiet: Annotated[bool, option(OUTPUT, "Print results and errors only.", "--quiet", "-q")] = (
        False
    )

    @property
    def console(self) -> Console:
        """The console that these options ask for."""
        return Console(as_json=self.as_json, quiet=self.quiet)


@dataclass(frozen=True, slots=True)
class ScalingOptions:
    """Memory, tables on disk, and clusters."""

    memory_limit: Annotated[
        str | None,
        option(SCALING, "As 800MB: larger tables go to disk. Default: half of the free memory."),
    ] = None
    cache: Annotated[
        Path | None, option(SCALING, "A folder that keeps tables on disk for later runs.")
    ] = None
    dask: Annotated[
        str | None, option(SCALING, "Use the Dask scheduler at tcp://10.0.0.1:8786.")
    ] = None
    workers: Annotated[
        int | None, option(SCALING, "Use so many processes of this machine.", min=1)
    ] = None


def split_names(given: list[str] | None) -> tuple[str, ...]:
    """Names separated by commas, in one option or several.

    >>> split_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for part in given or () for name in part.split(",") if name.strip())
