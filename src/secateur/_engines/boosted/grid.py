"""Many fits on one binning: a falling grid of penalties, judged by folds, one step for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._data.prices import Prices
from secateur._data.rebinned import Category
from secateur._data.weights import are_counts
from secateur._engines.boosted import rows
from secateur._engines.boosted.given import GivenRows
from secateur._engines.boosted.groups import Groups
from secateur._engines.boosted.ledger import Ledger
from secateur._engines.boosted.params import BoostingParams
from secateur._engines.boosted.trace import trace_boosted
from secateur._engines.boosted.tree import Tree
from secateur._execution.places import FitRows, MemoryPlace, Place
from secateur._kernels.threads import Threads
from secateur.evaluation.cross_trace import Verdict, pool
from secateur.evaluation.folds import Fold, all_rows
from secateur.path.step import Score, Step
from secateur.typing import Executor, FloatArray, IntArray, Loss


@dataclass(frozen=True, slots=True, eq=False)
class BoostedData:
    """Binned rows and everything that does not change from fit to fit.

    ``place`` is where the rows are, if it is not in ``columns``; ``rows`` are those that the fits
    are about, if not all; ``category`` is one more column, the last of ``columns``.
    """

    columns: BinnedColumns
    target: FloatArray
    weight: FloatArray
    loss: Loss
    prices: Prices
    threads: Threads
    given: GivenRows | None = None
    groups: Groups | None = None
    place: Place | None = None
    rows: IntArray | None = None
    category: Category | None = None

    @property
    def where(self) -> Place:
        """Where the rows are: in ``columns`` if nothing else is said."""
        if self.place is not None:
            return self.place
        pooled = None if self.groups is None else self.groups.codes
        return MemoryPlace(self.columns, self.threads, pooled)

    def executor(self, fold: Fold) -> Executor:
        """Who computes on the rows for one fit."""
        train, test = np.sort(fold.train), np.sort(fold.test)
        n_outputs = self.loss.n_outputs
        asked = FitRows(self.target, self.weight, train, test, n_outputs, self.category)
        return self.where.executor(asked)

    @property
    def everything(self) -> Fold:
        """All rows train, or all that are meant; none judges."""
        if self.rows is None:
            return all_rows(len(self.target))
        return Fold(self.rows, np.empty(0, np.int64))

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
        done: Sequence[list[Tree]] = (),
    ) -> BoostedRun:
        """A fit on one fold, not yet begun; purchases go to the ledger, if there is one.

        ``done`` are rounds that are there already.
        """
        return BoostedRun(self, fold, params, ledger, done=done)


class BoostedRun:
    """One fit: its steps, and the verdict of the rows that do not train."""

    def __init__(
        self,
        data: BoostedData,
        fold: Fold,
        params: BoostingParams,
        ledger: Ledger | None = None,
        *,
        done: Sequence[list[Tree]] = (),
    ) -> None:
        self._data = data
        self._weight = data.weight[np.sort(fold.test)]
        self._counts = are_counts(data.weight)
        self._executor = data.executor(fold)
        steps = trace_boosted(
            self._executor,
            data.columns,
            data.loss,
            data.prices,
            params,
            data.threads,
            None if data.groups is None else data.groups.plan,
            ledger,
            done=done,
        )
        self.steps: Iterator[Step] = _closing(steps, self._executor)

    def verdict(self, step: Step) -> Verdict:
        """What the rows that judge say of the latest step."""
        if self._data.given is not None:
            return self._data.given.verdict(step, self._data.loss, self._data.threads)
        losses = np.concatenate(self._executor.each(rows.held_losses, self._data.loss))
        return Verdict(losses, self._weight, counts=self._counts)

    def score(self, step: Step) -> Score:
        """The inner score of the latest step."""
        return pool([self.verdict(step)], origin="inner", metric=self._data.loss.name)


def _closing(steps: Iterator[Step], executor: Executor) -> Iterator[Step]:
    """The same steps; however they end, those who have the rows are told."""
    try:
        yield from steps
    finally:
        executor.close()


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
    """How penalties are tried: the folds that judge, and when a fold has seen enough rounds.

    ``done`` are the steps of penalties that were tried before; ``on_judged`` hears what each fold
    says of a penalty, at the round that is kept.
    """

    penalties: Sequence[float]
    folds: Sequence[Fold]
    patience: int
    on_round: Callable[[], None] = lambda: None
    done: Mapping[float, Step] = field(default_factory=dict)
    on_judged: Callable[[float, Sequence[Verdict]], None] | None = None


def trace_grid(data: AnyData, params: BoostingParams, grid: Grid) -> Iterator[Step]:
    """One step per penalty, from dear to cheap, each with its held-out score.

    Every penalty is traced in each fold; the number of rounds is the one that the folds together
    like best, and all rows then train for so many rounds. A single held-out part stays out: the
    step is the fit on the others, at its best round. Without folds all rows train to the end and
    nothing is scored.
    """
    for penalty in grid.penalties:
        priced = replace(params, penalty=penalty)
        if penalty in grid.done:
            yield grid.done[penalty]
            continue
        if not grid.folds:
            yield _train(data, priced, grid)
            continue
        rounds, verdicts = _judge(data, priced, grid)
        best = min(rounds, key=lambda each: _order(each.score))
        if grid.on_judged is not None:
            grid.on_judged(penalty, verdicts)
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


def _judge(data: AnyData, params: BoostingParams, grid: Grid) -> tuple[list[_Round], list[Verdict]]:
    """Trace all folds side by side, until together they have not improved for a while.

    The verdicts are those of the best round, if somebody wants them: they hold the losses of rows.
    """
    runs = [data.run(fold, params) for fold in grid.folds]
    rounds: list[_Round] = []
    best = 0
    kept: list[Verdict] = []
    for steps in zip(*(run.steps for run in runs), strict=True):
        verdicts = [run.verdict(step) for run, step in zip(runs, steps, strict=True)]
        score = pool(verdicts, origin="held_out", metric=data.metric)
        rounds.append(_Round(steps, score))
        for _ in runs:
            grid.on_round()
        if len(rounds) == 1 or _order(score) < _order(rounds[best].score):
            best = len(rounds) - 1
            kept = [] if grid.on_judged is None else verdicts
        elif len(rounds) - 1 - best >= grid.patience:
            break  # the rounds after this would only fit noise
    return rounds, kept


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
