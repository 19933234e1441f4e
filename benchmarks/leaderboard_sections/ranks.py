"""Trials of all methods, their mean ranks over the sets, and the critical difference."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
from common.kept import Kept
from common.options import Options
from common.spawn import spawn
from common.table import Section, table
from scipy.stats import rankdata, studentized_range

from leaderboard_sections import pictures
from leaderboard_sections.judges import JUDGES
from leaderboard_sections.methods import METHODS, OWN, SIZES
from leaderboard_sections.sets import N_FOLDS, QUICK, SETS

LIMIT = 300
"""Seconds for one choice."""

FAST = ("A-GBM", "Grafting", "LightGBM CEGB, tuned", "ANOVA F", "all")
"""Methods of a quick run."""

Found = dict[tuple[str, str], list[dict[str, Any]]]
"""The trials of each method and set, one for each fold."""


def trials(options: Options) -> tuple[Found, Sequence[str], Sequence[str]]:
    """What all methods have found, run now where it is not there yet."""
    kept = Kept("leaderboard", quick=options.quick)
    names = QUICK if options.quick else SETS
    methods = FAST if options.quick else tuple(METHODS)
    found: Found = {}
    for name in names:
        for method in methods:
            found[method, name] = [
                kept.get(f"{name}-{fold}-{method}", lambda f=fold: _trial(name, f, method))  # noqa: B023
                for fold in range(1 if options.quick else N_FOLDS)
            ]
    return found, names, methods


def _trial(name: str, fold: int, method: str) -> dict[str, Any]:
    try:
        return spawn("leaderboard_trial", name, fold, method, LIMIT)
    except (subprocess.CalledProcessError, ValueError) as error:
        return {"error": f"{type(error).__name__}"}


def own(options: Options) -> Section:
    """The methods' own choices: no arguments."""
    found, names, methods = trials(options)
    choosing = [m for m in methods if any(OWN in t for n in names for t in found[m, n])]
    section = Section("own", is_timed=False)
    for judge in JUDGES:
        values = _values(found, names, choosing, OWN, judge)
        section.add(_table(values, found, names, choosing, OWN, judge))
        if options.write:
            pictures.draw_ranks(f"own-{judge}", choosing, _ranks(values), _difference(values))
    return section


def sizes(options: Options) -> Section:
    """At most 5, 10, 20 and 50 features."""
    found, names, methods = trials(options)
    section = Section("sizes", is_timed=False)
    for judge in JUDGES:
        means = {}
        for size in SIZES:
            label = str(size)
            sized = [m for m in methods if any(label in t for n in names for t in found[m, n])]
            values = _values(found, names, sized, label, judge)
            ranks = _ranks(values).mean(axis=0)
            means[size] = dict(zip(sized, ranks, strict=True))
            if options.write:
                pictures.draw_ranks(f"{size}-{judge}", sized, _ranks(values), _difference(values))
        sized_once = list(dict.fromkeys(m for by in means.values() for m in by))
        rows = [[m, *(means[size].get(m) for size in SIZES)] for m in sized_once]
        rows.sort(key=lambda row: np.mean([cell for cell in row[1:] if cell is not None]))
        header = [f"mean rank, {judge}", *(f"at most {size}" for size in SIZES)]
        section.add(table(header, rows))
    return section


def _values(
    found: Found, names: Sequence[str], methods: Sequence[str], label: str, judge: str
) -> Any:
    """Mean test scores by set and method; NaN where a fold has none."""
    return np.array(
        [
            [np.mean([t.get(label, {}).get(judge, math.nan) for t in found[m, n]]) for m in methods]
            for n in names
        ]
    )


def _ranks(values: Any) -> Any:
    """Ranks by set, 1 for the best; methods without a score share the last ones."""
    lowest = np.where(np.isnan(values), -np.inf, np.round(values, 6))
    return np.array([rankdata(-row) for row in lowest])


def _difference(values: Any) -> float:
    """The critical difference of mean ranks (Nemenyi, 5 %)."""
    n_sets, k = values.shape
    quantile = studentized_range.ppf(0.95, k, np.inf) / math.sqrt(2.0)
    return float(quantile * math.sqrt(k * (k + 1) / (6.0 * n_sets)))


def _table(
    values: Any, found: Found, names: Sequence[str], methods: Sequence[str], label: str, judge: str
) -> str:
    """A row for each method: mean rank, means over the sets that it has a score of."""
    ranks, rows = _ranks(values), []
    for place in np.argsort(ranks.mean(axis=0), kind="stable"):
        method = methods[place]
        done = [t[label] for n in names for t in found[method, n] if label in t]
        late = sum("timeout" in t for n in names for t in found[method, n])
        failed = sum("error" in t for n in names for t in found[method, n])
        mean = {key: np.mean([t[key] for t in done]) for key in ("seconds", "memory")}
        rows.append(
            [
                method,
                float(ranks[:, place].mean()),
                float(np.nanmean(values[:, place])),
                round(float(np.mean([len(t["features"]) for t in done])), 1),
                f"{mean['seconds']:.1f}",
                f"{mean['memory'] / 2**20:.0f}",
                late or "",
                failed or "",
            ]
        )
    header = [judge, "mean rank", "score", "features", "s", "MiB", "too slow", "failed"]
    text = f"Critical difference of mean ranks over {len(names)} sets: {_difference(values):.2f}."
    return f"{table(header, rows)}\n\n{text}"
