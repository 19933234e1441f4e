"""The curve of a path as a small picture of text, for notebooks: score against features."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from secateur.path import wording
from secateur.path.elbow import envelope
from secateur.path.ranking import usable
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath

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
        (WIDTH - RIGHT, HEIGHT - 6, "end", wording.features(int(sizes.max()))),
        (LEFT - 6, TOP + 4, "end", wording.number(float(values.max()))),
        (LEFT - 6, HEIGHT - BOTTOM, "end", wording.number(float(values.min()))),
    )
    labels = "".join(
        f'<text x="{across}" y="{down}" text-anchor="{anchor}">{html.escape(text)}</text>'
        for across, down, anchor, text in words
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'fill="currentColor" font-size="11" font-family="sans-serif">'
        f"<title>{html.escape(wording.kind(score))} against number of features</title>"
        f'<polyline points="{line}" fill="none" stroke="currentColor" opacity="0.6"/>'
        f"{dots}{labels}</svg>"
    )


def _scaled(values: FloatArray, known: IntArray, start: float, stop: float) -> FloatArray:
    low, high = values[known].min(), values[known].max()
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    scaled: FloatArray = start + (stop - start) * share
    return scaled
