"""Candidates scored by the workers of a cluster, each with a copy of the evaluator."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from secateur.engines.featboost.candidates import Evaluator
from secateur.path.step import Score
from secateur.typing import FloatArray, IntArray, TaskExecutor

# Parts of the candidates per worker thread, so that fast workers can take another.
PARTS_PER_SLOT = 2


class Trials(NamedTuple):
    """Candidates for one worker, and the accepted features; with a ``target`` scored alone."""

    accepted: Sequence[int]
    candidates: IntArray
    target: FloatArray | None = None


class EvaluatorCopy:
    """A pickled evaluator without features, and a working copy with the accepted ones."""

    def __init__(self, initial: bytes) -> None:
        self._initial = initial
        self._lock = Lock()
        self._working: Any = None
        self._n_accepted = 0

    def __reduce__(self) -> tuple[type[EvaluatorCopy], tuple[bytes]]:
        return EvaluatorCopy, (self._initial,)

    def after(self, accepted: Sequence[int]) -> Evaluator:
        """The evaluator with these features accepted."""
        with self._lock:
            if self._working is None or len(accepted) < self._n_accepted:
                self._working = pickle.loads(self._initial)  # noqa: S301 - from our own client
                self._n_accepted = 0
            for feature in accepted[self._n_accepted :]:
                self._working.accept(feature)
            self._n_accepted = len(accepted)
            working: Evaluator = self._working
            return working


def score_candidates(copy: EvaluatorCopy, trials: Trials) -> FloatArray:
    """Scores of some candidates, shape (n_candidates, n_folds); runs on a worker."""
    return _scores(copy.after(trials.accepted), trials.candidates, trials.target)


def _scores(evaluator: Evaluator, candidates: IntArray, target: FloatArray | None) -> FloatArray:
    """With the accepted features, or alone for another target."""
    return evaluator.scores(candidates) if target is None else evaluator.alone(candidates, target)


class DistributedEvaluator:
    """An evaluator whose candidates are scored on a cluster; the scores are identical."""

    def __init__(self, local: Evaluator, executor: TaskExecutor) -> None:
        self._local = local
        self._executor = executor
        self._copy = executor.share(EvaluatorCopy(executor.pack(local)), "evaluator")
        self._accepted: list[int] = []

    def accept(self, feature: int) -> None:
        """Add a feature; copies get it with their next candidates."""
        self._local.accept(feature)
        self._accepted.append(feature)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores with each candidate, shape (n_candidates, n_folds)."""
        return self._scores(candidates, None)

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate alone for another target."""
        return self._scores(candidates, target)

    def _scores(self, candidates: IntArray, target: FloatArray | None) -> FloatArray:
        n_parts = min(len(candidates), PARTS_PER_SLOT * self._executor.n_slots)
        if n_parts < 2:  # not worth sending
            return _scores(self._local, candidates, target)
        tasks = [
            Trials(tuple(self._accepted), part, target)
            for part in np.array_split(candidates, n_parts)
        ]
        found = self._executor.map(score_candidates, tasks, self._copy, "candidates")
        return np.concatenate(found)

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        return self._local.current()

    def predicted(self, target: FloatArray) -> FloatArray:
        """Held-out predictions of another target."""
        return self._local.predicted(target)

    def score(self, folds: FloatArray) -> Score:
        """The scores of the folds as one score."""
        return self._local.score(folds)

    def model(self) -> Any:
        """A model on the accepted features, fitted to all rows."""
        return self._local.model()
