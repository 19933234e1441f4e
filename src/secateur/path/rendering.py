"""How results are shown: tables on the console and in notebooks, a curve."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from secateur.path.comparing import envelope, usable
from secateur.path.step import Score, count_of, format_amount, format_score, listed

if TYPE_CHECKING:
    from rich.table import Table

    from secateur.path.path import SelectionPath

MAX_ROWS = 40
MAX_NAMES = 6


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


def table(path: SelectionPath) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """Return title, heads of columns and rows; the middle of a long path is left out."""
    places, half = list(range(len(path))), MAX_ROWS // 2
    n_hidden = max(0, len(path) - MAX_ROWS)
    del places[half : half + n_hidden]
    rows: list[tuple[str, ...]] = []
    for at in places:
        step, changes = path[at], (*path.entered(at), *(f"-{name}" for name in path.left(at)))
        cost, penalty = format_amount(step.cost), format_amount(step.penalty)
        words = cost, score_with_error(step.score), penalty, listed(changes, MAX_NAMES)
        rows.append((str(at), str(step.n_features), *words))
    if n_hidden:
        rows.insert(half, ("…", *[""] * 4, f"({n_hidden} more steps)"))
    return summary(path), _heads(path), rows


def _heads(path: SelectionPath) -> tuple[str, ...]:
    score = next((step.score for step in path if step.score is not None), None)
    cost = f"cost ({path.cost_unit})" if path.cost_unit else "cost"
    shown = "score" if score is None else score.kind
    return "step", "features", cost, shown, path.penalty_name, "entered"


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


def curve_svg(path: SelectionPath) -> str:
    """Return score against number of features as SVG, in the colours of the text, or nothing."""
    steps = usable(path)
    sizes, values = path.n_features[steps], path.scores[steps]
    if len(np.unique(sizes)) < 2:
        return ""
    title = f"{_heads(path)[3]} against number of features"
    low, high = values.min(), values.max()
    along = (path.n_features - sizes.min()) / (sizes.max() - sizes.min())
    share = (path.scores - low) / (high - low) if high > low else np.full(len(path), 0.5)
    x = LEFT + (WIDTH - RIGHT - LEFT) * along
    y = HEIGHT - BOTTOM + (TOP - (HEIGHT - BOTTOM)) * share
    dots = "".join(f'<circle cx="{x[at]:.1f}" cy="{y[at]:.1f}" r="2.2"/>' for at in steps)
    line = " ".join(f"{x[at]:.1f},{y[at]:.1f}" for at in envelope(path))
    words = (
        (LEFT, HEIGHT - 6, "start", str(sizes.min())),
        (WIDTH - RIGHT, HEIGHT - 6, "end", count_of(int(sizes.max()))),
        (LEFT - 6, TOP + 4, "end", format_score(float(high))),
        (LEFT - 6, HEIGHT - BOTTOM, "end", format_score(float(low))),
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
