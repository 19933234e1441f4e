"""NDCG of 10 and 20 features: A-GBM and GBFS, LightGBM's top-k by gain, and its CEGB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common.measure import say
from common.options import Options
from common.table import Section, table

from ranking_sections.models import cegb, fit_lightgbm, gains, ours
from ranking_sections.problems import Queries, problems
from secateur import AGBMRanker, GBFSRanker

SIZES = (10, 20)


def _selected(cls: Any) -> Callable[[Queries, Options, int], Any]:
    def select(problem: Queries, options: Options, size: int) -> Any:
        params = ours(options, max_features=size)
        path = cls(**params).fit(problem.X, problem.y, qid=problem.query).path_
        last = [step for step in path if step.n_features <= size][::-1]
        return max(last, key=lambda step: step.n_features).support  # as CEGB, and as in `compare`

    return select


def _top(problem: Queries, options: Options, size: int) -> Any:
    return np.sort(np.argsort(-gains(problem, options)[0], kind="stable")[:size])


METHODS = {
    "top-k": _top,
    "CEGB": cegb,
    "GBFS": _selected(GBFSRanker),
    "A-GBM": _selected(AGBMRanker),
}


def run(options: Options) -> Section:
    section = Section("few", is_timed=False)
    rows = []
    for problem in problems(options):
        if isinstance(problem, str):
            section.skip(problem)
            continue
        for size in SIZES:
            found = {}
            for name, select in METHODS.items():
                say(f"{problem.name}, {size} features, {name}")
                chosen = select(problem, options, size)
                model = fit_lightgbm(problem, options, chosen)
                found[name] = problem.ndcg(model.predict(problem.X_test[:, chosen])), len(chosen)
            cells = [f"{score:.4f} ({n})" for score, n in found.values()]
            rows.append([problem.shape, size, *cells])
            for peer in ("top-k", "CEGB"):
                worse = found[peer][0] - found["A-GBM"][0]
                section.aim(f"{problem.name}, {size}: {peer} less A-GBM", worse, 0.0)
    section.add(
        "NDCG@10 of test queries, in brackets the number of features. All subsets are judged by "
        "the same model, LightGBM's LambdaRank fitted again to the selected features. Penalised "
        "methods give the most features that are at most so many.",
        table(["", "at most", *METHODS], rows),
    )
    return section
