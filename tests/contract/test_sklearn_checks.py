"""scikit-learn's own checks, on every estimator that secateur offers."""

from __future__ import annotations

import warnings

import pytest
from contract.registry import estimator_classes, quick
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

CLASSES = estimator_classes()


def test_there_are_estimators():
    names = {cls.__name__ for cls in CLASSES}
    assert {"GBFSClassifier", "GBFSRegressor", "AGBMClassifier", "AGBMRegressor"} <= names


# cv stays at its default: one of the checks gives folds of its own only then
@parametrize_with_checks([quick(cls, cv=None, random_state=None) for cls in CLASSES])
def test_quick_estimator_passes(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSES)
def test_default_estimator_passes(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [result["status"] for result in check_estimator(cls())]
    assert results.count("passed") > 50
    assert set(results) <= {"passed", "skipped"}
