"""Trials of all methods, their mean ranks over the sets, and the critical difference."""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from common.measure import say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table
from scipy.stats import rankdata, studentized_range

from leaderboard_sections import pictures
from leaderboard_sections.judges import JUDGES
from leaderboard_sections.methods import METHODS, OWN, SIZES, SLOW
from leaderboard_sections.sets import N_FOLDS, QUICK, SETS
from leaderboard_sections.store import Trial, Trials

LIMIT = 300
"""CPU seconds for one choice."""

FAST = ("A-GBM", "Grafting", "LightGBM CEGB, tuned", "ANOVA F", "all")
"""Methods of a quick run."""

MIN_SHARE = 0.8
"""Methods tried on fewer of the folds are not ranked, but compared with A-GBM where they were."""

Cell = tuple[str, int]


class Results:
    """The trials by method and by cell: a set and one of its outer folds."""

    def __init__(self, trials: Trials) -> None:
        cells = [(name, fold) for name in SETS for fold in range(N_FOLDS)]
        self._found = {
            method: {c: t for c in cells if (t := trials.get(*c, method)) is not None}
            for method in METHODS
        }

    def ranked(self, label: str) -> tuple[list[str], list[Cell]]:
        """Methods tried on most cells, and the cells on which all of them were."""
        cells = {m: set(of) for m, of in self._found.items() if _has(of, label)}
        if not cells:
            return [], []
        most = max(map(len, cells.values()))
        methods = [m for m, tried in cells.items() if len(tried) >= MIN_SHARE * most]
        return methods, sorted(set.intersection(*(cells[m] for m in methods)))

    def others(self, label: str) -> dict[str, list[Cell]]:
        """The other methods, with the cells on which they and A-GBM were tried."""
        ranked, found = self.ranked(label)[0], self._found
        return {
            m: sorted(set(of) & set(found["A-GBM"]))
            for m, of in found.items()
            if m not in ranked and _has(of, label)
        }

    def values(self, methods: Sequence[str], cells: Sequence[Cell], label: str, judge: str) -> Any:
        """Mean test scores by set and method; NaN where a fold has none."""
        names = list(dict.fromkeys(name for name, _ in cells))
        rows = [[self._scores(m, cells, n, label, judge) for m in methods] for n in names]
        return np.array([[np.mean(scores) for scores in row] for row in rows])

    def of(self, method: str, cells: Sequence[Cell]) -> list[Trial]:
        """The trials of a method on some cells."""
        return [self._found[method][c] for c in cells]

    def _scores(
        self, method: str, cells: Sequence[Cell], name: str, label: str, judge: str
    ) -> list[float]:
        trials = self.of(method, [c for c in cells if c[0] == name])
        return [t.get(label, {}).get(judge, math.nan) for t in trials]


def _has(trials: Mapping[Cell, Trial], label: str) -> bool:
    return any(label in trial for trial in trials.values())


def results(options: Options) -> Results:
    """What all methods have found; what is not there yet is run now, as time allows."""
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            trials = Trials(Path(folder))
            _run(trials, [(n, 0, m) for n in QUICK for m in FAST], math.inf)
        return Results(trials)
    trials = Trials()
    trials.forget(options.again)
    methods = options.methods or [m for m in METHODS if options.full or m not in SLOW]
    _run(trials, list(_wanted(methods)), options.minutes)
    return Results(trials)


def _wanted(methods: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """First folds first, so that tables of an unfinished run have all sets."""
    for fold in range(N_FOLDS):
        for name in SETS:
            for method in methods:
                yield name, fold, method


def _run(trials: Trials, wanted: list[tuple[str, int, str]], minutes: float) -> None:
    """A trial on each core at a time."""
    end = time.monotonic() + 60.0 * minutes
    left = deque((i, *each) for i, each in enumerate(wanted) if trials.get(*each) is None)

    def work(core: int) -> None:
        while left and time.monotonic() < end:
            i, name, fold, method = left.popleft()
            say(f"{name}, fold {fold}, {method} ({i + 1} of {len(wanted)})")
            trials.put(name, fold, method, _trial(name, fold, method, core))

    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    with ThreadPoolExecutor(len(cores)) as pool:
        list(pool.map(work, cores))
    if left:
        say(f"{len(left)} trials are left: run it again to go on")


def _trial(name: str, fold: int, method: str, core: int) -> Trial:
    try:
        return spawn("leaderboard_trial", name, fold, method, LIMIT, core, OMP_NUM_THREADS="1")
    except (subprocess.CalledProcessError, ValueError) as error:
        return {"error": f"{type(error).__name__}"}


def own(options: Options) -> Section:
    """The methods' own choices: no arguments."""
    found = results(options)
    methods, cells = found.ranked(OWN)
    section = Section("own", is_timed=False)
    for judge in JUDGES:
        values = found.values(methods, cells, OWN, judge)
        if options.write:
            pictures.draw_ranks(f"own-{judge}", methods, _ranks(values), _difference(values))
            section.add(f"![Mean ranks for {judge}](leaderboard-own-{judge}.png)")
        section.add(_table(values, found, methods, cells, judge))
    rest = _rest(found)
    if rest:
        section.add("Methods tried on fewer sets, beside A-GBM on the same folds:", rest)
    return section


def sizes(options: Options) -> Section:
    """At most 5, 10, 20 and 50 features."""
    found = results(options)
    section = Section("sizes", is_timed=False)
    for judge in JUDGES:
        means: dict[int, dict[str, float]] = {}
        for size in SIZES:
            methods, cells = found.ranked(str(size))
            values = found.values(methods, cells, str(size), judge)
            means[size] = dict(zip(methods, _ranks(values).mean(axis=0), strict=True))
            if options.write:
                pictures.draw_ranks(f"{size}-{judge}", methods, _ranks(values), _difference(values))
        ever = list(dict.fromkeys(m for by in means.values() for m in by))
        rows: list[list[Any]] = [[m, *(means[size].get(m) for size in SIZES)] for m in ever]
        rows.sort(key=lambda row: np.mean([cell for cell in row[1:] if cell is not None]))
        header = [f"mean rank, {judge}", *(f"at most {size}" for size in SIZES)]
        if options.write:
            section.add(f"![Mean ranks, at most 20 features](leaderboard-20-{judge}.png)")
        section.add(table(header, rows))
    return section


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
    values: Any, found: Results, methods: Sequence[str], cells: Sequence[Cell], judge: str
) -> str:
    """A row for each method: mean rank, means over the sets that it has a score of."""
    ranks, rows = _ranks(values), []
    for place in np.argsort(ranks.mean(axis=0), kind="stable"):
        trials = found.of(methods[place], cells)
        done = [t[OWN] for t in trials if OWN in t]
        mean = {key: np.mean([t[key] for t in done]) for key in ("features", "seconds", "memory")}
        rows.append(
            [
                methods[place],
                float(ranks[:, place].mean()),
                float(np.nanmean(values[:, place])),
                f"{mean['features']:.1f}",
                f"{mean['seconds']:.1f}",
                f"{mean['memory'] / 2**20:.0f}",
                sum("timeout" in t for t in trials) or "",
                sum("error" in t for t in trials) or "",
            ]
        )
    header = [judge, "mean rank", "score", "features", "s", "MiB", "too slow", "failed"]
    n_sets = len({name for name, _ in cells})
    text = (
        f"{n_sets} sets, {len(cells)} folds in all. Critical difference of mean ranks: "
        f"{_difference(values):.2f}."
    )
    return f"{table(header, rows)}\n\n{text}"


def _rest(found: Results) -> str:
    """Methods that are not ranked: their means, and those of A-GBM where both have a choice."""
    rows = []
    for method, cells in found.others(OWN).items():
        pairs = zip(found.of(method, cells), found.of("A-GBM", cells), strict=True)
        both = [(a[OWN], b[OWN]) for a, b in pairs if OWN in a and OWN in b]
        late = sum("timeout" in t for t in found.of(method, cells))
        failed = sum("error" in t for t in found.of(method, cells))
        row: list[Any] = [method, len(cells), late or "", failed or ""]
        for key in (*JUDGES, "features", "seconds"):
            means = [f"{np.mean([pair[k][key] for pair in both]):.3g}" for k in (0, 1) if both]
            row.append(" / ".join(means))
        rows.append(row)
    header = ["method / A-GBM", "folds", "too slow", "failed", *JUDGES, "features", "s"]
    return table(header, rows) if rows else ""
