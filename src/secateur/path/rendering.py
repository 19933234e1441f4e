"""A path shown: as plain rows, as a table on the console, as a table in a notebook.

The cells are made once, as text; the two tables only set them, so that names with markup in them
are shown and never obeyed.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from secateur.path import wording

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

    from secateur.path.path import SelectionPath
    from secateur.path.selection import Selection

MOST_ROWS = 40
MOST_NAMES = 6
MOST_CHOSEN = 60


def row_of(path: SelectionPath, index: int) -> dict[str, Any]:
    """Return one step as a plain dict, its details as ``details.<key>``."""
    step, score = path[index], path[index].score
    row: dict[str, Any] = {
        "step": index,
        "n_features": step.n_features,
        "cost": step.cost,
        "score": math.nan if score is None else score.mean,
        "spread": math.nan if score is None else score.spread,
        "metric": None if score is None else score.metric,
        "origin": None if score is None else score.origin,
        "control": step.control,
        "objective": step.objective,
        "seconds": step.seconds,
        "entered": list(path.entered(index)),
        "left": list(path.left(index)),
    }
    return row | {f"details.{key}": value for key, value in step.details.items()}


def summary(path: SelectionPath) -> str:
    """Return a path in a few words."""
    steps = "1 step" if len(path) == 1 else f"{len(path)} steps"
    if len(path) == 0:
        return f"{path.algorithm!r}, no steps, {path.stop_reason}"
    fewest, most = path.n_features.min(), path.n_features.max()
    span = f"{most}" if fewest == most else f"{fewest} to {most}"
    total = wording.features(path.n_features_in)
    return f"{path.algorithm!r}, {steps}, {span} of {total}, {path.stop_reason}"


def header(path: SelectionPath) -> tuple[str, ...]:
    """Return the heads of the table's columns."""
    score = next((step.score for step in path if step.score is not None), None)
    cost = f"cost ({path.cost_unit})" if path.cost_unit else "cost"
    heads = ("step", "features", cost, "score" if score is None else wording.kind(score))
    return (*heads, path.control_name, "entered")


def cells(path: SelectionPath, index: int) -> tuple[str, ...]:
    """Return the table's row for one step."""
    step = path[index]
    return (
        str(index),
        str(step.n_features),
        wording.amount(step.cost),
        wording.score_with_spread(step.score),
        wording.amount(step.control),
        _changes(path, index),
    )


def table(path: SelectionPath) -> list[tuple[str, ...]]:
    """Return the table's rows; the middle of a long path becomes one row of dots."""
    n_steps = len(path)
    if n_steps <= MOST_ROWS:
        return [cells(path, index) for index in range(n_steps)]
    half = MOST_ROWS // 2
    top = [cells(path, index) for index in range(half)]
    bottom = [cells(path, index) for index in range(n_steps - half, n_steps)]
    gap = ("…", *[""] * 4, f"({n_steps - 2 * half} more steps)")
    return [*top, gap, *bottom]


def path_to_rich(path: SelectionPath) -> Table:
    """Return the path as a table for rich."""
    heads = header(path)
    return rich_table(summary(path), heads, table(path), text_columns=(len(heads) - 1,))


def rich_table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text_columns: Sequence[int] = (),
) -> Table:
    """Return cells as a table for rich; columns are of numbers unless they are said to be text."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title))
    for column, head in enumerate(heads):
        shown.add_column(Text(head), justify="left" if column in text_columns else "right")
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def selection_to_rich(selection: Selection) -> Panel:
    """Return the selection as a panel for rich: the sentence and the names."""
    from rich.panel import Panel
    from rich.text import Text

    body = Text(selection.sentence)
    if selection.names:
        body.append("\n" + _listed(selection.names, MOST_CHOSEN), style="bold")
    return Panel(body, title=Text(selection.rule), expand=False)


def selection_to_html(selection: Selection) -> str:
    """Return the selection as HTML: the sentence and the names, everything escaped."""
    names = _listed(selection.names, MOST_CHOSEN)
    listed = f"<p><b>{html.escape(names)}</b></p>" if names else ""
    return f"<div><p>{html.escape(selection.sentence)}</p>{listed}</div>"


def path_to_html(path: SelectionPath) -> str:
    """Return the path as its curve and an HTML table, everything escaped."""
    from secateur.path.sketch import curve_svg

    return curve_svg(path) + html_table(summary(path), header(path), table(path))


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return cells as an HTML table, everything escaped."""
    head = _html_row("th", heads)
    body = "\n".join(_html_row("td", row) for row in rows)
    return (
        f"<table>\n<caption>{html.escape(title)}</caption>\n"
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def _html_row(tag: str, row: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"


def _changes(path: SelectionPath, index: int) -> str:
    names = (*path.entered(index), *(f"-{name}" for name in path.left(index)))
    return _listed(names, MOST_NAMES)


def _listed(names: tuple[str, ...], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
