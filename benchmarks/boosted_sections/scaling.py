"""Time against rows and against features: is it linear?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from adapters.secateur_boosted import AGBM
from common.data import made
from common.measure import TOTAL, Times, say, take_turns
from common.options import Options
from common.table import Section, table

PENALTIES = (0.0, 0.01)
LIMIT = 1.1
"""The exponent of a straight line is 1; caches and fixed costs may move it a little."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What grows, through which sizes, and the size of the rest."""

    what: str
    sizes: Sequence[tuple[int, int]]

    def grown(self, size: tuple[int, int]) -> int:
        return size[self.what == "features"]


def axes(options: Options) -> list[Axis]:
    if options.quick:
        return [
            Axis("rows", [(n, 40) for n in (1_000, 2_000)]),
            Axis("features", [(1_000, d) for d in (40, 80)]),
        ]
    return [
        Axis("rows", [(n, 200) for n in (10_000, 20_000, 40_000, 80_000)]),
        Axis("features", [(20_000, d) for d in (125, 250, 500, 1_000)]),
    ]


def run(options: Options) -> Section:
    section = Section("scaling")
    n_rounds = 20 if options.quick else 100
    section.add(
        f"`make_wide` with 20 informative features, {n_rounds} rounds of depth 4. An exponent of 1 "
        "is linear growth; less is better."
    )
    for axis in axes(options):
        found = [_times(size, n_rounds, options) for size in axis.sizes]
        section.add(f"**More {axis.what}**:", _table(axis, found, n_rounds))
        for penalty in PENALTIES:
            seconds = [times[_name(penalty)].best(TOTAL) for times in found]
            what = f"growth with {axis.what}, {_name(penalty)}: exponent of all seconds"
            section.aim(what, exponent([axis.grown(size) for size in axis.sizes], seconds), LIMIT)
    return section


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log seconds over log size.

    >>> round(exponent([10, 20, 40], [1.0, 4.0, 16.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _name(penalty: float) -> str:
    return f"penalty {penalty:g}"


def _times(size: tuple[int, int], n_rounds: int, options: Options) -> dict[str, Times]:
    n_rows, n_features = size
    say(f"{n_rows:,} x {n_features:,}")
    split = made(n_rows, 2, n_features, 20, n_redundant=0)
    for penalty in PENALTIES:
        AGBM(2, penalty).run(split.X, split.y)  # compile
    methods = {
        _name(penalty): partial(AGBM(n_rounds, penalty).run, split.X, split.y)
        for penalty in PENALTIES
    }
    return take_turns(methods, options.repeats)


def _table(axis: Axis, found: list[dict[str, Times]], n_rounds: int) -> str:
    names = [_name(p) for p in PENALTIES]
    rows: list[list[object]] = []
    for (n_rows, n_features), times in zip(axis.sizes, found, strict=True):
        cells = n_rows * n_features / 1e9
        row: list[object] = [
            f"{n_rows:,} x {n_features:,}",
            times[names[0]].best("binning") / cells,
        ]
        for name in names:
            one = times[name]
            row += [one.best("training") / cells / n_rounds, one.best(TOTAL)]
        rows.append(row)
    sizes = [axis.grown(size) for size in axis.sizes]
    last: list[object] = ["exponent", exponent(sizes, [t[names[0]].best("binning") for t in found])]
    for name in names:
        last += [
            exponent(sizes, [t[name].best(stage) for t in found]) for stage in ("training", TOTAL)
        ]
    header = ["", "binning ns/cell"]
    for name in names:
        header += [f"{name}: training ns/cell/round", f"{name}: all s"]
    return table(header, [*rows, last])
