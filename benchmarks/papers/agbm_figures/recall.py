"""Figure 1, how often group tests find what matters, with Theorem 4.2 and the counts of Table 1."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.kept import Kept
from common.table import table
from group_testing_sections.recall import FORMS, _once

from papers.drawing import subplots
from papers.figure import Figure, Shown
from secateur.engines.boosted.group_design import GroupDesign, GroupTesting, rows_of_theorem

ROWS, FEATURES = (250, 500, 1_000, 2_000, 4_000), (96, 192, 384, 768, 1_536)
REPEATS = 20
WANTED, DELTA = 3, 0.1
COUNTED = (1_000, 10_000, 100_000)


def run_fig1(quick: bool, kept: Kept) -> dict[str, Any]:
    rows, features = (ROWS[:2], FEATURES[:2]) if quick else (ROWS, FEATURES)
    repeats = 2 if quick else REPEATS
    grids: dict[str, Any] = {name: np.full((len(rows), len(features)), np.nan) for name in FORMS}
    cells = sorted((n * d, a, b) for a, n in enumerate(rows) for b, d in enumerate(features))
    for _, a, b in cells:
        for form, (name, make) in enumerate(FORMS.items()):
            label = f"{form}-{rows[a]}-{features[b]}"
            if kept.has(label):
                run = partial(_share, rows[a], features[b], make, repeats)
                grids[name][a, b] = kept.get(label, run)["found"]
    return {
        "protocol": "y = 2 x1 - 3 * 2^x2 + log2(1 + x3) + noise, all features uniform on [0, 1], "
        f"standard normal noise; s = {WANTED}, delta = {DELTA}; {repeats} repeats. Success: the "
        "candidates of the root hold x1, x2 and x3.",
        "rows": rows,
        "features": features,
        "grids": {name: _json(grid) for name, grid in grids.items()},
    }


def _share(n: int, d: int, make: Any, repeats: int) -> dict[str, Any]:
    return {"found": float(np.mean([_once(n, d, seed, make)[0] for seed in range(repeats)]))}


def _json(grid: Any) -> list[list[float | None]]:
    return [[None if np.isnan(cell) else float(cell) for cell in line] for line in grid]


def show_fig1(values: dict[str, Any], picture: Path) -> Shown:
    rows, features = values["rows"], values["features"]
    grids = {name: np.array(grid, np.float64) for name, grid in values["grids"].items()}
    with subplots(picture, 1, len(grids), width=4.6, height=3.5) as axes:
        for axis, (name, grid) in zip(axes, grids.items(), strict=True):
            axis.imshow(grid, origin="lower", cmap="Greys", vmin=0, vmax=1, aspect="auto")
            for (a, b), share in np.ndenumerate(grid):
                text = "-" if np.isnan(share) else f"{share:.2f}"
                colour = "white" if share > 0.5 else "black"
                axis.text(b, a, text, ha="center", va="center", fontsize=8, color=colour)
            axis.set_xticks(range(len(features)), [f"{d:,}" for d in features])
            axis.set_yticks(range(len(rows)), [f"{n:,}" for n in rows])
            axis.set_title(name, fontsize=9)
            axis.set_xlabel("features")
        axes[0].set_ylabel("rows")
    first = next(iter(grids.values()))
    half = [(d, _rows_for_half(rows, first[:, b])) for b, d in enumerate(features)]
    half = [(d, n) for d, n in half if n]
    bound = [rows_of_theorem(d, WANTED, DELTA) for d in features]
    times = bound[-1] / bound[0]
    grows = ""
    if len(half) > 1:
        slope = np.polyfit(*np.log(np.array(half)).T, 1)[0]
        grows = f" The rows at which half of the repeats succeed grow as d^{slope:.2f}."
    return Shown(
        f"In the paper's form success is not lower with twice the rows in {_steps(first)}, and not "
        f"higher with twice the features in {_steps(-first.T)} cells.{grows} The bound of Theorem "
        f"4.2 grows {times:,.0f} times from {features[0]:,} to {features[-1]:,} features.",
        "The paper has 50 repeats, and its figure has no numbers to compare with. Its form here "
        "sums numbers of bins, not raw values, and divides all features into subsets instead of "
        "drawing each subset alone. A dash: not run. The constant of the theorem is not "
        "known, so only the growth of its bound can be compared.",
        (_counts(),),
    )


def _steps(grid: Any) -> str:
    """How many cells are not below the one before, of those where both were run."""
    change = np.diff(grid, axis=0)
    return f"{int((change >= 0).sum())} of {int(np.isfinite(change).sum())}"


def _rows_for_half(rows: Any, column: Any) -> float | None:
    """Where half of the repeats succeed; None where all or none do, or some were not run."""
    if np.isnan(column).any():
        return None
    rising = np.maximum.accumulate(column)
    if not rising[0] < 0.5 <= rising[-1]:
        return None
    return float(np.exp(np.interp(0.5, rising, np.log(rows))))


def _counts() -> str:
    """Columns that a node reads, by Table 1 and by the designs that are used."""
    lines = []
    for d in COUNTED:
        for s in (3, 20):
            order = s * np.log(s) * np.log(d / s)
            papers = GroupDesign.of(d, GroupTesting(s, DELTA, 1))
            default = GroupDesign.of(d, GroupTesting(s, DELTA, largest=20))
            counts = [f"{each.n_columns:,}" for each in (papers, default)]
            lines.append([f"{d:,}, s = {s}", f"{d:,}", f"{order:,.0f}", *counts])
    header = ["columns a node reads", "A-GBM: d", "s log s log(d/s)", "paper's form", "default"]
    return (
        "Table 1 gives orders of growth; beside them the columns of the designs "
        "(`GroupDesign.n_columns`), the default for 10,000 rows:\n\n" + table(header, lines)
    )


FIG1 = Figure(
    "Figure 1 and Table 1: how often group tests find the features",
    "With three features that matter, the rows that group tests need grow nearly linearly with the "
    "number of features; the bound of Theorem 4.2, quadratic, is conservative.",
    run_fig1, show_fig1, is_slow=True,
)  # fmt: skip
