"""How results are shown: numbers and phrases, plain rows, tables on the console and in notebooks.

Cells are plain text, escaped by both tables: markup in names is shown as it is.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.path.step import Score, envelope, usable
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

    from secateur.path.path import Selection, SelectionPath


ORIGIN_WORDS = {"inner": "inner", "held_out": "held-out"}


def number(value: float) -> str:
    """Write a score: four decimals, so that scores line up."""
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.4g}"


def amount(value: float) -> str:
    """Write a cost or a penalty, without trailing zeros; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"


def share(path: SelectionPath, index: int) -> str:
    """The number of features of the total: '12 of 300 features'."""
    return f"{path[index].n_features} of {features(path.n_features_in)}"


def features(count: int) -> str:
    """'1 feature' or '12 features'."""
    return f"{count} feature" if count == 1 else f"{count} features"


def money(path: SelectionPath, cost: float) -> str:
    """Write a cost with its unit."""
    return f"{amount(cost)} {path.cost_unit}".rstrip()


def kind(score: Score) -> str:
    """The metric and where it was measured: 'held-out log_loss'."""
    return f"{ORIGIN_WORDS[score.origin]} {score.metric}"


def measured(score: Score) -> str:
    """The metric and its value: 'held-out log_loss (0.2310)'."""
    return f"{kind(score)} ({number(score.mean)})"


def score_with_error(score: Score | None) -> str:
    """Write a score for a table: '0.2310 ± 0.0041'."""
    if score is None:
        return ""
    error = "" if math.isnan(score.standard_error) else f" ± {number(score.standard_error)}"
    return f"{number(score.mean)}{error}"


WIDTH, HEIGHT = 360, 130
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 22


def curve_svg(path: SelectionPath) -> str:
    """Return score against number of features as SVG; nothing where there is no curve.

    The line joins the steps that no smaller step equals. Colours are those of the text around it,
    so that it is readable in the dark.
    """
    steps = usable(path)
    if len(np.unique(path.n_features[steps])) < 2:
        return ""
    score = path[int(steps[0])].score
    assert score is not None  # noqa: S101 - a usable step has one
    x = _scaled(path.n_features.astype(np.float64), steps, LEFT, WIDTH - RIGHT)
    y = _scaled(path.scores, steps, HEIGHT - BOTTOM, TOP)
    dots = "".join(f'<circle cx="{x[at]:.1f}" cy="{y[at]:.1f}" r="2.2"/>' for at in steps)
    line = " ".join(f"{x[at]:.1f},{y[at]:.1f}" for at in envelope(path))
    sizes, values = path.n_features[steps], path.scores[steps]
    words = (
        (LEFT, HEIGHT - 6, "start", str(sizes.min())),
        (WIDTH - RIGHT, HEIGHT - 6, "end", features(int(sizes.max()))),
        (LEFT - 6, TOP + 4, "end", number(float(values.max()))),
        (LEFT - 6, HEIGHT - BOTTOM, "end", number(float(values.min()))),
    )
    labels = "".join(
        f'<text x="{across}" y="{down}" text-anchor="{anchor}">{html.escape(text)}</text>'
        for across, down, anchor, text in words
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'fill="currentColor" font-size="11" font-family="sans-serif">'
        f"<title>{html.escape(kind(score))} against number of features</title>"
        f'<polyline points="{line}" fill="none" stroke="currentColor" opacity="0.6"/>'
        f"{dots}{labels}</svg>"
    )


def _scaled(values: FloatArray, known: IntArray, start: float, stop: float) -> FloatArray:
    low, high = values[known].min(), values[known].max()
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    scaled: FloatArray = start + (stop - start) * share
    return scaled


MAX_ROWS = 40
MAX_NAMES = 6
MAX_SELECTED = 60


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
    steps = "1 step" if len(path) == 1 else f"{len(path)} steps"
    if len(path) == 0:
        return f"{path.algorithm!r}, no steps, {path.stop_reason}"
    fewest, largest = path.n_features.min(), path.n_features.max()
    span = f"{largest}" if fewest == largest else f"{fewest} to {largest}"
    total = features(path.n_features_in)
    return f"{path.algorithm!r}, {steps}, {span} of {total}, {path.stop_reason}"


def header(path: SelectionPath) -> tuple[str, ...]:
    """Return the heads of the table's columns."""
    score = next((step.score for step in path if step.score is not None), None)
    cost = f"cost ({path.cost_unit})" if path.cost_unit else "cost"
    heads = ("step", "features", cost, "score" if score is None else kind(score))
    return (*heads, path.penalty_name, "entered")


def cells(path: SelectionPath, index: int) -> tuple[str, ...]:
    """Return the table's row for one step."""
    step = path[index]
    return (
        str(index),
        str(step.n_features),
        amount(step.cost),
        score_with_error(step.score),
        amount(step.penalty),
        _changes(path, index),
    )


def table(path: SelectionPath) -> list[tuple[str, ...]]:
    """Return the table's rows; the middle of a long path becomes one row of dots."""
    n_steps = len(path)
    if n_steps <= MAX_ROWS:
        return [cells(path, index) for index in range(n_steps)]
    half = MAX_ROWS // 2
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
        body.append("\n" + _listed(selection.names, MAX_SELECTED), style="bold")
    return Panel(body, title=Text(selection.rule), expand=False)


def selection_to_html(selection: Selection) -> str:
    """Return the selection as HTML: the sentence and the names, everything escaped."""
    names = _listed(selection.names, MAX_SELECTED)
    listed = f"<p><b>{html.escape(names)}</b></p>" if names else ""
    return f"<div><p>{html.escape(selection.sentence)}</p>{listed}</div>"


def path_to_html(path: SelectionPath) -> str:
    """Return the path as its curve and an HTML table, everything escaped."""
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
    return _listed(names, MAX_NAMES)


def _listed(names: tuple[str, ...], max_names: int) -> str:
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + more
