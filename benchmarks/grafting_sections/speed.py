"""One penalty, a twentieth of the largest: seconds to a criterion within 1e-6 of the best."""

from __future__ import annotations

import time
from collections.abc import Callable

from adapters.sparse_linear import (
    MOST_SECONDS,
    SOLVERS,
    TOLERANCES,
    Problem,
    load,
    solve,
)
from common.data import missing
from common.measure import N_THREADS, Run, say, take_turns
from common.options import Options
from common.table import Section, table

SETS = ("madelon", "mnist 3/8", "BASEHOCK", "arcene")
EXCESS = 1e-6
SHARE = 1 / 20
LIMIT = 1.0


def run(options: Options) -> Section:
    section = Section("speed")
    section.add(
        "The whole `fit` of every solver, L1 logistic regression without an intercept on "
        "standardised columns, at a twentieth of the smallest penalty that keeps everything out, "
        f"{N_THREADS} threads. Each solver runs at the loosest of the tolerances 1e-2, 1e-3, ... "
        "at which its criterion is within 1e-6, relatively, of the best that anyone found. Times "
        "in milliseconds, best of three; a solver that was not there after ten seconds (saga: "
        "after 200 passes) was given up."
    )
    rows = []
    for name in SETS[2:3] if options.quick else SETS:
        problem = load(name)
        if problem is None:
            section.skip(missing(name))
            continue
        rows.append(_measure(problem, section, options))
    section.add(table(["", *SOLVERS, "grafting / fastest other"], rows))
    return section


def _measure(problem: Problem, section: Section, options: Options) -> list[object]:
    l1 = SHARE * problem.largest_l1
    best = problem.objective(solve("grafting", problem, l1, 1e-11), l1)
    found = {name: _tolerance(name, problem, l1, best) for name in SOLVERS}
    say(f"{problem.name}: " + ", ".join(f"{k} {v}" for k, v in found.items()))
    methods = {
        name: _contestant(name, problem, l1, tol) for name, tol in found.items() if tol is not None
    }
    times = {name: t.best() for name, t in take_turns(methods, options.repeats).items()}
    ratio = times["grafting"] / min(t for name, t in times.items() if name != "grafting")
    section.aim(f"{problem.name}: time / fastest other", ratio, LIMIT)
    shape = "{:,} x {:,}".format(*problem.X.shape)
    cells = [f"{1e3 * times[name]:.1f}" if name in times else "given up" for name in SOLVERS]
    return [f"{problem.name}, {shape}", *cells, ratio]


def _tolerance(name: str, problem: Problem, l1: float, best: float) -> float | None:
    """The loosest tolerance that is good enough; None where it takes too long."""
    solve(name, problem, l1, 0.1)  # compiled before it is timed
    for tol in TOLERANCES:
        start = time.perf_counter()
        value = problem.objective(solve(name, problem, l1, tol), l1)
        seconds = time.perf_counter() - start
        if value <= best * (1.0 + EXCESS):
            return tol
        if seconds > MOST_SECONDS:
            return None
    return None


def _contestant(name: str, problem: Problem, l1: float, tol: float) -> Callable[[], Run]:
    def once() -> Run:
        start = time.perf_counter()
        w = solve(name, problem, l1, tol)
        return Run({"fit": time.perf_counter() - start}, int((w != 0).sum()), lambda _: None)

    return once
