"""A path of fifty penalties, from the one that keeps everything out to a twentieth of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from adapters.sparse_linear import MOST_SECONDS, TOLERANCES, Problem, load
from common.data import missing
from common.measure import N_THREADS, Run, say, take_turns
from common.options import Options
from common.table import Section, table

from grafting_sections.speed import EXCESS, SETS

POINTS = 50
LIMIT = 0.5


def run(options: Options) -> Section:
    section = Section("paths")
    section.add(
        f"Fifty penalties from the largest to a twentieth of it, evenly on a log scale, each "
        f"warm-started from the one before, {N_THREADS} threads: `GraftingClassifier(l1=penalties, "
        "cv=0)` against `celer_path`, each at the loosest of the tolerances 1e-2, 1e-3, ... at "
        "which its criterion is within 1e-6, relatively, of the best at all penalties; where it "
        "never is, or takes more than ten seconds, at the one that came nearest. *Excess* is how "
        "far the criterion is above the best, at worst along the path."
    )
    rows = []
    for name in SETS[2:3] if options.quick else SETS:
        problem = load(name)
        if problem is None:
            section.skip(missing(name))
            continue
        rows.append(_measure(problem, section, options))
    header = ["", "grafting s", "celer s", "ratio", "grafting excess", "celer excess"]
    section.add(table(header, rows))
    return section


def _measure(problem: Problem, section: Section, options: Options) -> list[object]:
    penalties = np.geomspace(problem.largest_l1, problem.largest_l1 / 20, POINTS)
    best = _values(problem, penalties, _grafting(problem, penalties, 1e-9))
    found = {name: _tolerance(path, problem, penalties, best) for name, path in PATHS.items()}
    say(f"{problem.name}: " + ", ".join(f"{k} {v:.0e}" for k, v in found.items()))
    methods = {
        name: _contestant(partial(PATHS[name], problem, penalties, tol))
        for name, tol in found.items()
    }
    times = take_turns(methods, options.repeats)
    excess = {
        name: float(np.max(_values(problem, penalties, t.last.facts["weights"]) / best)) - 1.0
        for name, t in times.items()
    }
    ours, theirs = times["grafting"].best(), times["celer"].best()
    section.aim(f"{problem.name}: path / celer's path", ours / theirs, LIMIT)
    result = [f"{max(excess[name], 0.0):.0e}" for name in PATHS]
    return [problem.name, ours, theirs, ours / theirs, *result]


def _values(problem: Problem, penalties: Any, weights: list[Any]) -> Any:
    """The criterion at each penalty."""
    return np.array([problem.objective(w, l1) for w, l1 in zip(weights, penalties, strict=True)])


def _tolerance(path: Path, problem: Problem, penalties: Any, best: Any) -> float:
    """The loosest tolerance that is good enough, or the one that came nearest in the time."""
    path(problem, penalties[:2], 0.1)  # compiled before it is timed
    nearest, its_excess = TOLERANCES[0], np.inf
    for tol in TOLERANCES:
        start = time.perf_counter()
        excess = (
            float(np.max(_values(problem, penalties, path(problem, penalties, tol)) / best)) - 1.0
        )
        if excess < its_excess:
            nearest, its_excess = tol, excess
        if excess <= EXCESS or time.perf_counter() - start > MOST_SECONDS:
            break
    return nearest


def _grafting(problem: Problem, penalties: Any, tol: float) -> list[Any]:
    from secateur import GraftingClassifier

    model = GraftingClassifier(
        l1=penalties,
        standardize=False,
        fit_intercept=False,
        tol=tol,
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


def _celer(problem: Problem, penalties: Any, tol: float) -> list[Any]:
    from celer import celer_path

    # celer counts the loss as a sum over rows
    alphas = penalties * len(problem.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, coefs, _ = celer_path(
            problem.X,
            problem.y,
            "logreg",
            alphas=alphas,
            tol=tol,
            use_PN=True,
            max_iter=100,
        )
    return list(coefs.T)


Path = Callable[[Problem, Any, float], list[Any]]
PATHS: dict[str, Path] = {"grafting": _grafting, "celer": _celer}


def _contestant(path: Callable[[], list[Any]]) -> Callable[[], Run]:
    def once() -> Run:
        start = time.perf_counter()
        weights = path()
        seconds = time.perf_counter() - start
        return Run({"path": seconds}, 0, lambda _: None, {"weights": weights})

    return once
