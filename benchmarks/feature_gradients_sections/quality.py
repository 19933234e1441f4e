"""The paper's Figures 2, 3 and 4 on mnist35, over independent draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from common.data import missing
from common.kept import Kept
from common.measure import say
from common.options import Options
from common.table import Section, table

from feature_gradients_sections import pictures, protocol
from feature_gradients_sections.paired import Paired

SIZES = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160)
ORDERS = (1, 4, 6)
DRAWS = tuple(range(101, 111))
"""Fixed, with sizes, orders and pairs, before the first of them was run."""
QUICK_DRAWS = (201, 202)
PAIRS = (
    ("order 4", "ANOVA F"),
    ("order 4", "mutual information"),
    ("order 6", "ANOVA F"),
    ("order 6", "mutual information"),
    ("order 6", "order 1"),
)
LEVEL = 0.01


def run(options: Options) -> Section:
    section = Section("quality", is_timed=False)
    sizes, draws = (SIZES[:3], QUICK_DRAWS) if options.quick else (SIZES, DRAWS)
    first = protocol.mnist35(draws[0])
    if first is None:
        section.skip(missing("mnist"))
        return section
    curves = _all_curves(draws, sizes, options)
    means = {name: list(values.mean(axis=0)) for name, values in curves.items()}
    section.add(
        "**mnist35** (3 against 5, normal noise of 0.5 on pixels from 0 to 1), test AUC of "
        f"logistic regression, mean over {len(draws)} draws (seeds {draws[0]} to {draws[-1]}), "
        "each with noise, split and seeds of its own:",
        curve_table(sizes, means),
        *_judged(section, curves),
        *_by_size(curves, sizes),
    )
    if not options.quick:
        pictures.curves(means, sizes)
        pictures.pixels(first)
        section.add(
            "![AUC against the number of features](feature_gradients_auc.png)",
            "![selected pixels](feature_gradients_pixels.png)",
        )
    return section


def _all_curves(draws: Any, sizes: Any, options: Options) -> dict[str, Any]:
    """Test AUC by method, of shape (draws, sizes); draws that are done are not run again."""
    kept = Kept("feature_gradients", quick=options.quick)
    each = [
        kept.get(f"mnist35-{draw}", lambda draw=draw: curves_of(protocol.mnist35(draw), sizes))
        for draw in draws
    ]
    return {name: np.array([found[name] for found in each]) for name in each[0]}


def curves_of(data: Any, sizes: Any, orders: Any = ORDERS) -> dict[str, Any]:
    """Test AUC of each method at each size."""
    curves: dict[str, list[float]] = {}
    for order in orders:
        say(f"{data.name}, order {order}")
        found = protocol.by_gradients(data, sizes, order)
        curves[f"order {order}"] = [protocol.auc(data, features) for features in found]
    for name, ranked in protocol.filters(data).items():
        curves[name] = [protocol.auc(data, ranked[:size]) for size in sizes]
    return curves


def curve_table(sizes: Any, curves: dict[str, list[float]]) -> str:
    rows = [[name, *values] for name, values in curves.items()]
    return table(["features", *map(str, sizes)], rows)


def _judged(section: Section, curves: dict[str, Any]) -> list[str]:
    """One number per draw and method, the mean over sizes: draws are the pairs of the t-test."""
    rows = []
    for ours, rival in PAIRS:
        pair = Paired(curves[ours].mean(axis=1) - curves[rival].mean(axis=1))
        rows.append(
            [f"{ours} against {rival}", f"{pair.mean:+.4f}", f"{pair.n_ahead} of {pair.n}",
             f"{pair.p:.2g}", f"{pair.p_shared(protocol.TEST_PER_TRAIN):.2g}"]
        )  # fmt: skip
        section.aim(f"{ours} against {rival}: p of the paired t-test over draws", pair.p, LEVEL)
    result = (
        "One number per draw and method, the mean over sizes; paired t-test over the draws, "
        "two-sided, p = 1 where we are behind. Draws share images, though neither noise nor "
        "split: the last column corrects for that (Nadeau and Bengio)."
    )
    return [
        result,
        table(["", "mean difference", "draws ahead", "p", "p, corrected"], rows),
    ]


def _by_size(curves: dict[str, Any], sizes: Any) -> list[str]:
    """Who wins at which size: the mean difference, and in how many draws."""
    rows = []
    for ours, rival in PAIRS:
        differences = (Paired(gap) for gap in (curves[ours] - curves[rival]).T)
        result = [f"{pair.mean:+.4f} ({pair.n_ahead})" for pair in differences]
        rows.append([f"{ours} against {rival}", *result])
    legend = (
        "Size by size: the mean difference, and in brackets the number of draws in which the "
        "first is ahead."
    )
    return [
        legend,
        table(["features", *map(str, sizes)], rows),
    ]
