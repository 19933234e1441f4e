"""The options that commands share, each told once, and in bundles that belong together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer


def unbundled(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes the fields of its bundles instead of the bundles.

    A bundle is a parameter whose type is a dataclass with a default for every field.

    Parameters
    ----------
    command : callable
        With bundles among its keyword-only parameters.

    Examples
    --------
    >>> from secateur.cli.options import TalkingOptions
    >>> def greet(name: str, *, talking: TalkingOptions) -> str:
    ...     return name if talking.quiet else f"{name}!"
    >>> list(inspect.signature(unbundled(greet)).parameters)
    ['name', 'force', 'as_json', 'quiet']
    >>> unbundled(greet)(name="Ada", quiet=True)
    'Ada'
    """
    signature = inspect.signature(command, eval_str=True)
    bundles = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def taken_apart(**given: Any) -> Any:
        for name, kind in bundles.items():
            own = {each.name: given.pop(each.name) for each in fields(kind) if each.name in given}
            given[name] = kind(**own)  # type: ignore[operator]  # a class, as is_dataclass has seen
        return command(**given)

    listed = [
        option
        for parameter in signature.parameters.values()
        for option in _options(parameter, bundles.get(parameter.name))
    ]
    told = signature.replace(parameters=listed)
    taken_apart.__signature__ = told  # type: ignore[attr-defined]  # inspect looks for it
    taken_apart.__annotations__ = {option.name: option.annotation for option in listed}
    return taken_apart


def _options(parameter: inspect.Parameter, bundle: Any) -> list[inspect.Parameter]:
    if bundle is None:
        return [parameter]
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(bundle)
    ]


READING = "How the file is read"
ROWS = "What the columns are for"
JUDGING = "How subsets are judged"
WRITING = "What is written"


class TargetTypeOption(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


Data = Annotated[
    Path,
    typer.Argument(help="CSV, TSV, Parquet, Feather, LIBSVM or NPZ, also .gz, .bz2, .xz, .zst."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-y", help="The column to predict. LIBSVM files bring their own."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", help="Features that are always in, and free.", rich_help_panel=ROWS),
]
TaskColumn = Annotated[
    str | None,
    typer.Option(
        "--task-column",
        help="Rows with the same value are one of several tasks, for --method multitask.",
        rich_help_panel=ROWS,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The folder of results.", rich_help_panel=WRITING),
]


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What the columns are for that are no features."""

    weight: Annotated[
        str | None, typer.Option(help="The column of row weights.", rich_help_panel=ROWS)
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out: a,b,c.", rich_help_panel=ROWS),
    ] = None
    target_type: Annotated[
        TargetTypeOption | None, typer.Option(help="Overrules the guess.", rich_help_panel=ROWS)
    ] = None
    time_column: Annotated[
        str | None,
        typer.Option(
            help="Folds are judged by later rows than those they learn from.",
            rich_help_panel=JUDGING,
        ),
    ] = None
    group_column: Annotated[
        str | None,
        typer.Option(help="Rows with the same value stay in one fold.", rich_help_panel=JUDGING),
    ] = None


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """How subsets are judged."""

    cv: Annotated[
        int | None,
        typer.Option(
            min=2, help="Number of folds; five, or three for many rows.", rich_help_panel=JUDGING
        ),
    ] = None
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What counts: log_loss, accuracy, squared_error or any scorer of scikit-learn.",
            rich_help_panel=JUDGING,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(min=0, help="All chance comes from it.", rich_help_panel=JUDGING)
    ] = 0
    jobs: Annotated[
        int | None, typer.Option(help="Threads; all cores by default.", rich_help_panel=JUDGING)
    ] = None


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How the file is read."""

    delimiter: Annotated[
        str | None,
        typer.Option(help="Guessed otherwise; '\\t' for tabs.", rich_help_panel=READING),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line holds names.",
            rich_help_panel=READING,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="UTF-8 or Windows-1252 otherwise.", rich_help_panel=READING),
    ] = None


@dataclass(frozen=True, slots=True)
class TalkingOptions:
    """What is said, and whether results may be replaced."""

    force: Annotated[
        bool,
        typer.Option("--force", help="Replace results that are there.", rich_help_panel=WRITING),
    ] = False
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON document, for machines.", rich_help_panel=WRITING
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Say results and errors only.", rich_help_panel=WRITING),
    ] = False


def split_names(given: list[str] | None) -> tuple[str, ...]:
    """Names that come parted by commas, in one option or several.

    >>> split_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for part in given or () for name in part.split(",") if name.strip())
