"""`HeldOut`: a path whose scores come from rows that had no say in it, and those of its folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.evaluation.folds import Fold
from secateur.path import Score, Selection, SelectionPath
from secateur.path.matching import step_of_size
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A path whose scores come from rows that had no say in it.

    Parameters
    ----------
    path : SelectionPath
        That of all rows. The score of a step is what the steps that stand for it in the folds are
        worth on the rows left out there. If no fold was finished, its own scores are kept.
    fold_paths : tuple of SelectionPath
        One for each fold that was finished, traced without the rows of the fold.
    matches : tuple of tuple of int
        For each fold, and each step of `path`, the step of the fold's path that stands for it.
    all_features : Score or None
        The same for a model on all columns; None if it was not finished.
    all_features_model : str
        What that model is.
    selector : estimator
        The selector fitted to all rows, cut by the held-out scores.
    folds : tuple of Fold
        The rows of the folds that were finished.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from secateur import GraftingClassifier, held_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> held = held_out(GraftingClassifier(l1=[0.1, 0.03]), X, y, cv=3, random_state=0)
    >>> [step.score.origin for step in held.path], len(held.fold_paths)
    (['held_out', 'held_out'], 3)
    >>> held.frequency(held.selector.selection_).max()
    np.float64(1.0)
    """

    path: SelectionPath
    fold_paths: tuple[SelectionPath, ...]
    matches: tuple[tuple[int, ...], ...]
    all_features: Score | None
    all_features_model: str
    selector: Any
    folds: tuple[Fold, ...]

    def frequency(self, cut: Any = None) -> FloatArray:
        """In what share of the folds each feature was chosen.

        Parameters
        ----------
        cut : Selection, array of int, rule, int or None
            A selection of `path`: counted at the steps that stand for it. An array of features:
            counted at the steps that are nearest in size. Anything that ``path.cut`` takes.

        Returns
        -------
        array of shape (n_features_in,)
            NaN if no fold was finished.
        """
        chosen = self.supports(cut)
        share = np.full(self.path.n_features_in, np.nan if not chosen else 0.0)
        for support in chosen:
            share[support] += 1.0 / len(chosen)
        return np.round(share, 12)  # five fifths are one

    def supports(self, cut: Any = None) -> list[IntArray]:
        """The features that each fold chose at a cut; see `frequency`."""
        if isinstance(cut, np.ndarray | list | tuple):
            size = len(np.unique(np.asarray(cut, np.int64)))
            places = [step_of_size(path, size) for path in self.fold_paths]
        else:
            selection = cut if isinstance(cut, Selection) else self.path.cut(cut)
            places = [match[selection.index] for match in self.matches]
        return [path[at].support for path, at in zip(self.fold_paths, places, strict=True)]
