"""Baselines to compare with: filters, mRMR, L1 penalties, RFECV, Boruta, LightGBM's CEGB."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    RFE,
    RFECV,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, l1_min_c

from secateur.data.frames import read_table
from secateur.exceptions import InputError, MissingDependencyError
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

FALSE_DISCOVERIES = 0.05
"""The false discovery rate at which the F test makes its own choice."""

MAX_DENSE_CELLS = 200_000_000
"""Sparse tables with more cells are not made dense: 1.6 GB."""


class Matrix(NamedTuple):
    """Standardised columns, and which of them are codes of categories instead."""

    values: Any
    is_category: BoolArray

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def by_rows(self) -> Any:
        """The values in an order that is quick to split by rows."""
        return self.values.tocsr() if sp.issparse(self.values) else self.values


def as_matrix(X: Any, *, dense: bool = False) -> Matrix:
    """Standardise columns; missing cells get the mean, categories are numbered, -1 for missing.

    Sparse tables stay sparse, and are then not centred, unless ``dense``.
    """
    table = read_table(X, categorical_features="from_dtype")
    is_category = np.zeros(table.n_features, np.bool_)
    is_category[list(table.categories)] = True
    if table.is_sparse and not dense:
        clean = sp.csc_matrix(table.csc, copy=True)
        clean.data = np.nan_to_num(clean.data)
        return Matrix(StandardScaler(with_mean=False).fit_transform(clean), is_category)
    if table.is_sparse and table.n_rows * table.n_features > MAX_DENSE_CELLS:
        raise InputError(
            f"A table must have at most {MAX_DENSE_CELLS:,} cells to be made dense. Got "
            f"{table.n_rows:,} rows and {table.n_features:,} columns. Leave this method out."
        )
    raw = table.columns(np.arange(table.n_features))
    filled = SimpleImputer(keep_empty_features=True).fit_transform(raw)
    values = StandardScaler().fit_transform(filled)
    values[:, is_category] = np.nan_to_num(raw[:, is_category], nan=-1.0)
    return Matrix(values, is_category)


class Ranking(BaseEstimator):  # type: ignore[misc]  # untyped base
    """Ranks features: ``order_`` has the best first, ``n_own_`` of them are its own choice."""

    _is_dense = False
    _takes_categories = False

    def __init__(self, target_type: str = "classification", random_state: Any = None) -> None:
        self.target_type = target_type
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Rank the features."""
        order, n_own = self._rank(as_matrix(X, dense=self._is_dense), np.asarray(y))
        self.order_: IntArray = np.asarray(order, np.int64)
        self.n_own_ = n_own
        self.n_features_in_ = X.shape[1] if hasattr(X, "shape") else len(X[0])
        return self

    def get_support(self) -> BoolArray:
        """The mask of its own choice; of all ranked features, if it makes none."""
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.order_[: self.n_own_]] = True
        return mask

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[Any, int | None]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self._takes_categories
        return tags

    @property
    def _is_classifier(self) -> bool:
        return self.target_type == "classification"


class FTest(Ranking):
    """F test of each column; its own choice is that of Benjamini and Hochberg."""

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, int]:
        with np.errstate(all="ignore"):
            scores, p = (f_classif if self._is_classifier else f_regression)(X.values, y)
        return _descending(scores), max(1, _accepted(np.where(np.isnan(p), 1.0, p)))


class MutualInformation(Ranking):
    """Mutual information of each column with the target.

    Cells of sparse tables count as present or absent, like words in a text.
    """

    _takes_categories = True

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, None]:
        measure = mutual_info_classif if self._is_classifier else mutual_info_regression
        values: Any = X.values
        kinds: Any = X.is_category
        if sp.issparse(values):
            values, kinds = (values != 0).astype(np.float64), True
        scores = measure(values, y, discrete_features=kinds, random_state=self.random_state)
        return _descending(scores), None


class RandomRanking(Ranking):
    """A random ranking: what any method must beat."""

    _takes_categories = True

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, None]:  # noqa: ARG002 - random
        return np.random.default_rng(self.random_state).permutation(X.n_features), None


class AllFeatures(BaseEstimator):  # type: ignore[misc]  # untyped base
    """All columns."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002 - any target
        """Count the columns."""
        n_features = X.shape[1] if hasattr(X, "shape") else len(X[0])
        self.support_: BoolArray = np.ones(n_features, np.bool_)
        return self

    def get_support(self) -> BoolArray:
        """The mask of all columns."""
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class MRMR(Ranking):
    """Minimum redundancy, maximum relevance (FCQ of Zhao, Anand and Wang, 2019).

    The next feature is that with the largest F_j / mean |corr(j, selected)|.

    Parameters
    ----------
    n_features : int, default=50
        How many features are ranked.
    """

    def __init__(
        self, target_type: str = "classification", random_state: Any = None, n_features: int = 50
    ) -> None:
        super().__init__(target_type, random_state)
        self.n_features = n_features

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[list[int], None]:
        with np.errstate(all="ignore"):
            scores, _ = (f_classif if self._is_classifier else f_regression)(X.values, y)
        relevance = np.nan_to_num(scores, nan=0.0, posinf=np.finfo(float).max)
        order = [int(relevance.argmax())]
        redundancy = np.zeros(X.n_features)
        while len(order) < min(self.n_features, X.n_features):
            redundancy += np.abs(_correlations(X.values, order[-1]))
            quotient = relevance / np.maximum(redundancy / len(order), 1e-3)
            quotient[order] = -np.inf
            order.append(int(quotient.argmax()))
        return order, None


def _correlations(values: Any, feature: int) -> FloatArray:
    """Correlations with one column; columns are standardised."""
    one = values[:, [feature]]
    one = np.asarray(one.todense() if sp.issparse(one) else one).ravel()
    found: FloatArray = np.asarray(values.T @ (one - one.mean())).ravel() / len(one)
    return found


def _descending(scores: Any) -> IntArray:
    clean = np.where(np.isnan(scores), -np.inf, scores)
    return np.argsort(-clean, kind="stable").astype(np.int64)


def _accepted(p: FloatArray) -> int:
    """How many hypotheses Benjamini and Hochberg reject."""
    thresholds = FALSE_DISCOVERIES * np.arange(1, len(p) + 1) / len(p)
    below = np.flatnonzero(np.sort(p) <= thresholds)
    return int(below[-1]) + 1 if len(below) else 0


L1_GRID = np.logspace(0.05, 2.5, 12)
"""Multiples of the smallest C at which any feature enters."""

ELIMINATED_SINGLY = 50
"""Recursive elimination drops one feature at a time below this number."""

CEGB_GRID = np.logspace(np.log10(0.25), np.log10(0.002), 8)
"""Multiples of the gain of the best first split."""


class L1(Ranking):
    """Order of entry as the L1 penalty decreases.

    Lasso for regression, a linear support vector machine for classification; its own choice is the
    penalty that is best in three folds.
    """

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, int]:
        sizes, own = (self._svm if self._is_classifier else self._lasso)(X, y)
        order = entry_order(sizes)
        entered = set(np.flatnonzero(own))
        order = [j for j in order if j in entered] + [j for j in order if j not in entered]
        return np.array(order, np.int64), len(entered)

    def _svm(self, X: Matrix, y: AnyArray) -> tuple[list[FloatArray], FloatArray]:
        values = X.by_rows
        grid = l1_min_c(values, y, loss="squared_hinge") * L1_GRID
        models = [
            LinearSVC(penalty="l1", dual=False, C=C, random_state=self.random_state) for C in grid
        ]
        scores = [cross_val_score(model, values, y, cv=3).mean() for model in models]
        sizes = [np.abs(model.fit(values, y).coef_).sum(axis=0) for model in models]
        return sizes, sizes[int(np.argmax(scores))]

    def _lasso(self, X: Matrix, y: AnyArray) -> tuple[list[FloatArray], FloatArray]:
        model = LassoCV(cv=3, random_state=self.random_state).fit(X.values, y)
        _, coefficients, _ = model.path(X.values, y - np.mean(y), alphas=model.alphas_)
        return list(np.abs(coefficients.T)), np.abs(model.coef_)


class Elimination(Ranking):
    """Recursive elimination with a linear model; its own choice is RFECV's in three folds.

    It drops tenths of the features down to fifty, then one at a time.
    """

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, int]:
        model = LogisticRegression(max_iter=300) if self._is_classifier else Ridge()
        values = X.by_rows
        left = np.arange(X.n_features)
        dropped: IntArray = left[:0]
        if len(left) > ELIMINATED_SINGLY:
            coarse = RFE(model, n_features_to_select=ELIMINATED_SINGLY, step=0.1).fit(values, y)
            by_rank = np.argsort(coarse.ranking_, kind="stable")
            left, dropped = np.sort(by_rank[:ELIMINATED_SINGLY]), by_rank[ELIMINATED_SINGLY:]
        fine = RFE(model, n_features_to_select=1).fit(values[:, left], y)
        order = left[np.argsort(fine.ranking_, kind="stable")]
        n_own = int(RFECV(model, cv=3).fit(values[:, left], y).n_features_)
        return np.concatenate([order, dropped]), n_own


class Boruta(Ranking):
    """Boruta's own choice, followed by its ranking."""

    _is_dense = True

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[IntArray, int]:
        boruta = needs("boruta", "Boruta")
        forest = RandomForestClassifier if self._is_classifier else RandomForestRegressor
        trees = forest(max_depth=5, n_jobs=-1, random_state=self.random_state)
        chooser = boruta.BorutaPy(trees, n_estimators="auto", random_state=self.random_state)
        chooser.fit(X.values, y)
        history = np.nan_to_num(np.asarray(chooser.importance_history_)[1:]).mean(axis=0)
        return np.lexsort([-history, chooser.ranking_]), int(chooser.support_.sum())


class CoupledCEGB(Ranking):
    """LightGBM with a penalty for the first use of a feature, from high to low.

    Its own choice is the penalty that is best on a fifth of the rows, held out inside.
    """

    _takes_categories = True

    def _rank(self, X: Matrix, y: AnyArray) -> tuple[list[int], int]:
        lightgbm = needs("lightgbm", "LightGBM")
        values = X.by_rows
        codes = np.unique(y, return_inverse=True)[1] if self._is_classifier else y
        n_classes = int(codes.max()) + 1 if self._is_classifier else 0
        parameters = _cegb_parameters(n_classes, X.n_features, len(y), self.random_state)
        is_test = np.random.default_rng(self.random_state).permutation(len(y)) < len(y) // 5
        train = lightgbm.Dataset(
            values[~is_test],
            codes[~is_test],
            categorical_feature=np.flatnonzero(X.is_category).tolist(),
            params=parameters,
            free_raw_data=False,
        )
        test = train.create_valid(values[is_test], codes[is_test])
        scale = _first_gain(lightgbm, parameters, train)
        gains, losses = [], []
        for share in CEGB_GRID:
            penalized = {**parameters, "cegb_tradeoff": max(scale * share, 1e-12)}
            model = lightgbm.train(penalized, train, 100, valid_sets=[test])
            gains.append(np.asarray(model.feature_importance("gain"), np.float64))
            losses.append(next(iter(model.best_score["valid_0"].values())))
        own = set(np.flatnonzero(gains[int(np.argmin(losses))]))
        order = entry_order(gains)
        used = [j for j in order if any(gain[j] > 0 for gain in gains)]
        return [j for j in used if j in own] + [j for j in used if j not in own], len(own)


def _cegb_parameters(n_classes: int, n_features: int, n_rows: int, seed: Any) -> dict[str, Any]:
    objective = "regression" if n_classes == 0 else "binary" if n_classes == 2 else "multiclass"
    parameters = {
        "objective": objective,
        "verbosity": -1,
        "learning_rate": 0.1,
        "num_leaves": 15,
        "min_data_in_leaf": min(20, max(1, n_rows // 50)),
        "min_data_in_bin": 1,
        "seed": seed,
        "deterministic": True,
        "cegb_penalty_feature_coupled": [1.0] * n_features,
        "cegb_tradeoff": 0.0,
    }
    return parameters | ({"num_class": n_classes} if n_classes > 2 else {})


def _first_gain(lightgbm: Any, parameters: dict[str, Any], train: Any) -> float:
    """The gain of the best first split without penalty."""
    free = {name: value for name, value in parameters.items() if not name.startswith("cegb")}
    trees = lightgbm.train(free, train, 1).dump_model()["tree_info"]
    return max((tree["tree_structure"].get("split_gain", 0.0) for tree in trees), default=0.0)


def entry_order(sizes: list[FloatArray]) -> list[int]:
    """Features by the first model that uses them, then by size; unused ones last."""
    table = np.array(sizes)
    first = np.where((table > 0).any(axis=0), (table > 0).argmax(axis=0), len(table))
    at_entry = table[np.minimum(first, len(table) - 1), np.arange(table.shape[1])]
    return [int(j) for j in np.lexsort([-at_entry, first])]


def needs(module: str, package: str) -> Any:
    """Import an optional package, or say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"This method needs {package}. Got no such package. Install it with "
            f"'pip install {package}', or leave the method out."
        ) from error
