"""The options that commands share, each told once, and in bundles that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

READING = "How the file is read"
ROWS = "What the columns are for"
JUDGING = "How subsets are judged"
WRITING = "What is written"


class TaskOption(StrEnum):
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
Task = Annotated[
    TaskOption | None, typer.Option("--task", help="Overrules the guess.", rich_help_panel=ROWS)
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="The column of row weights.", rich_help_panel=ROWS),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", help="Columns to leave out: a,b,c.", rich_help_panel=ROWS),
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", help="Features that are always in, and free.", rich_help_panel=ROWS),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--group-column",
        help="Rows with the same value stay in one fold.",
        rich_help_panel=JUDGING,
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time-column",
        help="Folds are judged by later rows than those they learn from.",
        rich_help_panel=JUDGING,
    ),
]
TaskColumn = Annotated[
    str | None,
    typer.Option(
        "--task-column",
        help="Rows with the same value are one of several tasks, for --method multitask.",
        rich_help_panel=ROWS,
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--cv",
        min=2,
        help="Number of folds; five, or three for many rows.",
        rich_help_panel=JUDGING,
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        "--scoring",
        help="What counts: log_loss, accuracy, squared_error or any scorer of scikit-learn.",
        rich_help_panel=JUDGING,
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="All chance comes from it.", rich_help_panel=JUDGING)
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", help="Threads; all cores by default.", rich_help_panel=JUDGING),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Guessed otherwise; '\\t' for tabs.", rich_help_panel=READING),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line holds names.", rich_help_panel=READING
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="UTF-8 or Windows-1252 otherwise.", rich_help_panel=READING),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The folder of results.", rich_help_panel=WRITING),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace results that are there.", rich_help_panel=WRITING),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document, for machines.", rich_help_panel=WRITING),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Say results and errors only.", rich_help_panel=WRITING),
]


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What the columns are for that are no features."""

    weight: Weight = None
    drop: Drop = None
    task: Task = None
    time_column: TimeColumn = None
    group_column: GroupColumn = None


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """How subsets are judged."""

    cv: Folds = None
    scoring: Scoring = None
    seed: Seed = 0
    jobs: Jobs = None


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How the file is read."""

    delimiter: Delimiter = None
    header: Header = None
    encoding: Encoding = None


@dataclass(frozen=True, slots=True)
class TalkingOptions:
    """What is said, and whether results may be replaced."""

    force: Force = False
    as_json: Json = False
    quiet: Quiet = False


def split_names(given: list[str] | None) -> tuple[str, ...]:
    """Names that come parted by commas, in one option or several.

    >>> split_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for part in given or () for name in part.split(",") if name.strip())
