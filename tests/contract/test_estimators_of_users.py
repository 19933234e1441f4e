"""Estimators that a user gives must be for the target; classes of weight zero are left out."""

from __future__ import annotations

import numpy as np
import pytest
from contract.registry import quick, small_problem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateur import (
    AGBMClassifier,
    AGBMRegressor,
    FeatBoostClassifier,
    FeatBoostRegressor,
    IISRegressor,
    MultitaskAGBMClassifier,
    compare,
    held_out,
)
from secateur.exceptions import InputError, ParameterError

MISMATCHES = [
    (FeatBoostClassifier, Ridge()),
    (FeatBoostRegressor, LogisticRegression()),
    (IISRegressor, LogisticRegression()),
    (FeatBoostClassifier, make_pipeline(StandardScaler(), Ridge())),
]


@pytest.mark.parametrize(("cls", "model"), MISMATCHES)
@pytest.mark.parametrize("parameter", ["evaluator", "ranker"])
def test_rankers_and_evaluators_are_for_the_target(cls, model, parameter):
    small = small_problem(cls)
    with pytest.raises(ParameterError, match=f"'{parameter}'.*({type(model).__name__})"):
        quick(cls, **{parameter: model}).fit(small.X, small.y)


@pytest.mark.parametrize(
    ("selector", "wrong"),
    [(AGBMClassifier, Ridge()), (AGBMRegressor, LogisticRegression())],
)
def test_validators_are_for_the_target(selector, wrong):
    small = small_problem(selector)
    with pytest.raises(ParameterError, match=f"'validator'.*{type(wrong).__name__}"):
        held_out(quick(selector), small.X, small.y, validator=wrong)
    with pytest.raises(ParameterError, match=f"'validator'.*{type(wrong).__name__}"):
        compare(small.X, small.y, [quick(selector)], validators={"mine": wrong})


def test_selectors_of_a_comparison_are_for_the_target():
    small = small_problem(AGBMClassifier)
    with pytest.raises(ParameterError, match=r"'selectors'.*AGBMRegressor"):
        compare(small.X, small.y, [AGBMRegressor()])


def test_weight_for_one_class_only_is_refused():
    small = small_problem(AGBMClassifier)
    wide = np.column_stack([small.y, small.y[::-1]])
    only = {0: 0, 1: 1}
    for target, task in [(small.y, None), (small.y, np.arange(200) % 2), (wide, None)]:
        with pytest.raises(InputError, match="Got 1 class"):
            quick(MultitaskAGBMClassifier, class_weight=only).fit(small.X, target, task=task)


def test_rows_of_a_class_without_weight_are_no_rows_of_any_task():
    small = small_problem(AGBMClassifier)
    y, task = small.y.copy(), np.arange(200) % 2
    y[::5] = 2
    other = np.where(y[:, None] == 2, 9.0 - small.X, small.X)
    fits = [
        quick(MultitaskAGBMClassifier, class_weight={2: 0}).fit(X, y, task=task)
        for X in (small.X, other)
    ]
    one, two = (fit.predict_proba(small.X_new, task=np.zeros(60)) for fit in fits)
    np.testing.assert_array_equal(one, two)
