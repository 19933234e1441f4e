"""How results are shown: plain rows, tables on the console and in notebooks, a curve."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.path.cutting import envelope, usable
from secateur.path.step import Score, count_of, format_amount, format_score, listed
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

    from secateur.path.path import Selection, SelectionPath

MAX_ROWS = 40
MAX_NAMES = 6
MAX_SELECTED = 60


# ---- plain rows and text ----------------------------------------------------------------------


def row_of(path: SelectionPath, index: int) -> dict[str, Any]:
    """Return one step as a plain dict, its details as ``details.<key>``."""
    step, score = path[index], path[index].score
    row: dict[str, Any] = {
        "step": index,
        "n_features": step.n_features,
        "cost": step.cost,
        "score": math.nan if score is None else score.mean,
        "standard_error": math.nan if score is None else score.standard_error,
        "metric": None if score is None else score.metric,
        "origin": None if score is None else score.origin,
        "penalty": step.penalty,
        "objective": step.objective,
        "seconds": step.seconds,
        "entered": list(path.entered(index)),
        "left": list(path.left(index)),
    }
    return row | {f"details.{key}": value for key, value in step.details.items()}


def summary(path: SelectionPath) -> str:
    """Return a path in a few words."""
    if len(path) == 0:
        return f"{path.algorithm!r}, no steps, {path.stop_reason}"
    steps = count_of(len(path), "step")
    fewest, largest = path.n_features.min(), path.n_features.max()
    span = f"{largest}" if fewest == largest else f"{fewest} to {largest}"
    total = count_of(path.n_features_in)
    return f"{path.algorithm!r}, {steps}, {span} of {total}, {path.stop_reason}"


def score_with_error(score: Score | None) -> str:
    """Write a score for a table: '0.2310 ± 0.0041'."""
    if score is None:
        return ""
    has_error = not math.isnan(score.standard_error)
    error = f" ± {format_score(score.standard_error)}" if has_error else ""
    return f"{format_score(score.mean)}{error}"


def _heads(path: SelectionPath) -> tuple[str, ...]:
    score = next((step.score for step in path if step.score is not None), None)
    cost = f"cost ({path.cost_unit})" if path.cost_unit else "cost"
    shown = "score" if score is None else score.kind
    return "step", "features", cost, shown, path.penalty_name, "entered"


def _rows(path: SelectionPath) -> list[tuple[str, ...]]:
    """The rows of the table; the middle of a long path becomes one row of dots."""
    shown, n_hidden, half = list(range(len(path))), len(path) - MAX_ROWS, MAX_ROWS // 2
    if n_hidden <= 0:
        return [_cells(path, at) for at in shown]
    gap = ("…", *[""] * 4, f"({n_hidden} more steps)")
    del shown[half:-half]
    rows = [_cells(path, at) for at in shown]
    return [*rows[:half], gap, *rows[half:]]


def _cells(path: SelectionPath, index: int) -> tuple[str, ...]:
    step = path[index]
    changes = (*path.entered(index), *(f"-{name}" for name in path.left(index)))
    return (
        str(index),
        str(step.n_features),
        format_amount(step.cost),
        score_with_error(step.score),
        format_amount(step.penalty),
        listed(changes, MAX_NAMES),
    )


# ---- the console ------------------------------------------------------------------------------


def path_to_rich(path: SelectionPath) -> Table:
    """Return the path as a table for rich."""
    return rich_table(summary(path), _heads(path), _rows(path), text_column=5)


def rich_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, text_column: int
) -> Table:
    """Return cells as a table for rich; all columns but one are of numbers."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title))
    for column, head in enumerate(heads):
        shown.add_column(Text(head), justify="left" if column == text_column else "right")
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def selection_to_rich(selection: Selection) -> Panel:
    """Return the selection as a panel for rich: the sentence and the names."""
    from rich.panel import Panel
    from rich.text import Text

    body = Text(selection.sentence)
    if selection.names:
        body.append("\n" + listed(selection.names, MAX_SELECTED), style="bold")
    return Panel(body, title=Text(selection.rule), expand=False)


# ---- notebooks --------------------------------------------------------------------------------


def selection_to_html(selection: Selection) -> str:
    """Return the selection as HTML: the sentence and the names, everything escaped."""
    names = html.escape(listed(selection.names, MAX_SELECTED))
    below = f"<p><b>{names}</b></p>" if names else ""
    return f"<div><p>{html.escape(selection.sentence)}</p>{below}</div>"


def path_to_html(path: SelectionPath) -> str:
    """Return the path as its curve and an HTML table, everything escaped."""
    return _curve_svg(path) + html_table(summary(path), _heads(path), _rows(path))


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return cells as an HTML table, everything escaped."""
    body = "\n".join(_html_row("td", row) for row in rows)
    return (
        f"<table>\n<caption>{html.escape(title)}</caption>\n"
        f"<thead>{_html_row('th', heads)}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def _html_row(tag: str, row: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"


WIDTH, HEIGHT = 360, 130
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 22


def _curve_svg(path: SelectionPath) -> str:
    """Score against number of features as SVG, in the colours of the text around it, or nothing."""
    steps = usable(path)
    sizes, values = path.n_features[steps], path.scores[steps]
    if len(np.unique(sizes)) < 2:
        return ""
    title = f"{_heads(path)[3]} against number of features"
    x = _scaled(path.n_features.astype(np.float64), steps, LEFT, WIDTH - RIGHT)
    y = _scaled(path.scores, steps, HEIGHT - BOTTOM, TOP)
    dots = "".join(f'<circle cx="{x[at]:.1f}" cy="{y[at]:.1f}" r="2.2"/>' for at in steps)
    line = " ".join(f"{x[at]:.1f},{y[at]:.1f}" for at in envelope(path))
    words = (
        (LEFT, HEIGHT - 6, "start", str(sizes.min())),
        (WIDTH - RIGHT, HEIGHT - 6, "end", count_of(int(sizes.max()))),
        (LEFT - 6, TOP + 4, "end", format_score(float(values.max()))),
        (LEFT - 6, HEIGHT - BOTTOM, "end", format_score(float(values.min()))),
    )
    labels = "".join(
        f'<text x="{across}" y="{down}" text-anchor="{anchor}">{html.escape(text)}</text>'
        for across, down, anchor, text in words
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'fill="currentColor" font-size="11" font-family="sans-serif">'
        f"<title>{html.escape(title)}</title>"
        f'<polyline points="{line}" fill="none" stroke="currentColor" opacity="0.6"/>'
        f"{dots}{labels}</svg>"
    )


def _scaled(values: FloatArray, known: IntArray, start: float, stop: float) -> FloatArray:
    low, high = values[known].min(), values[known].max()
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return start + (stop - start) * share
