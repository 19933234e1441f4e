"""NDCG of all features, at equal rounds, depth and rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from common.measure import say
from common.options import Options
from common.table import Section, table

from ranking_sections.models import DEPTH, RATE, fit_lightgbm, ours, rounds
from ranking_sections.problems import Queries
from secateur import AGBMRanker

LOSSES = ("lambdarank", "pairwise", "xendcg")


def _values(problem: Queries, options: Options) -> list[Any]:
    """NDCG@10 of the test queries, by LightGBM and by each of our losses."""
    say(problem.name)
    found = [problem.ndcg(fit_lightgbm(problem, options).predict(problem.X_test))]
    for loss in LOSSES:
        params = ours(options, penalty=0.0, early_stopping=False, loss=loss)
        model = AGBMRanker(**params).fit(problem.X, problem.y, qid=problem.query)
        found.append(problem.ndcg(model.predict(problem.X_test)))
    return found


def run(options: Options, title: str, problems: Any) -> Section:
    section = Section(title, is_timed=False)
    rows = []
    for problem in problems(options):
        if isinstance(problem, str):
            section.skip(problem)
            continue
        parts, shape = [], ""
        for draw in problem.draws():
            parts.append(_values(draw, options))
            shape = problem.shape(draw)
        peer, *found = [np.concatenate(values).mean() for values in zip(*parts, strict=True)]
        rows.append([shape, *(f"{value:.4f}" for value in (peer, *found))])
        section.aim(f"{problem.name}: LightGBM less LambdaRank", peer - found[0], 0.005)
    if rows:
        section.add(
            f"NDCG@10 of test queries, {rounds(options)} rounds of depth {DEPTH} at rate {RATE:g}, "
            "no penalty, no early stopping.",
            table(["", "LightGBM lambdarank", *LOSSES], rows),
        )
    return section
