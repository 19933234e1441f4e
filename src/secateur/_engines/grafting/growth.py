"""Paths of grafts: one weight more at each step, in all folds side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur._engines.grafting.data import GraftingData
from secateur._engines.grafting.greedy import Graft, graft_one_by_one
from secateur._engines.grafting.growing_linear import GrowingLinear
from secateur._engines.grafting.growing_network import GrowingNetwork
from secateur._engines.grafting.params import GraftingParams
from secateur.evaluation.cross_trace import pool
from secateur.evaluation.folds import Fold
from secateur.path.step import Score, Step

GREEDY_SHARE = {"linear": 0.02, "mlp": 0.005}
"""The L1 price that "auto" takes for grafts one by one, as a share of the largest."""


class GraftRun:
    """Grafts on the training rows of one fold."""

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        self.fold = fold
        self._data, self._params = data, params
        view = data.view(fold.train, params)
        alpha = data.alpha(np.empty(0, np.int64))
        self.growing: Any
        if params.model == "mlp":
            self.growing = GrowingNetwork(view, params, alpha, data.unit)
        else:
            self.growing = GrowingLinear(view, params, alpha)
        self._grafts = graft_one_by_one(self.growing, params, data.prices, alpha)
        self.latest: Graft | None = None

    def advance(self) -> bool:
        """One graft more; False where the criterion would rise."""
        graft = next(self._grafts, None)
        self.latest = graft or self.latest
        return graft is not None

    def step(self) -> Step:
        """The state as a step of a path."""
        order = self.growing.support()
        kept = np.flatnonzero(self._data.prices.keep)
        order = np.concatenate([kept[~np.isin(kept, order)], order])
        graft = self.latest or Graft(np.nan, 0)
        return Step.of(
            order,
            self.growing.importances(),
            control=self._params.l1,
            objective=graft.criterion,
            model=self.growing.model(),
            details={
                "grafts": graft.n_grafts,
                "rounds": max(1, graft.n_grafts),
                **self.growing.certificate(),
            },
        )


def largest_l1(data: GraftingData, params: GraftingParams) -> float:
    """The smallest L1 price that keeps every weight out."""
    run = GraftRun(data, params, data.everything)
    return float(run.growing.largest_l1())


def trace_grafts(
    data: GraftingData,
    params: GraftingParams,
    folds: Sequence[Fold],
    on_round: Callable[[], None] = lambda: None,
) -> Iterator[Step]:
    """One step per graft; folds graft as many weights as all rows together, or until they end."""
    whole = GraftRun(data, params, data.everything)
    runs = [GraftRun(data, params, fold) for fold in folds]
    while whole.advance():
        for run in runs:
            run.advance()
            on_round()
        on_round()
        yield replace(whole.step(), score=_judge(data, runs))


def _judge(data: GraftingData, runs: Sequence[GraftRun]) -> Score | None:
    if not runs:
        return None
    verdicts = [data.verdict(run.fold, run.growing.raw) for run in runs]
    return pool(verdicts, origin="held_out", metric=data.loss.name)
