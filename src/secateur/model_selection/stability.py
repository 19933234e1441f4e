"""`stability`: how much a selection depends on its rows, and on the order of its columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from secateur.data.frames import select_columns
from secateur.model_selection.folds import read_seed
from secateur.model_selection.held_out import until_interrupted
from secateur.model_selection.rows import Rows, fit_clone, read_rows, target_type_of
from secateur.model_selection.statistics import Agreement, jaccard, nogueira, selection_frequency
from secateur.model_selection.validators import check_estimator
from secateur.path.stopping import share_number, whole_number
from secateur.typing import FloatArray, IntArray

# Parameters that may refer to columns by position.
BY_COLUMN = ("costs", "feature_groups", "keep", "init", "categorical_features")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stability:
    """How stable a selection is.

    Parameters
    ----------
    feature_names : tuple of str
    support : array of int
        The features selected from all rows.
    supports : tuple of array of int
        The features selected from each subsample of the rows.
    agreement : Agreement
        Nogueira's index of `supports`, with its confidence interval.
    permuted : tuple of float
        Jaccard index of the selection from each new order of the columns with the original one.

    Examples
    --------
    >>> from secateur import GraftingClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = stability(GraftingClassifier(l1=0.1), X, y, n_resamples=5, random_state=0)
    >>> found.frequency.shape, found.permuted_agreement
    ((30,), 1.0)
    """

    feature_names: tuple[str, ...]
    support: IntArray
    supports: tuple[IntArray, ...]
    agreement: Agreement
    permuted: tuple[float, ...]

    def __repr__(self) -> str:
        share = f"{len(self.support)} of {len(self.feature_names)} features"
        return f"Stability({share}, {len(self.supports)} subsamples, index={self.index:.4g})"

    @property
    def frequency(self) -> FloatArray:
        """The share of the subsamples in which each feature was selected."""
        return selection_frequency(self.supports, len(self.feature_names))

    @property
    def index(self) -> float:
        """Nogueira's index."""
        return self.agreement.index

    @property
    def permuted_agreement(self) -> float:
        """The mean of `permuted`; 1 if the order of columns does not matter, NaN without any."""
        return float(np.mean(self.permuted)) if self.permuted else math.nan

    def to_rows(self) -> list[dict[str, Any]]:
        """One plain dict for each feature that was ever selected, the most stable first."""
        share = self.frequency
        chosen = set(self.support.tolist())
        ever = [j for j in np.argsort(-share, kind="stable").tolist() if share[j] or j in chosen]
        return [
            {"feature": self.feature_names[j], "frequency": share[j], "selected": j in chosen}
            for j in ever
        ]

    def __str__(self) -> str:
        share = self.frequency
        always = int((share == 1.0).sum())
        text = (
            f"{len(self.support)} of {len(self.feature_names)} features are selected. Over "
            f"{len(self.supports)} subsamples of the rows Nogueira's index is {self.agreement}; "
            f"{always} features are selected every time, {int((share > 0).sum())} at least once."
        )
        if self.permuted:
            same = f"{self.permuted_agreement:.0%} of the selection is the same"
            text += f"\nWith the columns in another order {same}."
        return text


def stability(
    selector: Any,
    X: Any,
    y: Any,
    n_resamples: int = 20,
    *,
    fraction: float = 0.8,
    n_permutations: int = 2,
    groups: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
    on_fit: Callable[[int, int], None] | None = None,
) -> Stability:
    """Repeat a selection on subsamples of the rows and with the columns in another order.

    Rows are drawn without replacement: a repeated row would be among the training rows and the
    validation rows of the selector's own folds. Ctrl-C keeps the fits that were finished.

    Parameters
    ----------
    selector : estimator
        With ``get_support``. It is cloned, never fitted.
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
    y : array or series of shape (n_rows,)
    n_resamples : int, default=20
        Number of subsamples, at least two.
    fraction : float, default=0.8
        The share of the rows (or of the groups) in a subsample, stratified by class.
    n_permutations : int, default=2
        Number of new orders of the columns; none where parameters refer to columns by position.
    groups : array of shape (n_rows,), default=None
        Which rows belong together.
    qid : array of shape (n_rows,), default=None
        The query of each row, for rankers; a subsample has whole queries.
    sample_weight : array of shape (n_rows,), default=None
    confidence : float, default=0.95
        Of the confidence interval of Nogueira's index.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Threads of a selector whose own is None.
    on_fit : callable, default=None
        Called with (done, total) after each fit.

    Returns
    -------
    Stability
    """
    n_samples = whole_number("n_resamples", n_resamples, minimum=2, advice="Use 20 for a start.")
    n_orders = whole_number("n_permutations", n_permutations, minimum=0, advice="Use 0 for none.")
    advice = "Use for instance AGBMClassifier()."
    check_estimator("selector", selector, "fit", "get_support", advice=advice)
    share_number("fraction", fraction, advice="Use 0.8 for a start.")
    nogueira([], 1, confidence=confidence)  # raises before any work
    seed = read_seed(random_state)
    facts = {"target_type": target_type_of(selector), "groups": groups, "qid": qid}
    rows = read_rows(X, y, sample_weight=sample_weight, **facts)
    rng = np.random.default_rng(seed)
    samples = [_subsample(rows, fraction, rng) for _ in range(n_samples)]
    orders = [rng.permutation(len(rows.names)) for _ in range(n_orders)]
    given = selector.get_params(deep=False)
    if not all(_is_by_name(given.get(name)) for name in BY_COLUMN):
        orders = []
    report, total = on_fit or (lambda _done, _total: None), 1 + n_samples + len(orders)

    def select(table: Rows) -> IntArray:
        return np.flatnonzero(fit_clone(selector, table, seed, n_jobs).get_support())

    def reordered(order: IntArray) -> Rows:
        names = tuple(rows.names[j] for j in order)
        return replace(rows, X=select_columns(rows.X, order), names=names)

    whole = select(rows)
    report(1, total)
    tables = chain(map(rows.take, samples), map(reordered, orders))
    found = until_interrupted(
        (select(table) for table in tables),
        lambda n_done: report(1 + n_done, total),
        lambda n_done: f"stability was interrupted. It keeps {1 + n_done} of {total} fits.",
    )
    supports, permuted = found[:n_samples], found[n_samples:]
    return Stability(
        feature_names=rows.names,
        support=whole,
        supports=tuple(supports),
        agreement=nogueira(supports, len(rows.names), confidence=confidence),
        permuted=tuple(
            jaccard(whole, order[each]) for order, each in zip(orders, permuted, strict=False)
        ),
    )


def _subsample(rows: Rows, fraction: float, rng: np.random.Generator) -> IntArray:
    """Some of the rows of each class, or some of the groups; rows of weight zero are left out."""
    kept = np.flatnonzero(rows.weight)
    if rows.groups is not None:
        return kept[np.isin(rows.groups[kept], _some(np.unique(rows.groups), fraction, rng))]
    if rows.target.classes is None:
        return np.sort(_some(kept, fraction, rng))
    codes = rows.target.values[kept]
    parts = [_some(kept[codes == code], fraction, rng) for code in np.unique(codes)]
    return np.sort(np.concatenate(parts))


def _some(values: IntArray, fraction: float, rng: np.random.Generator) -> IntArray:
    return rng.permutation(values)[: max(1, round(fraction * len(values)))]


def _is_by_name(value: Any) -> bool:
    if isinstance(value, dict | list | tuple):
        return len(value) > 0 and all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, str | int | float)
