"""The fitted model of a selector as an estimator of the selected columns alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from secateur.typing import AnyArray, FloatArray, IntArray


def _selector_has(method: str) -> Callable[[Any], bool]:
    return lambda reduced: hasattr(reduced.selector, method)


class ReducedModel(BaseEstimator):  # type: ignore[misc]  # untyped
    """A fitted model that takes the selected columns, as ``transform`` of its selector gives them.

    ``fit`` does nothing, and ``clone`` gives the model itself. Arguments beside X, as ``task``, are
    those of the selector.

    Parameters
    ----------
    selector : estimator
        A fitted selector that predicts.
    """

    def __init__(self, selector: Any) -> None:
        self.selector = selector

    @property
    def _support(self) -> IntArray:
        return np.flatnonzero(self.selector.support_)

    @property
    def n_features_in_(self) -> int:
        """The number of selected features."""
        return len(self._support)

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the selected features, if the selector knows names."""
        names: AnyArray = self.selector.feature_names_in_[self._support]
        return names

    @property
    def classes_(self) -> AnyArray:
        """The classes, of a classifier."""
        classes: AnyArray = self.selector.classes_
        return classes

    @property
    def feature_importances_(self) -> FloatArray:
        """Those of the selected features."""
        importances: FloatArray = self.selector.feature_importances_[self._support]
        return importances

    def fit(self, X: Any = None, y: Any = None, **_: Any) -> ReducedModel:  # noqa: ARG002
        """Do nothing: the model is fitted."""
        return self

    def _ask(self, method: str, X: Any, *more: Any, **named: Any) -> Any:
        if hasattr(X, "shape"):
            validate_data(self, X, reset=False, skip_check_array=True)
        return getattr(self.selector, method)(X, *more, **named)

    def predict(self, X: Any, **more: Any) -> Any:
        """The predictions of the selector's model."""
        return self._ask("predict", X, **more)

    @available_if(_selector_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **more: Any) -> Any:
        """The probability of each class."""
        return self._ask("predict_proba", X, **more)

    @available_if(_selector_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **more: Any) -> Any:
        """Log odds or raw scores."""
        return self._ask("decision_function", X, **more)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> float:
        """The score of the predictions, as of the selector."""
        return float(self._ask("score", X, y, sample_weight, **more))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> ReducedModel:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = self.selector.__sklearn_tags__()
        tags.transformer_tags = None
        return tags
