"""Rankers and evaluators of forward selection: built-in trees, and estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.costs import as_costs
from secateur.data.table import Fold, Problem, Table, all_rows
from secateur.data.target import TargetType, are_counts
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.trees import BoostedModel, BoostingParams, Ensemble, Tree
from secateur.engines.boosted.whole_fit import boost_small
from secateur.engines.featboost.evaluator import Evaluator, FoldScorer
from secateur.engines.featboost.neighbours import NeighbourModel, NeighbourTargets
from secateur.exceptions import InputError, ParameterError
from secateur.losses import get_loss
from secateur.model_selection.rows import Scorer, prepared, takes_weight
from secateur.selectors.featboost_queries import QueryScorer
from secateur.typing import AnyArray, FloatArray, IntArray

MIN_PROBABILITY = 1e-30  # lower bound of probabilities, so that losses are finite
SMALL_TABLE = 8_000_000  # cells up to which a ranking in one call is faster than threads


class SklearnFoldScorer:
    """Scores the test rows of each fold by a scikit-learn scorer: predictions, or an estimator.

    The scorer may also be one of queries.
    """

    def __init__(
        self,
        problem: Problem,
        folds: Sequence[Fold],
        scorer: Scorer | QueryScorer,
        name: str,
    ) -> None:
        self._classes = problem.target.classes
        self._tests = [fold.test for fold in folds]
        self._weights = [problem.weight[fold.test] for fold in folds]
        self._scorer = scorer
        self._name = name
        is_even = bool((problem.weight == problem.weight[0]).all())
        self._takes_weight = not is_even and takes_weight(scorer)

    def __call__(self, fold: int, prediction: FloatArray, target: AnyArray) -> float:
        """The score of predictions, with the target as numbers or codes of classes."""
        weight = self._weights[fold]
        if isinstance(self._scorer, QueryScorer):
            return self._scorer.score(self._tests[fold], prediction, target, weight)
        if self._name == "accuracy":
            right = prediction.argmax(axis=1) == target
            return float(weight @ right) / float(weight.sum())
        if self._name == "r2":  # 1 for a constant target that is predicted exactly, else 0
            residual = float(weight @ (target - prediction) ** 2)
            mean = float(weight @ target) / float(weight.sum())
            total = float(weight @ (target - mean) ** 2)
            return 1.0 - residual / total if total else float(residual == 0.0)
        return self.of_estimator(fold, _Predicted(prediction), np.zeros((len(target), 1)), target)

    def of_estimator(self, fold: int, estimator: Any, X: AnyArray, target: AnyArray) -> float:
        """The score of a fitted estimator of numbers or codes."""
        if isinstance(self._scorer, QueryScorer):
            return self(fold, np.asarray(estimator.predict(X), np.float64).reshape(-1), target)
        more = {"sample_weight": self._weights[fold]} if self._takes_weight else {}
        if self._classes is not None:
            estimator = Labelled(estimator, self._classes)
            target = self._classes[target.astype(np.int64)]
        return float(self._scorer(estimator, X, target, **more))


def extra_trees(target_type: TargetType, n_trees: int) -> Any:
    """Extra-trees of scikit-learn for a type of target, with 1 % of the weight in a leaf.

    With leaves of one row a model of one feature repeats the noise of the target.
    """
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesRegressor if target_type == "regression" else ExtraTreesClassifier
    return kind(n_estimators=n_trees, min_weight_fraction_leaf=0.01)


def refuse_large_values(table: Table) -> None:
    """Refuse what scikit-learn's trees, which hold values in single precision, cannot take."""
    largest = float(np.finfo(np.float32).max)
    for feature, name in enumerate(table.names):
        column = table.columns(np.array([feature]))
        if np.nanmax(np.abs(column), initial=0.0) > largest:
            msg = (
                f"Extra-trees take values up to {largest:.1e}. Got more in column {name!r}. "
                "Rescale the column, or use ranker='trees' and evaluator='trees'."
            )
            raise InputError(msg)


class _Predicted(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """An estimator with fixed predictions, for scorers: numbers, or probabilities of classes."""

    def __init__(self, prediction: Any) -> None:
        self.prediction = prediction

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Any:  # noqa: ARG002  # fixed
        return self.prediction

    def predict(self, X: Any) -> Any:  # noqa: ARG002  # fixed
        return self.prediction if self.prediction.ndim == 1 else self.prediction.argmax(axis=1)


class Labelled(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A classifier of codes that predicts the labels of the user, for scorers."""

    def __init__(self, fitted: Any, classes_: Any) -> None:
        self.fitted = fitted
        self.classes_ = classes_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """The labels."""
        return self.classes_[np.asarray(self.fitted.predict(X), np.int64)]

    def __getattr__(self, name: str) -> Any:
        if name in {"predict_proba", "decision_function"}:
            return getattr(self.fitted, name)
        raise AttributeError(name)


def check_ranker(estimator: Any, weighting: str | None) -> None:
    """Refuse a ranker that lacks what the weighting of rows needs."""
    if isinstance(estimator, str) or weighting is None:
        return
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ParameterError(
            "'ranker' must take sample_weight in fit, since rows are re-weighted. Got "
            f"{estimator!r}. Use weighting=None, or another ranker."
        )
    if weighting == "softmax" and not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            "'ranker' must have predict_proba for weighting='softmax'. Got "
            f"{estimator!r}. Use weighting='adaboost', or another ranker."
        )


class EstimatorEvaluator(Evaluator):
    """Any estimator, fitted to floats and codes, as evaluator (H2), or as ranker (H1)."""

    def __init__(
        self,
        estimator: Any,
        problem: Problem,
        folds: Sequence[Fold],
        fold_scorer: SklearnFoldScorer,
        seed: int,
        n_jobs: int,
    ) -> None:
        target, weight = problem.target, problem.weight
        codes = target.values.astype(np.int64) if target.n_classes else target.values
        super().__init__(codes, folds)
        self._estimator, self._table, self._fold_scorer = estimator, problem.table, fold_scorer
        self._seed, self._n_jobs = seed, n_jobs
        self._weight = None if (weight == weight[0]).all() else weight
        self._constant = NeighbourTargets(target.values, weight, target.n_classes, 1)
        self._X: Any = None

    def _fit(self, X: Any, y: AnyArray, rows: IntArray | slice = slice(None)) -> Any:
        """Fit a clone with the row weights, if they differ and the estimator takes them."""
        model = prepared(self._estimator, self._seed)
        if self._weight is not None and has_fit_parameter(model, "sample_weight"):
            return model.fit(X[rows], y[rows], sample_weight=self._weight[rows])
        return model.fit(X[rows], y[rows])

    def rank(self, target: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Importances of a fit to all rows."""
        if self._X is None:
            table = self._table
            self._X = csr_matrix(table.csc) if table.is_sparse else table.columns(slice(None))
        if weight is None:
            return importances(self._fit(self._X, target))
        model = prepared(self._estimator, self._seed)
        is_plain = (weight == 1.0).all() and not has_fit_parameter(model, "sample_weight")
        more = {} if is_plain else {"sample_weight": weight}
        return importances(model.fit(self._X, self.target, **more))

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the distance to the true number."""
        X, target = self._table.columns(features), self.target
        model = self._fit(X, target)
        if not self._constant.n_classes:
            return np.asarray(np.abs(target - np.asarray(model.predict(X), np.float64)))
        true = np.asarray(model.predict_proba(X), np.float64)[np.arange(len(target)), target]
        return np.asarray(-np.log(np.clip(true, MIN_PROBABILITY, 1.0)))

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        X = self._table.columns(features)
        predicted = np.asarray(self._fit(X, self.target).predict(X))
        return np.asarray(predicted != self.target, np.float64)

    def subset_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        """Scores of shape (n_subsets, n_folds)."""
        # joblib's threads, so that estimators that use joblib do not start more
        found = Parallel(n_jobs=self._n_jobs, prefer="threads")(
            delayed(self._score)(features, t, target)
            for features in subsets
            for t in range(len(self.folds))
        )
        return np.array(found).reshape(len(subsets), len(self.folds))

    def _score(self, features: IntArray, t: int, target: AnyArray) -> float:
        X, (train, test) = self._table.columns(features), self.folds[t]
        model = self._fit(X, target, train)
        return self._fold_scorer.of_estimator(t, model, X[test], target[test])

    def held_out(self, features: IntArray, t: int, target: AnyArray) -> FloatArray:
        """Predictions of the test rows of fold t from these features."""
        X, (train, test) = self._table.columns(features), self.folds[t]
        return np.asarray(self._fit(X, target, train).predict(X[test]), np.float64)

    def model(self) -> Any:
        """The estimator fitted to all rows on the accepted features."""
        if not self.features:
            return NeighbourModel(self._constant)
        features = np.array(self.features)
        fitted = self._fit(self._table.columns(features), self.target)
        return EstimatorModel(features, fitted, self._constant.n_classes)


def importances(model: Any) -> FloatArray:
    """Importances of a fitted estimator, >= 0."""
    found = getattr(model, "feature_importances_", None)
    if found is None:
        found = getattr(model, "coef_", None)
    if found is None:
        raise ParameterError(
            "'ranker' must have feature_importances_ or coef_ after fit. Got "
            f"{type(model).__name__} without. Use 'trees' for the built-in trees."
        )
    sizes = np.abs(np.nan_to_num(np.asarray(found, np.float64)))
    return sizes.sum(axis=0) if sizes.ndim == 2 else sizes


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A fitted estimator and its columns."""

    features: IntArray
    fitted: Any
    n_classes: int

    def response(self, table: Table, threads: Threads) -> FloatArray:  # noqa: ARG002 - its own
        """Values, or probabilities of shape (n_rows, n_classes)."""
        X = table.columns(self.features)
        if self.n_classes == 0:
            return np.asarray(self.fitted.predict(X), np.float64)
        if hasattr(self.fitted, "predict_proba"):
            return np.asarray(self.fitted.predict_proba(X), np.float64)
        return np.eye(self.n_classes)[np.asarray(self.fitted.predict(X), np.int64)]


class BoostedTrees(Evaluator):
    """Trees without a penalty rank by gain (H1), in total or by split; small ones score (H2)."""

    def __init__(
        self,
        problem: Problem,
        columns: BinnedColumns,
        params: BoostingParams,
        threads: Threads,
        folds: Sequence[Fold],
        fold_scorer: FoldScorer,
        importance: str = "total_gain",
    ) -> None:
        super().__init__(problem.target.values, folds)
        self._is_total = importance == "total_gain"
        self._weight, self._columns, self._params = problem.weight, columns, params
        self._threads, self._fold_scorer = threads, fold_scorer
        self._n_classes = n_classes = problem.target.n_classes
        self._loss = get_loss("log_loss" if n_classes else "squared_error", n_classes=n_classes)

    def rank(self, target: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Importances of a fit to weighted rows."""
        columns, weight = self._columns, self._weight if weight is None else weight
        n_cells = columns.n_rows * columns.n_features
        if n_cells <= SMALL_TABLE and isinstance(columns.codes, DenseCodes):
            given = (weight, self._loss, self._params_for(weight))
            _, gains, splits = boost_small(columns, target, *given, all_rows(len(target)))
        else:
            model = self._train(columns, target, weight)
            gains = model.importances(columns.n_features)
            splits = model.split_counts(columns.n_features)
        return gains if self._is_total else gains / np.maximum(splits, 1.0)

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the absolute error."""
        raw = self._raw(features, all_rows(len(self.target)), self.target)
        loss = self._loss
        return loss.pointwise(self.target, raw) if self._n_classes else np.abs(self.target - raw[0])

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        raw = self._raw(features, all_rows(len(self.target)), self.target)
        predicted = self._loss.response(raw).argmax(axis=1)
        return np.asarray(predicted != self.target, np.float64)

    def subset_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        """Scores of shape (n_subsets, n_folds)."""
        responses: dict[tuple[int, int], FloatArray] = {}
        out = np.empty((len(subsets), len(self.folds)))

        def task(_: int, number: int) -> None:
            c, t = divmod(number, len(self.folds))
            responses[c, t] = self.held_out(subsets[c], t, target)

        self._threads.share(task, out.size)
        for (c, t), response in responses.items():  # a scorer of the user: in one thread only
            out[c, t] = self._fold_scorer(t, response, target[self.folds[t].test])
        return out

    def held_out(self, features: IntArray, t: int, target: AnyArray) -> FloatArray:
        """Predictions of the test rows of fold t from these features."""
        fold = self.folds[t]
        raw = self._raw(features, fold, target)
        return self._loss.response(np.ascontiguousarray(raw[:, fold.test]))

    def model(self) -> Any:
        """Trees on the accepted features, fitted to all rows."""
        if not self.features:
            baseline = self._loss.baseline(self.target, self._weight)
            return BoostedModel(Ensemble(self._loss, baseline), 0)
        features = np.array(self.features)
        trained = self._train(take_columns(self._columns, features), self.target, self._weight)

        def whole(tree: Tree) -> Tree:
            """With the feature numbers of the whole table."""
            return tree._replace(feature=np.where(tree.left >= 0, features[tree.feature], -1))

        old = trained.ensemble
        rounds = [list(map(whole, trees)) for trees in old.rounds]
        return BoostedModel(Ensemble(old.loss, old.baseline, rounds), trained.n_rounds)

    def _raw(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        columns = take_columns(self._columns, features)
        return boost_small(columns, target, self._weight, self._loss, self._params, fold)[0]

    def _train(
        self, columns: BinnedColumns, target: FloatArray, weight: FloatArray
    ) -> BoostedModel:
        """A model on these columns and all rows; features are free."""
        free = as_costs(None, None, None).bind([str(j) for j in range(columns.n_features)])
        data = BoostedData(columns, target, weight, self._loss, free, self._threads)
        *_, last = data.run(data.everything, self._params_for(weight)).steps
        return last.model

    def _params_for(self, weight: FloatArray) -> BoostingParams:
        """With the smallest leaf in units of the weights, if they no longer count rows."""
        if are_counts(weight) or not are_counts(self._weight):
            return self._params
        min_rows = self._params.min_samples_leaf * len(weight) / float(weight.sum())
        return replace(self._params, min_samples_leaf=min_rows)
