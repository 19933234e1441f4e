"""The paper's protocol: subsets of several sizes, logistic regression on them, test AUC."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import real, whole
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from secateur import FeatureGradientsSelector
from secateur._kernels.threads import Threads
from secateur.engines.feature_gradients.search import GradientsEngine, trace_size
from secateur.engines.limits import Limits
from secateur.path import Step

N_TEST = 1902
"""Test rows of mnist35, as in Table 1 of the paper."""

TEST_PER_TRAIN = 1902 / 11552

MOST_FOR_INFORMATION = 5_000
"""Mutual information takes a loop over columns in Python: minutes for more than these."""


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """Rows to train on and rows to test by."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    seed: int = 0


def mnist35(draw: int, noise: float = 0.5) -> Set | None:
    """3 against 5 with normal noise added to the pixels.

    A draw has noise and a split of its own: all images of both digits are drawn again, as many
    to train and to test as in the paper, classes in proportion.
    """
    found = whole("mnist")
    if found is None:
        return None
    X, digit = found
    wanted = np.isin(digit, [3, 5])
    X, y = X[wanted] / 255.0, (digit[wanted] == 5).astype(int)
    rng = np.random.default_rng(draw)
    X = X + noise * rng.standard_normal(X.shape)
    train, test = train_test_split(
        np.arange(len(y)), test_size=N_TEST, stratify=y, random_state=draw
    )
    return Set("mnist35", X[train], y[train], X[test], y[test], draw)


def sparse_set(name: str) -> Set | None:
    """Two classes of a sparse set; of several classes, the last against the rest."""
    split = real(name, 0.3)
    if split is None:
        return None
    return Set(name, split.X, split.y.astype(int), split.X_test, split.y_test.astype(int))


def auc(data: Set, features: Any) -> float:
    """Test AUC of logistic regression on some columns."""
    scaler = StandardScaler(with_mean=not sp.issparse(data.X))
    train = scaler.fit_transform(data.X[:, features])
    model = LogisticRegression(max_iter=300).fit(train, data.y)
    decided = model.decision_function(scaler.transform(data.X_test[:, features]))
    return float(roc_auc_score(data.y_test, decided))


def by_gradients(data: Set, sizes: Sequence[int], order: int) -> list[Any]:
    """The features that Feature Gradients chooses with ``n_features`` of each of these sizes."""
    return [np.sort(step.support) for step in steps_by_gradients(data, sizes, order)]


def steps_by_gradients(data: Set, sizes: Sequence[int], order: int) -> list[Step]:
    """The last step of Feature Gradients for each size.

    What fits of several sizes have in common is done once: the same penalties are tried again and
    again, and a search at a penalty is always the same.
    """
    with _engine(data, n_features=max(sizes), order=order) as engine:
        return [_last(trace_size(engine, size)) for size in sizes]


def steps_by_penalty(data: Set, max_features: int, **params: Any) -> list[Step]:
    """A step for each penalty of the automatic grid, up to so many features."""
    with _engine(data, penalty=1.0, **params) as engine:
        steps = (engine.fit(penalty) for penalty in engine.grid())
        few = takewhile(lambda step: len(step.support) <= max_features, steps)
        return [step for step in few if len(step.support)]


@contextmanager
def _engine(data: Set, **params: Any) -> Iterator[GradientsEngine]:
    fixed = {"standardize": False, "random_state": data.seed, "n_jobs": 1}
    selector = FeatureGradientsSelector(**{**fixed, **params})
    given = selector._problem(data.X, data.y, None)  # noqa: SLF001
    with Threads(1) as threads:
        yield _Once(given.problem, given.params, threads, Limits(given.problem.cost_model))


class _Once(GradientsEngine):
    """An engine that searches once at each penalty."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known: dict[Any, Any] = {}

    def grid(self) -> list[float]:
        if "grid" not in self._known:
            self._known["grid"] = super().grid()
        return list(self._known["grid"])

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        key = (penalty, max_features)
        if key not in self._known:
            self._known[key] = super().fit(penalty, max_features)
        found: Step = self._known[key]
        return found


def _last(steps: Iterator[Step]) -> Step:
    return deque(steps, maxlen=1).pop()


def by_anova(data: Set) -> Any:
    """Features from best to worst by their F value."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # constant columns
        f = np.nan_to_num(f_classif(data.X, data.y)[0])
    return np.argsort(-f, kind="stable")


def filters(data: Set) -> dict[str, Any]:
    """Features from best to worst by the two filters of the paper; one alone if very wide."""
    found = {"ANOVA F": by_anova(data)}
    if data.X.shape[1] <= MOST_FOR_INFORMATION:
        shared = mutual_info_classif(
            data.X, data.y, discrete_features=sp.issparse(data.X), random_state=data.seed
        )
        found["mutual information"] = np.argsort(-shared, kind="stable")
    return found
