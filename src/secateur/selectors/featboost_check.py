"""Whether a forward selection predicts rows that took no part in it better than a constant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.table import Fold
from secateur.data.target import are_counts
from secateur.engines.drive import drive
from secateur.engines.featboost.forward import ForwardSelection
from secateur.engines.featboost.neighbours import NeighbourModel, NeighbourTargets
from secateur.engines.fold_losses import FoldLosses, gain_over_none
from secateur.exceptions import ClusterError, ParameterError
from secateur.model_selection.folds import FEW_ROWS, draw_folds
from secateur.path import Best, SelectionPath, Step, StopReason
from secateur.path.comparing import is_small
from secateur.path.step import Score
from secateur.path.stopping import StoppingRule
from secateur.selectors.featboost_evaluators import MIN_PROBABILITY, SklearnFoldScorer
from secateur.typing import FloatArray, IntArray

N_FOLDS = 3  # in which the selection is repeated
# Standard errors that its gain must exceed: on noise, models of chosen columns lose to a constant.
MIN_GAIN = 1.0


def chance_gain(n_selected: int, n_features: int) -> float:
    """Standard errors that the best of n_features ** n_selected subsets may gain by chance."""
    return math.sqrt(2.0 * n_selected * math.log(n_features))


@dataclass(frozen=True, slots=True, eq=False)
class ConstantCheck:
    """Compares a selection, and selections on training rows by ``again``, with a constant.

    Row by row: wrong classes where the metric is the accuracy, the log loss for other metrics of
    classes, squared errors for regression. ``given`` is the input of the fit.
    """

    given: Any
    folds: Sequence[Fold]
    search: ForwardSelection
    again: Callable[[IntArray], ForwardSelection]
    rules: Sequence[StoppingRule]
    threads: Threads

    def finish(self, path: SelectionPath) -> SelectionPath:
        """The path, and a step without features if its best may be chance."""
        interrupted = replace(path, stop_reason=StopReason.INTERRUPTED)
        try:
            gain = self._gain_of(path)
        except KeyboardInterrupt:
            return interrupted
        except ClusterError as error:
            error.path = interrupted
            raise
        if gain is None:
            return path
        steps, best = list(path), Best().choose(path)
        details = {**steps[best].details, "gain_over_none": gain}
        steps[best] = replace(steps[best], details=details)
        if gain <= MIN_GAIN:  # a step without features, with the inner scores of a constant
            given, target = self.given, self.given.problem.target.values
            scorer = SklearnFoldScorer(given.problem, self.folds, given.scorer, given.metric)
            scores = [
                scorer(t, self._constant(fold), target[fold.test])
                for t, fold in enumerate(self.folds)
            ]
            score = Score.of(scores, origin="inner", metric=given.metric, greater_is_better=True)
            model = NeighbourModel(self._targets(slice(None)))
            seconds = steps[-1].seconds
            steps.append(Step.of([], cost=0.0, score=score, seconds=seconds, model=model))
        return replace(path, steps=tuple(steps))

    def _gain_of(self, path: SelectionPath) -> float | None:
        """The gain of repeated selections in standard errors; None where none are needed."""
        problem = self.given.problem
        is_short = path.stop_reason in {StopReason.INTERRUPTED, StopReason.TIME_LIMIT}
        has_kept = problem.cost_model.keep.any() or not path.n_features.all()
        if is_short or not len(path) or problem.n_rows < FEW_ROWS or has_kept:
            return None
        by_chance = chance_gain(int(path.n_features.max()), problem.table.n_features)
        if not is_small(self._gain(self.search.predictions()) - by_chance):
            return None
        try:
            target, seed, groups = problem.target, self.given.seed, self.given.row_groups
            outer = draw_folds(target, None, random_state=seed, groups=groups, default=N_FOLDS)
            searches = [self.again(fold.train) for fold in outer]
        except ParameterError:  # too few rows or groups for folds inside of folds
            return None
        return self._gain(self._predictions(path, outer, searches))

    def _predictions(
        self, path: SelectionPath, outer: Sequence[Fold], searches: Sequence[ForwardSelection]
    ) -> Iterator[tuple[Fold, FloatArray]]:
        """Predictions of the test rows of each fold by a selection on its training rows."""
        names: dict[str, Any] = {"feature_names": path.feature_names, "algorithm": path.algorithm}
        started = perf_counter() - path[-1].seconds  # of the fit: time limits go on
        for fold, search in zip(outer, searches, strict=True):
            found = drive(search.trace(), rules=self.rules, started=started, **names)
            if found.stop_reason is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            if not len(found):
                yield fold, self._constant(fold)
                continue
            table = self.given.problem.table.take(fold.test)
            yield fold, found[Best().choose(found)].model.response(table, self.threads)

    def _gain(self, predicted: Iterable[tuple[Fold, FloatArray]]) -> float:
        """How much predictions of test rows gain over a constant, in standard errors."""
        pairs = [(fold, response, self._constant(fold)) for fold, response in predicted]
        models = [self._losses(fold, response) for fold, response, _ in pairs]
        constants = [self._losses(fold, constant) for fold, _, constant in pairs]
        return gain_over_none(models, constants, self._loss)

    @property
    def _loss(self) -> str:
        if not self.given.problem.target.n_classes:
            return "squared_error"
        return "error" if self.given.metric == "accuracy" else "log_loss"

    def _losses(self, fold: Fold, response: FloatArray) -> FoldLosses:
        weight, target = self.given.problem.weight, self.given.problem.target
        true = target.values[fold.test]
        if self._loss == "squared_error":
            losses = (true - response) ** 2
        else:
            codes = true.astype(np.int64)
            if response.ndim == 1:  # the classes that an estimator predicts
                response = np.eye(target.n_classes)[response.astype(np.int64)]
            losses = (response.argmax(axis=1) != codes).astype(np.float64)
            if self._loss == "log_loss":
                share = response[np.arange(len(codes)), codes]
                losses = -np.log(np.clip(share, MIN_PROBABILITY, 1.0))
        return FoldLosses(losses, weight[fold.test], counts=are_counts(weight))

    def _targets(self, rows: IntArray | slice) -> NeighbourTargets:
        target, weight = self.given.problem.target, self.given.problem.weight
        return NeighbourTargets(target.values[rows], weight[rows], target.n_classes, 1)

    def _constant(self, fold: Fold) -> FloatArray:
        """The prediction of test rows from the training rows, without features."""
        return self._targets(fold.train).constant(len(fold.test))
