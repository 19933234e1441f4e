"""The evaluator of forward selection: cross-validated scores of subsets, here or on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from secateur.data.table import Fold
from secateur.execution.dask import DaskExecutor
from secateur.typing import AnyArray, FloatArray, IntArray

# The score of predictions (values, or probabilities of shape (n_test, n_classes)) of the test rows
# of a fold, given its number and the target of these rows; larger is better.
FoldScorer = Callable[[int, FloatArray, AnyArray], float]
PARTS_PER_SLOT = 2  # parts of the candidates per thread: fast workers take another


class Evaluator:
    """H2 of Algorithm 1: scores of feature subsets in each fold; larger is better.

    Subclasses supply ``subset_scores(subsets, target)``, of shape (n_subsets, n_folds), or
    ``scores`` and ``current``; ``held_out(features, t, target)``, predictions of the test rows of
    fold t; and ``model()``, on the accepted features, fitted to all rows. Those that can be rankers
    (H1) have ``rank(target, weight)``, the importance >= 0 of every feature in a fit to all rows
    (weight None: their own), and for each row in a fit to some features alone ``losses(features)``,
    >= 0, and ``errors(features)``, 1 where the class is wrong.
    """

    subset_scores: Callable[..., FloatArray]
    held_out: Callable[..., FloatArray]
    model: Callable[[], Any]
    rank: Callable[..., FloatArray]
    losses: Callable[[IntArray], FloatArray]
    errors: Callable[[IntArray], FloatArray]

    def __init__(self, target: AnyArray, folds: Sequence[Fold]) -> None:
        self.target = target
        self.folds = folds
        self.features: list[int] = []

    def accept(self, feature: int) -> None:
        """Add a feature to the accepted ones."""
        self.features.append(feature)

    def scores(self, candidates: IntArray, target: FloatArray | None = None) -> FloatArray:
        """Scores with each candidate, (n_candidates, n_folds); of each alone for another target."""
        accepted = self.features if target is None else []
        subsets = [np.array([*accepted, int(j)]) for j in candidates]
        return self.subset_scores(subsets, self.target if target is None else target)

    def current(self) -> FloatArray:
        """Scores of the accepted features in each fold; there must be some."""
        return self.subset_scores([np.array(self.features)], self.target)[0]

    def predicted(self, target: FloatArray) -> FloatArray:
        """Held-out predictions of another target from the accepted features; 0 where untested."""
        total, times = np.zeros(len(target)), np.zeros(len(target))
        for t, fold in enumerate(self.folds):
            total[fold.test] += self.held_out(np.array(self.features), t, target)
            times[fold.test] += 1.0
        return np.divide(total, times, out=np.zeros(len(target)), where=times > 0.0)


class EvaluatorCopy:
    """The pickled evaluator, and on a worker a copy that follows the accepted features."""

    def __init__(self, initial: bytes) -> None:
        self._initial = initial
        self._lock = Lock()
        self._working: Evaluator | None = None

    def __reduce__(self) -> tuple[type[EvaluatorCopy], tuple[bytes]]:
        return EvaluatorCopy, (self._initial,)

    def scores(self, trials: tuple[Sequence[int], IntArray, FloatArray | None]) -> FloatArray:
        """Scores of some candidates, after the accepted features; runs on a worker."""
        accepted, candidates, target = trials
        with self._lock:
            working = self._working
            if working is None or len(accepted) < len(working.features):
                working = self._working = pickle.loads(self._initial)  # noqa: S301 - from our own client
            for feature in accepted[len(working.features) :]:
                working.accept(feature)
        return working.scores(candidates, target)


def distributed_scores(evaluator: Evaluator, executor: DaskExecutor) -> Callable[..., FloatArray]:
    """`Evaluator.scores` on the workers of a cluster, each with a copy; scores are identical."""
    copy = executor.share(EvaluatorCopy(executor.pack(evaluator)), "evaluator")

    def scores(candidates: IntArray, target: FloatArray | None = None) -> FloatArray:
        n_parts = min(len(candidates), PARTS_PER_SLOT * sum(executor.workers().values()))
        if n_parts < 2:  # not worth sending
            return evaluator.scores(candidates, target)
        parts = np.array_split(candidates, n_parts)
        tasks = [(tuple(evaluator.features), part, target) for part in parts]
        return np.concatenate(executor.map(EvaluatorCopy.scores, tasks, copy, "candidates"))

    return scores
