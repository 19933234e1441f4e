"""NDCG of 10 and 20 features: A-GBM and GBFS, LightGBM's top-k by gain, and its CEGB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common.kept import Kept
from common.measure import say
from common.options import Options
from common.table import Section, table

from ranking_sections.models import cegb, fit_lightgbm, gains, ours
from ranking_sections.problems import Problem, Queries
from secateur import AGBMRanker, GBFSRanker

SIZES = (10, 20)
TEXT = (
    "NDCG@10 of test queries, in brackets the number of features. All subsets are judged by the "
    "same model, LightGBM's LambdaRank fitted again to the selected features. GBFS and A-GBM keep "
    "what they choose with `max_features`, CEGB the most features of its penalties that are at "
    "most so many."
)


def _selected(cls: Any) -> Callable[[Queries, Options, int], Any]:
    def select(problem: Queries, options: Options, size: int) -> Any:
        params = ours(options, max_features=size)
        ranker = cls(**params).fit(problem.X, problem.y, qid=problem.query)
        return ranker.get_support(indices=True)

    return select


def _top(problem: Queries, options: Options, size: int) -> Any:
    return np.sort(np.argsort(-gains(problem, options)[0], kind="stable")[:size])


METHODS = {
    "top-k": _top,
    "CEGB": cegb,
    "GBFS": _selected(GBFSRanker),
    "A-GBM": _selected(AGBMRanker),
}


def _piece(draw: Queries, options: Options, size: int, name: str) -> dict[str, Any]:
    """The features that a method selects, and NDCG@10 of the test queries with them."""
    say(f"{draw.name}, {size} features, {name}")
    chosen = METHODS[name](draw, options, size)
    model = fit_lightgbm(draw, options, chosen)
    values = draw.ndcg(model.predict(draw.X_test[:, chosen]))
    return {"features": chosen.tolist(), "ndcg": values.tolist()}


def _found(problem: Problem, options: Options) -> tuple[dict[tuple[int, str], list[Any]], str]:
    """The pieces of all draws, by size and method; what was run before is not run again.

    Also the shape of a draw.
    """
    kept = Kept("ranking", quick=options.quick)
    found: dict[tuple[int, str], list[Any]] = {
        (size, name): [] for size in SIZES for name in METHODS
    }
    shape = ""
    for draw in problem.draws():
        shape = problem.shape(draw)
        for (size, name), pieces in found.items():
            piece = f"{draw.name} {size} {name}".replace(" ", "_")
            pieces.append(kept.get(piece, lambda: _piece(draw, options, size, name)))  # noqa: B023
    return found, shape


def run(options: Options, title: str, problems: Any) -> Section:
    section = Section(title, is_timed=False)
    rows, differences = [], []
    for problem in problems(options):
        if isinstance(problem, str):
            section.skip(problem)
            continue
        found, shape = _found(problem, options)
        for size in SIZES:
            cells, values = [], {}
            for name in METHODS:
                pieces = found[size, name]
                values[name] = np.concatenate([piece["ndcg"] for piece in pieces])
                n_features = np.mean([len(piece["features"]) for piece in pieces])
                cells.append(f"{values[name].mean():.4f} ({n_features:g})")
            rows.append([shape, size, *cells])
            for peer in ("top-k", "CEGB"):
                worse = values[peer] - values["A-GBM"]
                what, error = f"{problem.name}, {size}: {peer} less A-GBM", _error(worse)
                section.aim(what, float(worse.mean()), 0.0)
                differences.append([what, f"{worse.mean():.4f}", f"{error:.4f}", len(worse)])
    if rows:
        head = ["paired difference of NDCG@10", "mean", "standard error", "test queries"]
        section.add(TEXT, table(["", "at most", *METHODS], rows), table(head, differences))
    return section


def _error(values: Any) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / len(values) ** 0.5)
