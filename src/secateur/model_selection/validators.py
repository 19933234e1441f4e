"""The models that score selections: validators by name, and those of the steps of a path."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from secateur.data.target import TargetType
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import ParameterError
from secateur.model_selection.encoding import AsNumbers, on_numbers
from secateur.model_selection.rows import Metric, Rows, check_target_type, prepared
from secateur.path import SelectionPath
from secateur.typing import IntArray

ALPHAS = tuple(10.0**power for power in range(-3, 4))  # of which ridge regression chooses one
VALIDATOR = "Use for instance sklearn.linear_model.LogisticRegression()."
LINEAR = {"classification": "logistic", "regression": "ridge", "ranking": "ridge"}


def linear_model(target_type: str, *, is_sparse: bool) -> Pipeline:
    """Logistic regression, or ridge regression that chooses its penalty by cross-validation."""
    is_classes = target_type == "classification"
    model = LogisticRegression(max_iter=1000) if is_classes else RidgeCV(alphas=ALPHAS)
    return _numbers_then(model, is_sparse=is_sparse)


def _numbers_then(estimator: Any, *, is_sparse: bool) -> Pipeline:
    fill = SimpleImputer(keep_empty_features=True)
    return make_pipeline(AsNumbers(), fill, StandardScaler(with_mean=not is_sparse), estimator)


def read_validators(validators: Any, target_type: TargetType, *, is_sparse: bool) -> dict[str, Any]:
    """Validators as estimators by name, from what a user may write."""
    is_classes = target_type == "classification"
    neighbours = KNeighborsClassifier() if is_classes else KNeighborsRegressor()
    # by name, because selectors are above this package
    package = importlib.import_module("secateur")
    # without a penalty: plain boosted trees, for missing cells, categories and sparse tables
    trees = package.AGBMClassifier if is_classes else package.AGBMRegressor
    if target_type == "ranking":
        trees = package.AGBMRanker
    known = {
        LINEAR[target_type]: linear_model(target_type, is_sparse=is_sparse),
        "knn": _numbers_then(neighbours, is_sparse=is_sparse),
        "trees": trees(penalty=0.0, max_iter=100, early_stopping=False),
    }
    if validators is None:
        return known
    by_name = {**known, "linear": known[LINEAR[target_type]]}
    by_name |= _others(target_type, is_sparse=is_sparse)
    found: dict[str, Any] = {}
    for label, value in labelled(validators):
        name = label or type(value).__name__.lower()
        if isinstance(value, str) and value not in by_name:
            raise ParameterError(
                f"'validators' must be names for {target_type}, or estimators. Got {value!r}. "
                f"Use some of {', '.join(by_name)}."
            )
        found[name] = by_name[value] if isinstance(value, str) else value
        check_estimator("validator", found[name], "fit", "predict", advice=VALIDATOR)
        check_target_type("validator", found[name], target_type)
    if not found:
        raise ParameterError(
            f"'validators' must name at least one. Got none. Use some of {', '.join(known)}."
        )
    return found


def _others(target_type: TargetType, *, is_sparse: bool) -> dict[str, Any]:
    """Validators of the papers, by name only; LightGBM's if it is installed."""
    is_classes = target_type == "classification"
    nearest = (KNeighborsClassifier if is_classes else KNeighborsRegressor)(1)
    found = {
        "1nn": _numbers_then(nearest, is_sparse=is_sparse),
        "rbf_svm": _numbers_then(SVC() if is_classes else SVR(), is_sparse=is_sparse),
    }
    if is_classes:
        dense = FunctionTransformer(as_dense, accept_sparse=True)
        found["naive_bayes"] = make_pipeline(
            AsNumbers(), SimpleImputer(keep_empty_features=True), dense, GaussianNB()
        )
    if importlib.util.find_spec("lightgbm"):
        package = importlib.import_module("lightgbm")
        model = package.LGBMClassifier if is_classes else package.LGBMRegressor
        found["lightgbm"] = _numbers_then(model(verbose=-1, n_jobs=1), is_sparse=is_sparse)
    return found


def as_dense(X: Any) -> Any:
    """A sparse matrix as an array, which naive Bayes needs."""
    return X.toarray() if issparse(X) else X


def labelled(given: Any) -> list[tuple[str | None, Any]]:
    """Names or estimators with their labels, from text, an estimator, a sequence or a mapping."""
    if isinstance(given, Mapping):
        return [(str(name), value) for name, value in given.items()]
    if isinstance(given, str):
        return [(part.strip(), part.strip()) for part in given.split(",") if part.strip()]
    if hasattr(given, "fit") or not isinstance(given, Iterable):
        return [(None, given)]
    found: list[tuple[str | None, Any]] = []
    for value in given:
        is_pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
        found += [value] if is_pair else labelled(value)
    return found


def check_estimator(name: str, value: Any, *methods: str, advice: str) -> None:
    """Raise unless a value is an estimator that has some methods."""
    if isinstance(value, type) or not all(hasattr(value, method) for method in methods):
        raise ParameterError(
            f"{name!r} must be an estimator with {' and '.join(methods)}. Got {value!r}. {advice}"
        )


def score_fold(
    estimator: Any,
    train: Rows,
    test: Rows,
    metric: Metric,
    seed: int,
    support: IntArray | None = None,
) -> FoldLosses:
    """Fit a clone to some columns, all by default, of the training rows; evaluate the test rows."""
    if support is not None and len(support) == 0:  # a constant
        is_classes = train.target_type == "classification"
        model = DummyClassifier(strategy="prior") if is_classes else DummyRegressor()
        model.fit(np.zeros((len(train.y), 1)), train.y, sample_weight=train.weight)
        empty = np.zeros((len(test.y), 1))
        return metric.evaluate(test.with_tasks(model), empty, test.y, test.weight, test.queries)
    return test.evaluate(train.fit(prepared(estimator, seed), support), metric, support)


@dataclass(frozen=True, slots=True)
class AtIndex:
    """The cutting rule that chooses a given step."""

    index: int

    def choose(self, path: SelectionPath) -> int:  # noqa: ARG002 - known already
        """Return the index of the chosen step."""
        return self.index

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say which it is."""
        return f"Step {index} of {len(path)}."


class StepScorer:
    """Scores the steps of selectors, and a model on all features to compare them with."""

    def __init__(
        self, selector: Any, validator: Any, rows: Rows, metric: Metric, seed: int
    ) -> None:
        self.metric, self._seed = metric, seed
        has_model = hasattr(selector, "predict") and not getattr(selector, "_may_lack_model", False)
        self._uses_own = validator is None and has_model
        linear = linear_model(rows.target_type, is_sparse=rows.is_sparse)
        model = linear if validator is None else validator
        self._validator = on_numbers(model, has_categories=rows.has_categories)
        self._of_all = self._validator
        if self._uses_own:
            self._of_all = without_penalty(selector, len(rows.names)) or linear
        last = getattr(self._of_all, "steps", [("", self._of_all)])[-1][1]
        self.name_of_all = type(last).__name__

    def steps(
        self, fitted: Any, indices: Sequence[int], train: Rows, test: Rows
    ) -> list[FoldLosses]:
        """Score steps of a selector that was fitted to the training rows, each model once."""

        @cache
        def of_step(index: int) -> FoldLosses:
            return test.evaluate(fitted.with_cut(AtIndex(index)), self.metric)

        @cache
        def of_support(support: tuple[int, ...]) -> FoldLosses:
            columns = np.array(support, np.int64)
            return score_fold(self._validator, train, test, self.metric, self._seed, columns)

        if self._uses_own:
            return [of_step(index) for index in indices]
        return [of_support(tuple(fitted.path_[index].support.tolist())) for index in indices]

    def all_features(self, train: Rows, test: Rows) -> FoldLosses:
        """Score the model on all features."""
        return score_fold(self._of_all, train, test, self.metric, self._seed)

    def fit_all(self, train: Rows, support: IntArray | None = None) -> Any:
        """The model on all features, fitted to all or some of them."""
        return train.fit(prepared(self._of_all, self._seed), support)


def without_penalty(selector: Any, n_features: int) -> Any:
    """The same estimator without penalties and limits, so that it uses all features, or None."""
    known = selector.get_params(deep=False)
    # a grid of one penalty: its folds choose the number of rounds, as those of any grid
    free: dict[str, Any] = {"max_features": None, "cost_budget": None, "cut": "best"}
    free |= {"penalty": [0.0], "group_penalty": [0.0], "task_penalty": "auto"}
    if not {"penalty", "group_penalty"} & known.keys():
        if "keep" not in known or "l1" in known:  # weights without a penalty would fit noise
            return None
        free["keep"] = np.ones(n_features, np.bool_)
    return clone(selector).set_params(**{k: v for k, v in free.items() if k in known})
