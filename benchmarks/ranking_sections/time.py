"""Training time beside LightGBM's, binning included."""

from __future__ import annotations

from time import perf_counter, process_time

from common.measure import say
from common.options import Options
from common.table import Section, table

from ranking_sections.models import fit_lightgbm, ours, rounds
from ranking_sections.problems import problems
from secateur import AGBMRanker


def run(options: Options) -> Section:
    section = Section("time")
    rows = []
    params = ours(options, penalty=0.0, early_stopping=False)
    for problem in problems(options):
        if isinstance(problem, str):
            section.skip(problem)
            continue
        fits = {
            "LightGBM": lambda: fit_lightgbm(problem, options),  # noqa: B023  # at once
            "A-GBM": lambda: AGBMRanker(**params).fit(problem.X, problem.y, qid=problem.query),  # noqa: B023
        }
        best: dict[str, tuple[float, float]] = {}
        for repeat in range(options.repeats + 1):  # the first one compiles
            for name, fit in fits.items():
                say(f"{problem.name}, {name}")
                start, cpu = perf_counter(), process_time()
                fit()
                taken = perf_counter() - start, process_time() - cpu
                best[name] = taken if repeat < 2 else min(best[name], taken)
        (peer, peer_cpu), (own, own_cpu) = best.values()
        rows.append([problem.shape, peer, own, own / peer, peer_cpu, own_cpu, own_cpu / peer_cpu])
        section.aim(f"{problem.name}: seconds / LightGBM's", own / peer, 0.5)
    head = ["", "LightGBM, s", "A-GBM, s", "ratio", "LightGBM, CPU s", "A-GBM, CPU s", "ratio"]
    section.add(
        f"All features, LambdaRank, {rounds(options)} rounds; binning included. The best of "
        f"{options.repeats} after one that compiles.",
        table(head, rows),
    )
    return section
