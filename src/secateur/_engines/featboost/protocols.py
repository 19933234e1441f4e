"""What forward selection asks of others: somebody who ranks, somebody who evaluates."""

from __future__ import annotations

from typing import Any, Protocol

from secateur.path.step import Score
from secateur.typing import FloatArray, IntArray


class Ranker(Protocol):
    """H1 of Algorithm 1: ranks all features, and says how well each row is predicted."""

    def rank(self, weight: FloatArray) -> FloatArray:
        """The importance of every feature, >= 0, fitted to all rows with these weights."""
        ...

    def losses(self, features: IntArray) -> FloatArray:
        """The loss of every row, >= 0, by a fit to these features alone."""
        ...

    def errors(self, features: IntArray) -> FloatArray:
        """1 for every row that a fit to these features alone gets wrong, 0 for the others."""
        ...


class Evaluator(Protocol):
    """H2 of Algorithm 1: scores features together with those that were accepted."""

    def accept(self, feature: int) -> None:
        """One more feature is in from now on."""
        ...

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores of the accepted features and each candidate, shape (n_candidates, n_folds).

        Cross-validated; larger is better.
        """
        ...

    def current(self) -> FloatArray:
        """The score of the accepted features in each fold; there must be some."""
        ...

    def score(self, folds: FloatArray) -> Score:
        """What scores of the folds are called."""
        ...

    def model(self) -> Any:
        """A handle that predicts from the accepted features, fitted to all rows."""
        ...


class InputRanker(Protocol):
    """The ranker of Iterative Input Selection: the target changes instead of the weights."""

    def rank_for(self, target: FloatArray) -> FloatArray:
        """The importance of every feature for this target, >= 0."""
        ...


class InputEvaluator(Evaluator, Protocol):
    """The evaluator of Iterative Input Selection."""

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate by itself for this target, shape (n_candidates, n_folds)."""
        ...

    def predicted(self, target: FloatArray) -> FloatArray:
        """The target as the accepted features predict it for rows that took no part."""
        ...
