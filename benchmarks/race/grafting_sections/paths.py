"""A path of fifty prices, from the one that keeps everything out to a twentieth of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from adapters.sparse_linear import Problem, load
from common.data import missing
from common.measure import N_THREADS, Run, say, take_turns
from common.options import Options
from common.table import Section, table

from grafting_sections.speed import SETS

POINTS = 50
LIMIT = 0.5
TOLERANCES = {"grafting": 1e-4, "celer": 1e-4}


def run(options: Options) -> Section:
    section = Section("paths")
    section.add(
        f"Fifty prices from the largest to a twentieth of it, evenly on a log scale, each "
        f"warm-started from the one before, {N_THREADS} threads: `GraftingClassifier(l1=prices, "
        "cv=0)` against `celer_path`, both at a tolerance of 1e-4. *Excess* is how far the "
        "criterion is above the better of the two, at worst along the path."
    )
    rows = []
    for name in SETS[2:3] if options.quick else SETS:
        problem = load(name)
        if problem is None:
            section.skip(missing(name))
            continue
        rows.append(_race(problem, section, options))
    header = ["", "grafting s", "celer s", "ratio", "grafting excess", "celer excess"]
    section.add(table(header, rows))
    return section


def _race(problem: Problem, section: Section, options: Options) -> list[object]:
    prices = np.geomspace(problem.largest_l1, problem.largest_l1 / 20, POINTS)
    contestants = {
        "grafting": _contestant(lambda: _grafting(problem, prices)),
        "celer": _contestant(lambda: _celer(problem, prices)),
    }
    first = contestants["celer"]()
    say(f"{problem.name}: celer's path took {first.seconds('path'):.1f} s")
    repeats = options.repeats if first.seconds("path") < 10 else 1
    times = take_turns(contestants, repeats)
    values = {
        name: [
            problem.objective(w, price)
            for w, price in zip(t.last.facts["weights"], prices, strict=True)
        ]
        for name, t in times.items()
    }
    best = np.minimum(*values.values())
    excess = {name: float(np.max(np.array(v) / best)) - 1.0 for name, v in values.items()}
    ours, theirs = times["grafting"].best(), times["celer"].best()
    section.aim(f"{problem.name}: path / celer's path", ours / theirs, LIMIT)
    return [
        problem.name,
        ours,
        theirs,
        ours / theirs,
        *(f"{max(excess[name], 0.0):.0e}" for name in ("grafting", "celer")),
    ]


def _grafting(problem: Problem, prices: Any) -> list[Any]:
    from secateur import GraftingClassifier

    model = GraftingClassifier(
        l1=prices,
        standardize=False,
        fit_intercept=False,
        tol=TOLERANCES["grafting"],
        cv=0,
        n_jobs=N_THREADS,
    )
    path = model.fit(problem.X, problem.y).path_
    weights = []
    for step in path:
        w = np.zeros(problem.X.shape[1])
        w[step.model.features] = step.model.coef[0]
        weights.append(w)
    return weights


def _celer(problem: Problem, prices: Any) -> list[Any]:
    from celer import celer_path

    # celer counts the loss as a sum over rows
    alphas = prices * len(problem.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, coefs, _ = celer_path(
            problem.X,
            problem.y,
            "logreg",
            alphas=alphas,
            tol=TOLERANCES["celer"],
            use_PN=True,
            max_iter=100,
        )
    return list(coefs.T)


def _contestant(path: Callable[[], list[Any]]) -> Callable[[], Run]:
    def once() -> Run:
        start = time.perf_counter()
        weights = path()
        seconds = time.perf_counter() - start
        return Run({"path": seconds}, 0, lambda _: None, {"weights": weights})

    return once
