"""Candidates tried by the workers of a cluster, each of which has a copy of the evaluator."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from secateur.engines.featboost.candidates import InputEvaluator
from secateur.path.step import Score
from secateur.typing import FloatArray, IntArray, TaskExecutor

PARTS = 2
"""Parts of the candidates for everybody who can try some: those who are quick take one more."""


class Trials(NamedTuple):
    """Candidates for one worker, with the features that were accepted before them.

    ``target`` is another target than that of the fit, for candidates by themselves.
    """

    accepted: Sequence[int]
    candidates: IntArray
    target: FloatArray | None = None


class Copies:
    """An evaluator before its first feature, and a copy that follows what is accepted.

    It travels as what it was at the beginning: a copy in the midst of its work would be torn.
    """

    def __init__(self, fresh: bytes) -> None:
        self._fresh = fresh
        self._lock = Lock()
        self._working: Any = None
        self._n_accepted = 0

    def __reduce__(self) -> tuple[type[Copies], tuple[bytes]]:
        return Copies, (self._fresh,)

    def after(self, accepted: Sequence[int]) -> InputEvaluator:
        """The evaluator with these features accepted."""
        with self._lock:
            if self._working is None or len(accepted) < self._n_accepted:
                self._working = pickle.loads(self._fresh)  # noqa: S301 - from our own client
                self._n_accepted = 0
            for feature in accepted[self._n_accepted :]:
                self._working.accept(feature)
            self._n_accepted = len(accepted)
            working: InputEvaluator = self._working
            return working


def try_some(copies: Copies, trials: Trials) -> FloatArray:
    """The scores of some candidates, shape (n_candidates, n_folds); runs on a worker."""
    return _scores(copies.after(trials.accepted), trials.candidates, trials.target)


def _scores(
    evaluator: InputEvaluator, candidates: IntArray, target: FloatArray | None
) -> FloatArray:
    """Together with what was accepted, or by themselves for another target."""
    return evaluator.scores(candidates) if target is None else evaluator.alone(candidates, target)


class SpreadEvaluator:
    """An evaluator whose candidates are tried on a cluster, with the same scores, bit for bit.

    Parameters
    ----------
    here : InputEvaluator
        With no feature accepted yet. What is not tried for many candidates is asked of it.
    executor : TaskExecutor
    """

    def __init__(self, here: InputEvaluator, executor: TaskExecutor) -> None:
        self._here = here
        self._executor = executor
        self._copies = executor.share(Copies(executor.pack(here)), "evaluator")
        self._accepted: list[int] = []

    def accept(self, feature: int) -> None:
        """One more feature is in; copies learn of it with their next candidates."""
        self._here.accept(feature)
        self._accepted.append(feature)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores with each candidate, shape (n_candidates, n_folds)."""
        return self._spread(candidates, None)

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate by itself for another target."""
        return self._spread(candidates, target)

    def _spread(self, candidates: IntArray, target: FloatArray | None) -> FloatArray:
        n_parts = min(len(candidates), PARTS * self._executor.n_slots)
        if n_parts < 2:  # a trip for a single candidate is not worth it
            return _scores(self._here, candidates, target)
        tasks = [
            Trials(tuple(self._accepted), part, target)
            for part in np.array_split(candidates, n_parts)
        ]
        found = self._executor.map(try_some, tasks, self._copies, "candidates")
        return np.concatenate(found)

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        return self._here.current()

    def predicted(self, target: FloatArray) -> FloatArray:
        """Another target, predicted for the test rows of each fold."""
        return self._here.predicted(target)

    def score(self, folds: FloatArray) -> Score:
        """The scores under their name."""
        return self._here.score(folds)

    def model(self) -> Any:
        """What the accepted features predict, fitted to all rows."""
        return self._here.model()
