"""What a step is worth on other rows: by its own model, or by one fitted to its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.engines.fold_losses import FoldLosses
from secateur.model_selection.rows import Rows, verdict_on
from secateur.model_selection.scorers import Measure, prepared
from secateur.path import SelectionPath


@dataclass(frozen=True, slots=True)
class AtIndex:
    """The cutting rule that chooses a given step."""

    index: int

    def choose(self, path: SelectionPath) -> int:  # noqa: ARG002 - known already
        """Return the index of the chosen step."""
        return self.index

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Tell which it is."""
        return f"Step {index} of {len(path)}."


class StepJudge:
    """Judges the steps of fitted selectors, and a model on all columns beside them.

    Parameters
    ----------
    selector : estimator
        Not fitted.
    validator : estimator or None
        None: the steps' own models where the selector predicts, otherwise a linear model.
    rows : Rows
        All rows.
    measure : Measure
    seed : int
    """

    def __init__(
        self, selector: Any, validator: Any, rows: Rows, measure: Measure, seed: int
    ) -> None:
        from secateur.model_selection.encoding import on_numbers
        from secateur.model_selection.validators import linear_model

        self._uses_own = validator is None and hasattr(selector, "predict")
        self.measure = measure
        self._seed = seed
        linear = linear_model(rows.target_type, is_sparse=rows.is_sparse)
        self._validator = (
            linear
            if validator is None
            else on_numbers(validator, has_categories=rows.has_categories)
        )
        self._of_all = self._validator
        if self._uses_own:
            self._of_all = unselective(selector, rows.n_features) or linear

    @property
    def name_of_all(self) -> str:
        """What the model on all columns is."""
        last = getattr(self._of_all, "steps", [("", self._of_all)])[-1][1]
        return type(last).__name__

    def judge(self, fitted: Any, index: int, train: Rows, test: Rows) -> FoldLosses:
        """What the rows of `test` say of a step of a selector fitted to those of `train`."""
        if self._uses_own:
            return test.judge(fitted.with_cut(AtIndex(index)), self.measure)
        support = fitted.path_[index].support
        return verdict_on(support, self._validator, train, test, self.measure, self._seed)

    def judge_all(self, train: Rows, test: Rows) -> FoldLosses:
        """The same for a model on all columns."""
        return test.judge(self.fit_all(train), self.measure)

    def fit_all(self, train: Rows) -> Any:
        """The model on all columns, fitted."""
        return train.fit(prepared(self._of_all, self._seed))


def unselective(selector: Any, n_features: int) -> Any:
    """The same estimator with nothing to pay for, so that it uses all columns; None if unknown.

    >>> from secateur import AGBMClassifier
    >>> unselective(AGBMClassifier(), 3).penalty
    [0.0]
    """
    from sklearn.base import clone

    known = selector.get_params(deep=False)
    # a grid of one penalty: its folds choose the number of rounds, as those of any grid
    free: dict[str, Any] = {"max_features": None, "cost_budget": None}
    free |= {"penalty": [0.0], "group_penalty": [0.0], "task_penalty": "auto"}
    if not {"penalty", "group_penalty"} & known.keys():
        free["keep"] = np.ones(n_features, np.bool_)
        if "keep" not in known:
            return None
    told = {name: value for name, value in {**free, "cut": "best"}.items() if name in known}
    return clone(selector).set_params(**told)
