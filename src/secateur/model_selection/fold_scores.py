"""How a fold is scored: a model fitted to its training rows, evaluated on its test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from secateur.engines.fold_losses import FoldLosses
from secateur.model_selection.encoding import on_numbers
from secateur.model_selection.rows import Rows
from secateur.model_selection.scorers import Metric, prepared
from secateur.model_selection.validators import constant_model, linear_model
from secateur.path import SelectionPath
from secateur.typing import IntArray


def score_fold(
    estimator: Any,
    train: Rows,
    test: Rows,
    metric: Metric,
    seed: int,
    support: IntArray | None = None,
) -> FoldLosses:
    """Fit a clone to the training rows of a fold and evaluate it on the test rows.

    `support` are the columns that are used, all by default. Without any, a constant is predicted.
    """
    if support is not None and len(support) == 0:
        model = constant_model(train.target_type)
        model.fit(np.zeros((len(train.y), 1)), train.y, sample_weight=train.weight)
        empty = np.zeros((len(test.y), 1))
        return metric.evaluate(test.with_tasks(model), empty, test.y, test.weight)
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
    """Scores the steps of fitted selectors, and a model on all features to compare them with.

    Without a validator these are the steps' own models where the selector predicts, otherwise
    linear models.
    """

    def __init__(
        self, selector: Any, validator: Any, rows: Rows, metric: Metric, seed: int
    ) -> None:
        self.metric = metric
        self._seed = seed
        self._uses_own = validator is None and hasattr(selector, "predict")
        linear = linear_model(rows.target_type, is_sparse=rows.is_sparse)
        model = linear if validator is None else validator
        self._validator = on_numbers(model, has_categories=rows.has_categories)
        self._of_all = self._validator
        if self._uses_own:
            self._of_all = without_penalty(selector, rows.n_features) or linear

    @property
    def name_of_all(self) -> str:
        """The name of the model on all features."""
        last = getattr(self._of_all, "steps", [("", self._of_all)])[-1][1]
        return type(last).__name__

    def key(self, fitted: Any, index: int) -> Any:
        """Steps with the same key are scored by the same model, which is fitted once."""
        return index if self._uses_own else fitted.path_[index].support.tobytes()

    def step(self, fitted: Any, index: int, train: Rows, test: Rows) -> FoldLosses:
        """Score a step of a selector that was fitted to the training rows."""
        if self._uses_own:
            return test.evaluate(fitted.with_cut(AtIndex(index)), self.metric)
        support = fitted.path_[index].support
        return score_fold(self._validator, train, test, self.metric, self._seed, support)

    def all_features(self, train: Rows, test: Rows) -> FoldLosses:
        """Score the model on all features."""
        return score_fold(self._of_all, train, test, self.metric, self._seed)

    def fit_all(self, train: Rows) -> Any:
        """The model on all features, fitted."""
        return train.fit(prepared(self._of_all, self._seed))


def without_penalty(selector: Any, n_features: int) -> Any:
    """The same estimator without penalties and limits, so that it uses all features, or None."""
    known = selector.get_params(deep=False)
    # a grid of one penalty: its folds choose the number of rounds, as those of any grid
    free: dict[str, Any] = {"max_features": None, "cost_budget": None, "cut": "best"}
    free |= {"penalty": [0.0], "group_penalty": [0.0], "task_penalty": "auto"}
    if not {"penalty", "group_penalty"} & known.keys():
        if "keep" not in known:
            return None
        free["keep"] = np.ones(n_features, np.bool_)
    return clone(selector).set_params(**{k: v for k, v in free.items() if k in known})
