"""Many fits on one binning: a falling grid of penalties, judged by folds, one step for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._data.prices import Prices
from secateur._data.weights import are_counts
from secateur._engines.boosted import rows
from secateur._engines.boosted.given import GivenRows
from secateur._engines.boosted.groups import Groups
from secateur._engines.boosted.ledger import Ledger
from secateur._engines.boosted.params import BoostingParams
from secateur._engines.boosted.shared_rows import take_over, tell_predictions
from secateur._engines.boosted.trace import trace_boosted
from secateur._execution.blocks import RowBlock
from secateur._execution.local import LocalExecutor
from secateur._kernels.threads import Threads
from secateur.evaluation.cross_trace import Verdict, pool
from secateur.evaluation.folds import Fold, all_rows
from secateur.path.step import Score, Step
from secateur.typing import FloatArray, IntArray, Loss

GRID_POINTS = 8
"""Penalties that "auto" tries."""

GRID_TOP = 0.25
"""The largest of them, as a share of the best gain that any single split has at the start."""

GRID_BOTTOM = 0.002
"""The smallest, likewise."""


@dataclass(frozen=True, slots=True, eq=False)
class BoostedData:
    """Binned rows and everything that does not change from fit to fit."""

    columns: BinnedColumns
    target: FloatArray
    weight: FloatArray
    loss: Loss
    prices: Prices
    threads: Threads
    given: GivenRows | None = None
    groups: Groups | None = None

    @property
    def everything(self) -> Fold:
        """All rows train, none judges."""
        return all_rows(len(self.target))

    @property
    def metric(self) -> str:
        """What verdicts are measured in."""
        return self.loss.name

    def run(
        self,
        fold: Fold,
        params: BoostingParams,
        ledger: Ledger | None = None,
        *,
        is_added: bool = False,
    ) -> BoostedRun:
        """A fit on one fold, not yet begun; purchases go to the ledger, if there is one.

        With ``is_added`` it is added to predictions that ``take_over`` brings.
        """
        return BoostedRun(self, fold, params, ledger, is_added=is_added)


class BoostedRun:
    """One fit: its steps, and the verdict of the rows that do not train."""

    def __init__(
        self,
        data: BoostedData,
        fold: Fold,
        params: BoostingParams,
        ledger: Ledger | None = None,
        *,
        is_added: bool = False,
    ) -> None:
        self._data = data
        self._weight = data.weight[fold.test]
        self._counts = are_counts(data.weight)
        block = RowBlock(
            data.columns,
            data.target,
            data.weight,
            np.sort(fold.train).astype(np.uint32),
            fold.test.astype(np.uint32),
            data.loss.n_outputs,
            data.threads,
            pooled=None if data.groups is None else data.groups.codes,
            offset=np.zeros((data.loss.n_outputs, data.columns.n_rows)) if is_added else None,
        )
        self._executor = LocalExecutor([block])
        self.steps: Iterator[Step] = trace_boosted(
            self._executor,
            data.columns,
            data.loss,
            data.prices,
            params,
            data.threads,
            None if data.groups is None else data.groups.plan,
            ledger,
            is_added=is_added,
        )

    def predictions(self) -> FloatArray:
        """The raw predictions of all rows so far."""
        return np.concatenate(self._executor.each(tell_predictions), axis=1)

    def take_over(self, place: IntArray, raw: FloatArray) -> None:
        """Go on from the predictions of others at some rows."""
        self._executor.each(take_over, place, raw)

    def verdict(self, step: Step) -> Verdict:
        """What the rows that judge say of the latest step."""
        if self._data.given is not None:
            return self._data.given.verdict(step, self._data.loss, self._data.threads)
        losses = np.concatenate(self._executor.each(rows.held_losses, self._data.loss))
        return Verdict(losses, self._weight, counts=self._counts)

    def score(self, step: Step) -> Score:
        """The inner score of the latest step."""
        return pool([self.verdict(step)], origin="inner", metric=self._data.loss.name)


class AnyRun(Protocol):
    """A fit as a grid sees it."""

    steps: Iterator[Step]

    def verdict(self, step: Step) -> Verdict:
        """What the rows that judge say of the latest step."""


class AnyData(Protocol):
    """Rows that a grid can fit again and again: those of one task, or of several."""

    @property
    def everything(self) -> Fold:
        """All rows train, none judges."""

    @property
    def metric(self) -> str:
        """What verdicts are measured in."""

    def run(self, fold: Fold, params: BoostingParams) -> AnyRun:
        """A fit on one fold, not yet begun."""


@dataclass(frozen=True, slots=True)
class Grid:
    """How penalties are tried: the folds that judge, and when a fold has seen enough rounds."""

    penalties: Sequence[float]
    folds: Sequence[Fold]
    patience: int
    on_round: Callable[[], None] = lambda: None


def trace_grid(data: AnyData, params: BoostingParams, grid: Grid) -> Iterator[Step]:
    """One step per penalty, from dear to cheap, each with its held-out score.

    Every penalty is traced in each fold; the number of rounds is the one that the folds together
    like best, and all rows then train for so many rounds. A single held-out part stays out: the
    step is the fit on the others, at its best round. Without folds all rows train to the end and
    nothing is scored.
    """
    for penalty in grid.penalties:
        priced = replace(params, penalty=penalty)
        if not grid.folds:
            yield _train(data, priced, grid)
            continue
        rounds = _judge(data, priced, grid)
        best = min(rounds, key=lambda each: _order(each.score))
        step = best.steps[0]
        if len(grid.folds) > 1:
            n_rounds = rounds.index(best) + 1
            step = _train(data, replace(priced, n_rounds=n_rounds), grid)
        yield replace(step, score=best.score)


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """A round of all folds: the step of each, and what their rows say together."""

    steps: tuple[Step, ...]
    score: Score


def _judge(data: AnyData, params: BoostingParams, grid: Grid) -> list[_Round]:
    """Trace all folds side by side, until together they have not improved for a while."""
    runs = [data.run(fold, params) for fold in grid.folds]
    rounds: list[_Round] = []
    best = 0
    for steps in zip(*(run.steps for run in runs), strict=True):
        verdicts = [run.verdict(step) for run, step in zip(runs, steps, strict=True)]
        score = pool(verdicts, origin="held_out", metric=data.metric)
        rounds.append(_Round(steps, score))
        for _ in runs:
            grid.on_round()
        if _order(score) < _order(rounds[best].score):
            best = len(rounds) - 1
        elif len(rounds) - 1 - best >= grid.patience:
            break  # the rounds after this would only fit noise
    return rounds


def _order(score: Score) -> float:
    """By the mean loss; what cannot be compared comes last."""
    return score.mean if score.is_usable else np.inf


def _train(data: AnyData, params: BoostingParams, grid: Grid) -> Step:
    """The last step of a fit on all rows."""
    steps = data.run(data.everything, params).steps
    last = next(steps)
    grid.on_round()
    for step in steps:
        last = step
        grid.on_round()
    return last


def penalty_grid(data: BoostedData, params: BoostingParams) -> list[float]:
    """Falling penalties, as shares of the best gain that one split has at the start."""
    return falling_from(best_gain(data, params))


def falling_from(top: float) -> list[float]:
    """The penalties of a grid, given the best gain of one split."""
    if top <= 0.0:
        return [0.0]
    return [float(p) for p in np.geomspace(GRID_TOP * top, GRID_BOTTOM * top, GRID_POINTS)]


def best_gain(data: BoostedData, params: BoostingParams) -> float:
    """The best gain that one split has at the start, set against what features cost on average.

    There every feature is new.
    """
    stump = replace(
        params,
        penalty=0.0,
        max_depth=1,
        n_rounds=1,
        max_features=None,
        cost_budget=None,
        subsample=1.0,
    )
    step = next(data.run(data.everything, stump).steps)
    gains = [float(tree.gain[0]) for tree in step.model.ensemble.rounds[0]]
    units = _root_errors(data, step.model.ensemble.baseline)
    if params.criterion == "gbfs":
        units = np.full(len(gains), 2.0)
    top = max((g / u for g, u in zip(gains, units, strict=True) if u > 0.0), default=0.0)
    return top / _typical_price(data.prices)


def _root_errors(data: BoostedData, baseline: FloatArray) -> FloatArray:
    """The squared error of the gradients of each output at the baseline."""
    raw = np.repeat(baseline[:, None], len(data.target), axis=1)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    data.loss.gradients(data.target, raw, gradient, hessian)
    centred = gradient - np.average(gradient, axis=1, weights=data.weight)[:, None]
    errors: FloatArray = (centred * centred) @ data.weight
    return errors


def _typical_price(prices: Prices) -> float:
    """What a feature that is not free costs on average."""
    now = prices.prices(prices.keep)
    paid = now[now > 0.0]
    return float(paid.mean()) if len(paid) else 1.0


def dearer(penalty: float, prices: Prices) -> tuple[float, float]:
    """Two penalties above a grid, so that there is a step for every limit: the first buys nothing.

    The grid begins at a quarter of the best gain there is, set against the mean price.
    """
    now = prices.prices(prices.keep)
    paid = now[now > 0.0]
    spread = float(paid.mean() / paid.min()) if len(paid) else 1.0
    return 5.0 * spread * penalty, 2.0 * penalty
