"""The options that commands share, in dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

SELECTION = "Selection"
READING = "Reading the file"
COLUMNS = "Columns that are not features"
VALIDATION = "Cross-validation"
OUTPUT = "Output"
SCALING = "Large files and clusters"


def with_option_classes(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose options are also the fields of its dataclass parameters.

    >>> def fit(file: str, *, scaling: ScalingOptions) -> str:
    ...     return f"{file} on {scaling.workers} workers"
    >>> list(inspect.signature(with_option_classes(fit)).parameters)
    ['file', 'memory_limit', 'cache', 'dask', 'workers']
    """
    signature = inspect.signature(command, eval_str=True)
    kinds = {name: each.annotation for name, each in signature.parameters.items()}
    classes: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}

    @wraps(command)
    def expanded(**given: Any) -> Any:
        for name, kind in classes.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        return command(**given)

    listed: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name not in classes:
            listed.append(parameter)
            continue
        hints, only = get_type_hints(classes[name]), inspect.Parameter.KEYWORD_ONLY
        for each in fields(classes[name]):
            default, kind = each.metadata["option"], hints[each.name]
            listed.append(inspect.Parameter(each.name, only, default=default, annotation=kind))
    # inspect reads the first, typer the second
    changed: Any = expanded
    changed.__signature__ = signature.replace(parameters=listed)
    changed.__annotations__ = {each.name: each.annotation for each in listed}
    return expanded


def option(
    panel: str | None, description: str, *names: str, default: Any = None, **more: Any
) -> Any:
    """A field that is an option in a panel of the help."""
    shown = typer.Option(default, *names, help=description, rich_help_panel=panel, **more)
    return field(default=default, metadata={"option": shown})


flag = partial(option, default=False)


def show_version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """The option of the command itself."""
    if version:
        from secateur import __version__

        typer.echo(f"secateur {__version__}")
        raise typer.Exit


class TargetType(StrEnum):
    """The type of the target."""

    classification = "classification"
    regression = "regression"
    ranking = "ranking"


Data = Annotated[
    Path,
    typer.Argument(help="CSV, TSV, Parquet, Feather, LIBSVM or NPZ, also .gz, .bz2, .xz, .zst."),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="The output folder.", rich_help_panel=OUTPUT)
]


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """The method, its limits and its parameters."""

    method: str | None = option(
        SELECTION,
        "auto (several are tried), agbm, gbfs, gtgbm, multitask, fg, grafting, featboost, iis. "
        "Default: auto; agbm with --penalty or --set, for rankings and tables on disk.",
    )
    for_model: str | None = option(
        SELECTION, "The model that features are for: trees (default), linear or knn."
    )
    time_limit: float | None = option(SELECTION, "Seconds for the selection.", min=1e-3)
    max_features: int | None = option(SELECTION, "The largest number of features.", min=1)
    budget: float | None = option(SELECTION, "The largest total cost of features.", min=0)
    penalty: float | None = option(SELECTION, "One penalty instead of a search.", min=0)
    cut: str | None = option(SELECTION, "one-se (default), best, elbow or a number.")
    settings: list[str] | None = option(
        SELECTION, "A parameter: name=value. Can be repeated.", "--set"
    )


@dataclass(frozen=True, slots=True)
class CostOptions:
    """Costs and groups of features, and features that cost nothing."""

    keep: list[str] | None = option(SELECTION, "Features that are always selected, at no cost.")
    costs: Path | None = option(SELECTION, "A file of feature,cost lines.")
    feature_groups: Path | None = option(
        SELECTION, "A file of feature,group lines: a group is paid for once."
    )
    cost_unit: str = option(SELECTION, "The unit of costs.", default="")


@dataclass(frozen=True, slots=True)
class DataOptions:
    """What the columns are for, and how the file is read."""

    target: str | None = option(
        None, "The target column. Not needed for LIBSVM files.", "--target", "-y"
    )
    weight: str | None = option(COLUMNS, "The column of sample weights.")
    drop: list[str] | None = option(COLUMNS, "Columns to ignore: a,b,c.")
    target_type: TargetType | None = option(COLUMNS, "The type of the target; guessed by default.")
    time_column: str | None = option(VALIDATION, "Test on later rows than those used for training.")
    group_column: str | None = option(VALIDATION, "Rows with the same value stay in one fold.")
    query_column: str | None = option(COLUMNS, "The query of each row, for learning to rank.")
    delimiter: str | None = option(READING, "Guessed by default; '\\t' for tabs.")
    header: bool | None = option(READING, "The first line holds names.", "--header/--no-header")
    encoding: str | None = option(READING, "Guessed by default.")


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Cross-validation."""

    cv: int | None = option(VALIDATION, "Number of folds: 5, or 3 above 5,000 rows.", min=2)
    scoring: str | None = option(
        VALIDATION, "log_loss, accuracy, squared_error, ndcg@10 or any scorer of scikit-learn."
    )
    seed: int = option(VALIDATION, "Seed of all random numbers.", min=0, default=0)
    jobs: int | None = option(VALIDATION, "Threads; all cores by default.")


@dataclass(frozen=True, slots=True)
class ScalingOptions:
    """Memory, tables on disk, and clusters."""

    memory_limit: str | None = option(
        SCALING,
        "For example 800MB; larger tables are stored on disk. Default: half of the free memory.",
    )
    cache: Path | None = option(SCALING, "A folder that keeps tables on disk for later runs.")
    dask: str | None = option(SCALING, "Use the Dask scheduler at tcp://10.0.0.1:8786.")
    workers: int | None = option(SCALING, "Number of local worker processes.", min=1)


def split_names(given: list[str] | None) -> tuple[str, ...]:
    """Names separated by commas, in one option or several.

    >>> split_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for part in given or () for name in part.split(",") if name.strip())
