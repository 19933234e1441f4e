"""Scores of predictions by fold, whatever made the predictions."""

from __future__ import annotations

from typing import Protocol

from secateur.path.step import Score
from secateur.typing import FloatArray


class Judge(Protocol):
    """Says what predictions of some rows are worth; larger is better."""

    n_classes: int

    def value(self, fold: int, prediction: FloatArray) -> float:
        """The score of the predictions for the test rows of a fold.

        Numbers, or probabilities of shape (n_test, n_classes).
        """
        ...

    def value_for(self, fold: int, prediction: FloatArray, target: FloatArray) -> float:
        """As ``value`` for another target of the test rows."""
        ...

    def score(self, folds: FloatArray) -> Score:
        """The scores of all folds under their name."""
        ...
