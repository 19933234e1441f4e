"""The chosen model of a fitted selector, with its columns numbered as in the table it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur.engines.boosted.trees import BoostedModel, Tree
from secateur.exceptions import InputError, some_of
from secateur.selectors.base import PathSelector
from secateur.selectors.prediction import ReducedModel
from secateur.typing import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """``model`` of a selector; ``columns`` are its features, as columns of what it is given."""

    model: Any
    columns: IntArray
    n_columns: int
    names: tuple[str, ...]
    classes: Any  # None for regression


def read_fitted(estimator: Any) -> FittedModel:
    """The model of a fitted selector on all columns, or of its reduced model on the selected."""
    is_reduced = isinstance(estimator, ReducedModel)
    selector = estimator.selector if is_reduced else estimator
    if not isinstance(selector, PathSelector):
        raise InputError(
            f"The model must be a fitted selector. Got {type(estimator).__name__}. Give a selector "
            "of secateur, or what its reduced() gives."
        )
    check_is_fitted(selector)
    support, schema = np.flatnonzero(selector.support_), selector._schema  # noqa: SLF001 - fitted
    winner: Any = getattr(selector, "estimator_", selector)  # that of AutoSelector
    model = winner._step.model  # noqa: SLF001 - fitted
    if getattr(selector, "encoder_", None) is not None or not hasattr(model, "features"):
        raise InputError(
            f"{type(selector).__name__} cannot be exported. Got {_kind(selector, model)}. Export "
            "one of the boosted selectors without tasks, or grafting."
        )
    schema = schema.take(support) if is_reduced else schema
    columns = np.searchsorted(support, model.features) if is_reduced else model.features
    categories = [schema.names[j] for j in columns if j in schema.encoders]
    if categories:
        raise InputError(
            "Models of categories cannot be exported: their splits are sets. Got a model with the "
            f"category column(s) {some_of(categories)}. Encode them as numbers before the fit, "
            "for instance by sklearn.preprocessing.OneHotEncoder."
        )
    classes = getattr(selector, "classes_", None)
    return FittedModel(model, columns, schema.n_features, schema.names, classes)


def _kind(selector: Any, model: Any) -> str:
    if getattr(selector, "encoder_", None) is not None:
        return "a model of encoded columns"
    return "a selector without predictions" if model is None else f"a {type(model).__name__}"


def tree_rounds(model: BoostedModel) -> list[list[Tree]]:
    """The rounds of trees of a boosted model, one tree per output."""
    return model.ensemble.rounds[: model.n_rounds]


def column_numbers(fitted: FittedModel, feature: IntArray) -> IntArray:
    """The columns of some features of the model."""
    return fitted.columns[np.searchsorted(fitted.model.features, feature)]
