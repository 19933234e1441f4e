"""A-GBM for several tasks: common features are paid for once, a task's own ones by the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from secateur._kernels.threads import Threads
from secateur.data.table import Fold, Table
from secateur.data.target import Target
from secateur.data.tasks import all_classes, read_keys, rows_by_key
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.multitask import (
    TASK_SPLIT_PENALTIES,
    CommonData,
    TaskData,
    TasksData,
    TasksModel,
)
from secateur.engines.boosted.search import is_fast
from secateur.engines.boosted.trees import BoostedModel, min_leaf_rows
from secateur.exceptions import InputError, ParameterError, import_optional, some_of
from secateur.model_selection.folds import is_drawn, with_classes_trained
from secateur.selectors.base import PathSelector
from secateur.selectors.boosted import GroupTestedSelector
from secateur.selectors.inputs import store_lazy
from secateur.selectors.multitask_input import (
    MultitaskInput,
    TaskFit,
    check_folds,
    mean_score,
    read_multitask,
    read_task_penalties,
    task_weight,
    why_not_common,
)
from secateur.selectors.parameters import (
    ClassificationParameters,
    RegressionParameters,
    one_of,
    read_penalty,
    with_constructor,
    with_parameters_of,
)
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

TASK_SHARE = 1.0  # what a task's own penalty is of the group penalty, by default


@with_constructor
class MultitaskSelector(GroupTestedSelector):
    """Fits boosted trees for several tasks that share the cost of their features.

    Parameters
    ----------
    group_penalty : float, "auto" or sequence of float, default="auto"
        What a feature that no task uses yet costs, times its cost, as a share of the squared error
        at the root of a tree; from 0, which makes the tasks independent, to below 1.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own.
    task_penalty : float, dict, sequence or "auto", default="auto"
        What a feature that is new to a task costs that task, used by others or not; one number, or
        one per task: a dict by task, or a sequence in the order of ``tasks_``. "auto" is as much
        as the group penalty; from 1,000 rows on 0 is tried too. With 0 all tasks have one set.
    common_trees : bool or "auto", default="auto"
        Whether a round is one tree for the rows of all tasks, which may ask for the task, instead
        of one tree for each. A node of it pays for every task that can come to it: what a feature
        new to the task costs, by the task's share of the rows. "auto" tries both, where the group
        penalty is "auto" too and rows of several tasks with the same classes come stacked; trees
        in common are kept where held-out rows find those of the tasks clearly worse. Else it is
        False. ``common_trees_`` says what was kept.
    search : {"exact", "group_testing"}, default="exact"
        Whether nodes look at every feature, or find new ones by group tests as GT-GBM does, with
        ``expected_features``, ``delta``, ``leaf_size`` and ``group_size``.
    """

    group_penalty: Any = "auto"
    task_penalty: Any = "auto"
    common_trees: Any = one_of(True, False, "auto").default("auto")
    search: str = one_of("exact", "group_testing").default("exact")

    _criterion = "agbm"
    _max_penalty = 1.0
    _exact = "search='exact'"
    _after_lost_cluster = "a fit of several tasks cannot go on from them."

    def _read_penalty(self) -> float | list[float] | None:
        return read_penalty("group_penalty", self.group_penalty, self._max_penalty)

    @with_parameters_of(PathSelector.fit)
    def fit(  # type: ignore[override]  # explicit arguments
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        task: Any = None,
        *,
        groups: Any = None,
    ) -> Any:
        """Search the path of selections of all tasks and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
            The rows of all tasks. A stored table has y and task of its own.
        y : array or series of shape (n_rows,), or array or frame of shape (n_rows, n_tasks)
            With a column for each task, missing labels are NaN or None.
        task : array or series of shape (n_rows,), optional
            The task of each row, any hashable values, where y has one column. None is one task.
        """
        return self._fit(X, y, sample_weight, groups, task=task)

    def _problem(self, X: Any, y: Any, sample_weight: Any, *, task: Any) -> MultitaskInput:  # type: ignore[override]
        X, y = store_lazy(self, X, y, sample_weight, task)
        penalty = self._read_penalty()
        given, tasks, is_wide, has_names = read_multitask(
            self, self._target_type, X, y, sample_weight, task
        )
        own = read_task_penalties(self.task_penalty, tasks, penalty)
        classes = all_classes(tasks)
        class_weight = getattr(self, "class_weight", None)
        fits = []
        for each, its_penalty in zip(tasks, own, strict=True):
            weight = task_weight(given.problem.weight, each, classes, class_weight)
            fits.append(TaskFit(each, weight, self._loss(each.target, weight), its_penalty))
        more = {"fits": fits, "is_wide": is_wide, "has_names": has_names}
        found = given.extended(MultitaskInput, loss=fits[0].loss, penalty=penalty, **more)
        if self.common_trees is True and (reason := why_not_common(found)):
            raise ParameterError(f"'common_trees' must be False or 'auto' {reason}")
        return found

    def _folds(self, given: MultitaskInput) -> list[Fold]:  # type: ignore[override]
        """As for one task; each task and class has its share of every fold."""
        folds = super()._folds(given)
        is_grid = not isinstance(given.penalty, float)
        if is_grid and (given.groups is not None or not is_drawn(self.cv)):
            check_folds(folds, given.tasks)
        elif given.is_wide:  # classes of each column, which no strata have
            for each in given.tasks:
                codes = np.full(given.problem.n_rows, -1)
                codes[each.rows] = each.target.values if each.target.n_classes else -1
                folds = [with_classes_trained(fold, codes) for fold in folds]
        return folds

    def _remember(self, given: MultitaskInput) -> None:
        super()._remember(given)
        self.tasks_ = [each.key for each in given.tasks]
        self._task_classes: list[Any] = [each.target.classes for each in given.tasks]
        self._is_wide, self._has_names = given.is_wide, given.has_names
        if self.search != "group_testing":
            del self.design_

    def _variants(self, given: Any, folds: list[Fold], threads: Threads) -> list[Any]:
        """Trees for each task, and common ones: all variants, by order of preference."""
        is_choice = bool(folds) and given.penalty is None
        has_common: bool = self.common_trees
        if self.common_trees == "auto":
            has_common = is_choice and len(given.tasks) > 1 and not why_not_common(given)
        given = replace(given, has_common=has_common)
        if self.search == "group_testing":
            n_rows, is_stored = given.problem.n_rows, isinstance(given.problem.table, StoredTable)
            n_copies = len(given.fits) if given.is_wide else 1 + (has_common and not is_stored)
            self._check_design(given, n_rows * n_copies)
        own = self._tasks_data(given, folds, threads)
        has_set = is_choice and is_fast(given.problem.n_rows, None) and self.task_penalty == "auto"
        apart = [own, replace(own, share=0.0)] if has_set else [own]
        if not has_common:
            return apart
        common = self._common(given, own, threads)
        penalties = TASK_SPLIT_PENALTIES if is_choice else TASK_SPLIT_PENALTIES[-1:]
        shared = [replace(common, task_split_penalty=each) for each in penalties]
        return [*apart, *shared] if self.common_trees == "auto" else shared

    def _design_weight(self, given: MultitaskInput) -> FloatArray:
        # of the task with the median number of rows
        return sorted((each.weight for each in given.fits), key=len)[len(given.fits) // 2]

    def _tasks_data(self, given: MultitaskInput, folds: list[Fold], threads: Threads) -> TasksData:
        """Every task binned by itself; tasks that have all rows in common share one binning."""
        problem, fits = given.problem, given.fits
        has_own = not given.has_common or self.common_trees == "auto"
        n_fits = max(1, len(folds)) * (len(fits) if has_own else 1)
        n_outputs = max(each.loss.n_outputs for each in fits)
        row_store = self._row_store(problem.table, threads, n_outputs, n_fits)
        shared, stacked = None, None
        if given.is_wide or row_store is not None:
            shared = self._data(given, problem.table, problem.weight, threads, row_store)
            # Long tables would need too much memory for a target and a weight for each task.
            stacked = None if has_own else given.stacked()
        tasks, table = [], problem.table
        for each in fits:
            rows, values = each.task.rows, each.task.target.values
            if shared is None:  # binned by itself
                own = table if len(rows) == table.n_rows else table.take(rows)
                data = self._data(given, own, each.weight, threads)
                queries = None if given.queries is None else given.queries[rows]
                data = replace(data, target=values, loss=each.loss, queries=queries)
                place = np.arange(len(rows))
            else:
                target, weight = stacked or (np.zeros(table.n_rows), np.ones(table.n_rows))
                target[rows], weight[rows] = values, each.weight
                data = replace(shared, target=target, weight=weight, loss=each.loss, rows=rows)
                place = rows
            min_leaf = min_leaf_rows(self.min_samples_leaf, each.weight)
            unit, key = each.unit if len(fits) > 1 else 1.0, str(each.task.key)
            tasks.append(TaskData(key, data, rows, place, each.penalty, min_leaf, unit))
        metric = fits[0].loss.metric
        if len(tasks) > 1 and given.classes is None and given.queries is None:
            metric = f"relative {metric}"
        return TasksData(tasks, problem.cost_model, problem.n_rows, metric, TASK_SHARE)

    def _common(self, given: MultitaskInput, own: TasksData, threads: Threads) -> CommonData:
        """The rows of all tasks as those of one, for trees that all have in common."""
        target, weight = given.stacked()
        loss = self._loss(Target(target, given.fits[0].task.target.classes), weight)
        data = replace(own.tasks[0].data, target=target, weight=weight, loss=loss, rows=None)
        data = replace(data, queries=given.queries)
        if data.row_store is None:  # a task has bins of its own
            problem = given.problem
            binned = self._data(given, problem.table, weight, threads, group_weight=problem.weight)
            data = replace(data, columns=binned.columns, groups=binned.groups)
        return CommonData.of(data, own.tasks, own.metric, own.share)

    def _groups(self, *rows: Any) -> Groups | None:
        return super()._groups(*rows) if self.search == "group_testing" else None

    @property
    def task_support_(self) -> Any:
        """Which features each task uses: a frame of booleans, tasks by features."""
        supports, features = self._step.supports, np.arange(self.n_features_in_)
        pd = import_optional(
            "pandas", "A data frame", "pandas", ", or use path_[selection_.index].supports"
        )
        mask = np.array([np.isin(features, supports[str(key)]) for key in self.tasks_])
        index = pd.Index(self.tasks_, tupleize_cols=False, name="task")
        return pd.DataFrame(mask, index=index, columns=list(self._schema.names))

    @property
    def common_trees_(self) -> bool:
        """Whether the tasks have trees in common."""
        return bool(self._model.has_common_trees)

    def _rows_of(self, task: Any, n_rows: int) -> dict[int, IntArray] | None:
        """Which rows each task predicts, by the number of the task; None is all rows of each."""
        if task is None and self._is_wide:
            return None
        tasks = some_of(self.tasks_, limit=20)
        if task is None:
            if len(self.tasks_) > 1:
                raise InputError(
                    f"'task' must hold a task per row. Got None. The tasks are {tasks}."
                )
            return {0: np.arange(n_rows)}
        found = rows_by_key([task] * n_rows if np.isscalar(task) else read_keys(task, n_rows))
        number = {key: t for t, key in enumerate(self.tasks_)}
        unknown = [key for key in found if key not in number]
        if unknown or not (self._has_names or self._is_wide):
            raise InputError(
                f"'task' must hold tasks that the fit knows. Got {some_of(unknown or list(found))}."
                f" The tasks are {tasks}."
            )
        return {number[key]: rows for key, rows in found.items()}

    def _by_task(
        self, models: list[Any], table: Table, task: Any, predict: Callable[..., Any]
    ) -> Iterator[Any]:
        """Predictions of each model: of a row by its own task, or of all tasks in a list."""
        rows_of = self._rows_of(task, table.n_rows)  # refuses before the first model

        def predicted(model: TasksModel) -> Any:
            if rows_of is None:
                return [predict(each, table, t) for t, each in enumerate(model.models)]
            parts = []
            for t, rows in rows_of.items():
                own = table if len(rows) == table.n_rows else table.take(rows)
                parts.append(predict(model.models[t], own, t))
            out = np.empty((table.n_rows, *parts[0].shape[1:]), parts[0].dtype)
            for rows, values in zip(rows_of.values(), parts, strict=True):
                out[rows] = values
            return out

        return map(predicted, models)

    def _values(self, model: Any, table: Table, t: int) -> AnyArray:  # noqa: ARG002
        return self._predict(model, table)

    def predict(self, X: Any, task: Any = None) -> AnyArray:
        """The prediction of each row in its task; a column per task where y had columns."""
        found = self._by_task([self._model], self._read_for_model(X), task, self._values)
        return _as_columns(next(found))

    def staged_predict(self, X: Any, task: Any = None) -> Iterator[AnyArray]:
        """The predictions at each step of the path."""
        return map(_as_columns, self._by_task(*self._models_and_rows(X), task, self._values))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _as_columns(found: Any) -> Any:
    return np.column_stack(found) if isinstance(found, list) else found


@with_constructor
class MultitaskAGBMClassifier(
    ClassifierMixin,  # type: ignore[misc]  # untyped
    MultitaskSelector,
    ClassificationParameters,
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
        found = self._by_task([self._model], self._read_for_model(X), task, self._shares)
        return next(found)

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
        return self._by_task(*self._models_and_rows(X), task, self._shares)

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The accuracy of each task, and of these the mean, tasks by their rows."""
        return mean_score(accuracy_score, self.predict(X, task), y, sample_weight, task)


@with_constructor
class MultitaskAGBMRegressor(
    RegressorMixin,  # type: ignore[misc]  # untyped
    MultitaskSelector,
    RegressionParameters,
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
