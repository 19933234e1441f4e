"""A-GBM for several tasks: common features are paid for once, a task's own ones by the task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from secateur.data.table import Table
from secateur.data.target import Target, TargetType
from secateur.engines.boosted.trees import BoostedModel
from secateur.selectors.boosted import class_loss, number_loss
from secateur.selectors.boosted_input import CONSTRAINTS, LOSS_CONSTRAINTS, with_parameters
from secateur.selectors.multitask_base import MultitaskSelector
from secateur.selectors.multitask_input import (
    GROUP_PENALTY,
    MULTITASK,
    TASK_CONSTRAINTS,
    mean_score,
)
from secateur.selectors.multitask_prediction import has_one_target, log_odds
from secateur.typing import AnyArray, FloatArray, Loss


@with_parameters
class MultitaskAGBMClassifier(ClassifierMixin, MultitaskSelector):  # type: ignore[misc]  # untyped base
    """A-GBM for several tasks over the same features, for classes.

    Tasks share the cost of features, and perhaps trees (``common_trees``). A split of a tree of
    task t on feature j gains (Eq. 2 of Han, Rao, Sorokina and Subbian, AISTATS 2020)

        dSSE / SSE_root - group_penalty * [j unused by all] - task_penalty * [j unused by t]

    so what one task has bought is cheaper for the others. Rows come stacked, with the name of the
    task of each (``fit(X, y, task=names)``), or once, with a column of y for each task.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(600, 10)), np.repeat(["north", "south"], 300)
    >>> y = (X[:, 0] + X[:, 1] * (task == "north") + X[:, 2] * (task == "south")) > 0
    >>> model = MultitaskAGBMClassifier(group_penalty=0.1, task_penalty=0.05, max_iter=20)
    >>> model = model.fit(X, y, task=task)
    >>> model.task_support_.loc["north", ["x0", "x1", "x2"]].tolist()
    [True, True, False]
    """

    _target_type: ClassVar[TargetType] = "classification"
    _constraints = CONSTRAINTS | TASK_CONSTRAINTS
    _own_parameters: ClassVar[str] = MULTITASK
    _penalty_doc: ClassVar[str] = GROUP_PENALTY

    def __init__(
        self,
        *,
        group_penalty: Any = "auto",
        task_penalty: Any = "auto",
        common_trees: Any = "auto",
        search: str = "exact",
        expected_features: Any = "auto",
        delta: float = 0.1,
        leaf_size: int = 32,
        group_size: Any = "auto",
        learning_rate: float = 0.1,
        max_iter: int = 200,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: Any = "auto",
        l2_regularization: float = 0.0,
        leaf: str = "newton",
        subsample: float = 1.0,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        cost_budget: float | None = None,
        cut: Any = None,
        cv: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        categorical_features: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.group_penalty = group_penalty
        self.task_penalty = task_penalty
        self.common_trees = common_trees
        self.search = search
        self.expected_features = expected_features
        self.delta = delta
        self.leaf_size = leaf_size
        self.group_size = group_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.leaf = leaf
        self.subsample = subsample
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.max_features = max_features
        self.cost_budget = cost_budget
        self.cut = cut
        self.cv = cv
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        del weight
        return class_loss(target)

    def _shares(self, model: BoostedModel, table: Table, t: int) -> FloatArray:
        """Probabilities of all classes; 0 for those that the task has not."""
        out = np.zeros((table.n_rows, len(self.classes_)))
        known = self.classes_.tolist()
        place = [known.index(label) for label in self._task_classes[t].tolist()]
        out[:, place] = self._predict(model, table)
        return out

    def _labels(self, model: BoostedModel, table: Table, t: int) -> AnyArray:
        labels: AnyArray = self.classes_[self._shares(model, table, t).argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """The probability of each of ``classes_``; a list of such arrays where y had columns."""
        return self._predicted(X, task, self._shares)

    def predict(self, X: Any, task: Any = None) -> AnyArray:
        """The likeliest class of each row in its task; a column per task where y had columns."""
        found = self._predicted(X, task, self._labels)
        return np.column_stack(found) if isinstance(found, list) else found

    @available_if(has_one_target)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, task: Any = None) -> FloatArray:
        """Log odds of the second of two classes, or the log probability of each class.

        Not there where y had columns: see ``predict_proba``.
        """
        return log_odds(self.predict_proba(X, task))

    def staged_predict(self, X: Any, task: Any = None) -> Iterator[AnyArray]:
        """The classes predicted at each step of the path."""
        stages = self._staged_by_task(X, task, self._labels)
        return (np.column_stack(s) if isinstance(s, list) else s for s in stages)

    def staged_predict_proba(self, X: Any, task: Any = None) -> Iterator[Any]:
        """The probabilities predicted at each step of the path."""
        return self._staged_by_task(X, task, self._shares)

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The accuracy of each task, and of these the mean, tasks by their rows."""
        return mean_score(accuracy_score, self.predict(X, task), y, sample_weight, task)


@with_parameters
class MultitaskAGBMRegressor(RegressorMixin, MultitaskSelector):  # type: ignore[misc]  # untyped base
    """A-GBM for several tasks over the same features, for numbers.

    Tasks share the cost of features, and perhaps trees (``common_trees``). A split of a tree of
    task t on feature j gains (Eq. 2 of Han, Rao, Sorokina and Subbian, AISTATS 2020)

        dSSE / SSE_root - group_penalty * [j unused by all] - task_penalty * [j unused by t]

    so what one task has bought is cheaper for the others. Rows come stacked, with the name of the
    task of each (``fit(X, y, task=names)``), or once, with a column of y for each task.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(600, 10)), np.repeat(["north", "south"], 300)
    >>> y = X[:, 0] + X[:, 1] * (task == "north") + X[:, 2] * (task == "south")
    >>> model = MultitaskAGBMRegressor(group_penalty=0.1, task_penalty=0.05, max_iter=20)
    >>> model = model.fit(X, y, task=task)
    >>> model.task_support_.loc["north", ["x0", "x1", "x2"]].tolist()
    [True, True, False]
    """

    _target_type: ClassVar[TargetType] = "regression"
    _constraints = CONSTRAINTS | LOSS_CONSTRAINTS | TASK_CONSTRAINTS
    _own_parameters: ClassVar[str] = MULTITASK
    _penalty_doc: ClassVar[str] = GROUP_PENALTY

    def __init__(
        self,
        *,
        group_penalty: Any = "auto",
        task_penalty: Any = "auto",
        common_trees: Any = "auto",
        search: str = "exact",
        expected_features: Any = "auto",
        delta: float = 0.1,
        leaf_size: int = 32,
        group_size: Any = "auto",
        loss: str = "squared_error",
        quantile: float | None = None,
        huber_delta: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 200,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: Any = "auto",
        l2_regularization: float = 0.0,
        leaf: str = "newton",
        subsample: float = 1.0,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        cost_budget: float | None = None,
        cut: Any = None,
        cv: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        categorical_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.group_penalty = group_penalty
        self.task_penalty = task_penalty
        self.common_trees = common_trees
        self.search = search
        self.expected_features = expected_features
        self.delta = delta
        self.leaf_size = leaf_size
        self.group_size = group_size
        self.loss = loss
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.leaf = leaf
        self.subsample = subsample
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.max_features = max_features
        self.cost_budget = cost_budget
        self.cut = cut
        self.cv = cv
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        return number_loss(self, target, weight)

    def _numbers(self, model: BoostedModel, table: Table, t: int) -> FloatArray:
        del t
        return self._predict(model, table)

    def predict(self, X: Any, task: Any = None) -> FloatArray:
        """The predicted number of each row in its task; a column per task where y had columns."""
        found = self._predicted(X, task, self._numbers)
        return np.column_stack(found) if isinstance(found, list) else found

    def staged_predict(self, X: Any, task: Any = None) -> Iterator[FloatArray]:
        """The numbers predicted at each step of the path."""
        stages = self._staged_by_task(X, task, self._numbers)
        return (np.column_stack(s) if isinstance(s, list) else s for s in stages)

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The R2 of each task, and of these the mean, tasks by their rows."""
        return mean_score(r2_score, self.predict(X, task), y, sample_weight, task)
