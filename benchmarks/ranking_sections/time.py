"""Training time beside LightGBM's, binning included."""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Any

from common.measure import say
from common.options import Options
from common.table import Section, table

from ranking_sections.models import fit_lightgbm, ours, rounds
from ranking_sections.problems import Queries
from secateur import AGBMRanker


def _times(draw: Queries, options: Options) -> list[tuple[float, float]]:
    """Seconds and CPU seconds of LightGBM and of A-GBM, the best of some turns."""
    params = ours(options, penalty=0.0, early_stopping=False)
    fits = {
        "LightGBM": lambda: fit_lightgbm(draw, options),
        "A-GBM": lambda: AGBMRanker(**params).fit(draw.X, draw.y, qid=draw.query),
    }
    best: dict[str, tuple[float, float]] = {}
    for repeat in range(options.repeats + 1):  # the first one compiles
        for name, fit in fits.items():
            say(f"{draw.name}, {name}")
            start, cpu = perf_counter(), process_time()
            fit()
            taken = perf_counter() - start, process_time() - cpu
            best[name] = taken if repeat < 2 else min(best[name], taken)
    return [*best.values()]


def run(options: Options, title: str, problems: Any) -> Section:
    section, rows = Section(title), []
    for problem in problems(options):
        if isinstance(problem, str):
            section.skip(problem)
            continue
        draw = next(problem.draws())
        (peer, peer_cpu), (own, own_cpu) = _times(draw, options)
        rows.append(
            [problem.shape(draw), peer, own, own / peer, peer_cpu, own_cpu, own_cpu / peer_cpu]
        )
        if problem.is_large:  # the target is for this one
            section.aim(f"{problem.name}: seconds / LightGBM's", own / peer, 0.5)
    head = ["", "LightGBM, s", "A-GBM, s", "ratio", "LightGBM, CPU s", "A-GBM, CPU s", "ratio"]
    if rows:
        section.add(
            f"All features, LambdaRank, {rounds(options)} rounds; binning included. The best of "
            f"{options.repeats} after one that compiles.",
            table(head, rows),
        )
    return section
