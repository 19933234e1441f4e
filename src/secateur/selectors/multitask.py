"""A-GBM for several tasks: common features are paid for once, a task's own ones by the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from secateur.data.frames import as_array
from secateur.data.table import Table
from secateur.data.target import read_weights
from secateur.data.tasks import is_wide, labelled_rows, read_keys, rows_by_key
from secateur.engines.boosted.trees import BoostedModel
from secateur.selectors.boosted import GroupTestingParameters
from secateur.selectors.multitask_base import MultitaskSelector, TaskParameters
from secateur.selectors.parameters import (
    ClassificationParameters,
    RegressionParameters,
    with_constructor,
)
from secateur.typing import AnyArray, FloatArray


def mean_score(
    score: Callable[..., float], predicted: AnyArray, y: Any, sample_weight: Any, task: Any
) -> float:
    """The score of each task, and of these the mean by the weight of its rows."""
    n_rows = len(predicted)
    weight = read_weights(sample_weight, n_rows)
    if is_wide(y):
        columns = enumerate(labelled_rows(y, n_rows))
        parts = [(true, predicted[rows, t], weight[rows]) for t, (_, rows, true) in columns]
    else:
        given = as_array(y, "y").ravel()
        is_one = task is None or np.isscalar(task)
        by_task = rows_by_key([0] * n_rows if is_one else read_keys(task, n_rows)).values()
        parts = [(given[rows], predicted[rows], weight[rows]) for rows in by_task]
    scores = [score(true, found, sample_weight=w) for true, found, w in parts]
    return float(np.average(scores, weights=[w.sum() for _, _, w in parts]))


@with_constructor
class MultitaskAGBMClassifier(
    ClassifierMixin,  # type: ignore[misc]  # untyped
    MultitaskSelector,
    ClassificationParameters,
    GroupTestingParameters,
    TaskParameters,
):
    """A-GBM for several tasks over the same features, for classification.

    Tasks share the cost of features, and perhaps trees (``common_trees``). A split of a tree of
    task t on feature j gains (Eq. 2 of Han, Rao, Sorokina and Subbian, AISTATS 2020)

        dSSE / SSE_root - group_penalty * [j unused by all] - task_penalty * [j unused by t]

    so a feature of one task has a lower penalty for the others. Rows come stacked, with the name
    of the task of each (``fit(X, y, task=names)``), or once, with a column of y for each task.

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

    def _shares(self, model: BoostedModel, table: Table, t: int) -> FloatArray:
        """Probabilities of all classes; 0 for those that the task has not."""
        out = np.zeros((table.n_rows, len(self.classes_)))
        known = self.classes_.tolist()
        place = [known.index(label) for label in self._task_classes[t].tolist()]
        out[:, place] = self._predict(model, table)
        return out

    def _values(self, model: BoostedModel, table: Table, t: int) -> AnyArray:
        return self.classes_[self._shares(model, table, t).argmax(axis=1)]

    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """The probability of each of ``classes_``; a list of such arrays where y had columns."""
        return self._predicted(X, task, self._shares)

    @available_if(lambda self: not getattr(self, "_is_wide", False))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, task: Any = None) -> FloatArray:
        """Log odds of the second of two classes, or the log probability of each class.

        Not there where y had columns: see ``predict_proba``.
        """
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X, task))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def staged_predict_proba(self, X: Any, task: Any = None) -> Iterator[Any]:
        """The probabilities predicted at each step of the path."""
        return self._staged_by_task(X, task, self._shares)

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The accuracy of each task, and of these the mean, tasks by their rows."""
        return mean_score(accuracy_score, self.predict(X, task), y, sample_weight, task)


@with_constructor
class MultitaskAGBMRegressor(
    RegressorMixin,  # type: ignore[misc]  # untyped
    MultitaskSelector,
    RegressionParameters,
    GroupTestingParameters,
    TaskParameters,
):
    """A-GBM for several tasks over the same features, for regression.

    The gain of a split and the form of the rows are those of MultitaskAGBMClassifier.

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

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The R2 of each task, and of these the mean, tasks by their rows."""
        return mean_score(r2_score, self.predict(X, task), y, sample_weight, task)
