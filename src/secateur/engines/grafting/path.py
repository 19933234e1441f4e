"""Paths of linear grafting: a falling grid of L1 prices, warm-started and judged by folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from secateur.data.folds import Fold
from secateur.engines.fold_losses import pool
from secateur.engines.grafting.columns import GraftingData, GraftingParams
from secateur.engines.grafting.linear import Certificate, LinearGrafting, Solving, together
from secateur.path.step import Step
from secateur.typing import BoolArray, IntArray

GRID_POINTS = 40
"""L1 prices that "auto" tries."""

GRID_BOTTOM = 1e-3
"""The smallest of them, as a share of the one that keeps everything out."""

WIDE_BOTTOM = 1e-2
"""The same where there are more features than rows: below it rows are fitted by heart."""

APPROACH = 20
"""Prices on the way down to a single one, where only so many features may enter."""


class LinearRun:
    """Linear grafting on the training rows of one fold, from price to price."""

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        self._data, self._params, self.fold = data, params, fold
        view = data.view(fold.train, params)
        self.core = LinearGrafting(view, params, data.alpha(np.empty(0, np.int64)))

    def advance(self, l1: float) -> Certificate:
        """Go to the optimum at the next price."""
        return together([self.advancing(l1)])[0]

    def advancing(self, l1: float) -> Solving:
        """The same, side by side with others."""
        if not self._data.prices.is_plain:
            self.core.alpha = self._data.alpha(self.core.support())
        most = self._params.max_features
        if most is None or self.core.allowed is not None:
            return (yield from self.core.solving(l1))
        before, support = self.core.state.copy(), self.core.support()
        certificate = yield from self.core.solving(l1)
        if len(self._with_kept(self.core.support())) > most:
            after = self.core.support()
            self.core.state = before
            self.core.allowed = self._first(support, after, most)
            certificate = yield from self.core.solving(l1)
        return certificate

    def _with_kept(self, support: IntArray) -> IntArray:
        return np.union1d(support, np.flatnonzero(self._data.prices.keep))

    def _first(self, support: IntArray, after: IntArray, most: int) -> BoolArray:
        """The features that may stay: those in use, and the newcomers that violated most."""
        _, gradient = self.core.gradient()
        new = np.setdiff1d(after, self._with_kept(support))
        alpha = self.core.alpha[new]
        pull = np.abs(gradient[:, new]).max(axis=0) / np.where(alpha > 0.0, alpha, 1.0)
        kept = self._with_kept(support)
        chosen = new[np.argsort(-pull, kind="stable")][: most - len(kept)]
        allowed = np.zeros(len(self.core.alpha), np.bool_)
        allowed[kept] = allowed[chosen] = True
        return allowed

    def step(self, l1: float, certificate: Certificate) -> Step:
        """The state as a step of a path."""
        core = self.core
        order = core.support()
        kept = np.flatnonzero(self._data.prices.keep)
        order = np.concatenate([kept[~np.isin(kept, order)], order])
        return Step.of(
            order,
            np.abs(core.state.weight).sum(axis=0),
            penalty=l1,
            objective=core.value(l1),
            model=core.model(),
            details={
                "rounds": certificate.n_rounds,
                "grafts": core.n_grafts,
                "violation": certificate.violation,
                "gap": certificate.gap,
            },
        )


class GridTrace:
    """A falling grid of L1 prices: one step for each, judged by rows that took no part."""

    def __init__(self, data: GraftingData, params: GraftingParams, folds: Sequence[Fold]) -> None:
        self._data = data
        self._whole = LinearRun(data, params, data.everything)
        self._runs = [LinearRun(data, params, fold) for fold in folds]

    def grid(self) -> list[float]:
        """Falling prices, from the smallest that keeps everything out."""
        top = self._whole.core.largest_l1()
        if top == 0.0:
            return [0.0]
        columns = self._data.columns
        bottom = GRID_BOTTOM if columns.n_rows >= columns.n_features else WIDE_BOTTOM
        return [float(value) for value in np.geomspace(top, bottom * top, GRID_POINTS)]

    def steps(
        self, prices: Sequence[float], on_round: Callable[[], None] = lambda: None
    ) -> Iterator[Step]:
        """One step per price, from dear to cheap."""
        for l1 in prices:
            runs = [*self._runs, self._whole]
            *_, certificate = together([run.advancing(l1) for run in runs])
            fold_losses = []
            for run in self._runs:
                fold_losses.append(self._data.fold_losses(run.fold, run.core.state.raw))
                on_round()
            score = None
            if fold_losses:
                score = pool(fold_losses, origin="held_out", metric=self._data.loss.name)
            step = self._whole.step(l1, certificate)
            on_round()
            yield replace(step, score=score)

    def approach(self, l1: float) -> list[float]:
        """Prices that lead down to one, so that features enter in their order."""
        top = self._whole.core.largest_l1()
        if l1 >= top:
            return [l1]
        return [float(value) for value in np.geomspace(top, max(l1, 1e-6 * top), APPROACH)[:-1]]

    def walk(self, prices: Sequence[float]) -> None:
        """Go along some prices without a step for each."""
        for l1 in prices:
            self._whole.advance(l1)
