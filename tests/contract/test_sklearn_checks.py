"""scikit-learn's own checks, on every estimator that secateur offers."""

from __future__ import annotations

import warnings

import pytest
from contract.registry import InTens, estimator_classes, quick
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from secateur import AutoSelector, FeatureGradientsSelector

# not rankers: these checks know no queries, and give targets that are no grades
CLASSES = [cls for cls in estimator_classes() if not issubclass(cls, InTens)]
# What they do is also done by another class of their family.
SIBLINGS = {
    *("AGBMRegressor", "GBFSClassifier", "GTGBMClassifier", "MultitaskAGBMClassifier"),
    "AutoSelector",
}


def quick_ones(*, siblings: bool) -> list:
    chosen = [cls for cls in CLASSES if (cls.__name__ in SIBLINGS) == siblings]
    # cv stays at its default: one of the checks gives folds of its own only then
    given = {"cv": None, "random_state": None}
    own = {
        FeatureGradientsSelector: {"penalty": 0.1},  # partial_fit takes no grid
        AutoSelector: {"candidates": "grafting,featboost"},  # for classes and numbers
    }
    return [quick(cls, **given, **own.get(cls, {})) for cls in chosen]


def test_there_are_estimators():
    names = {cls.__name__ for cls in CLASSES}
    assert {"GBFSClassifier", "GBFSRegressor", "AGBMClassifier", "AGBMRegressor"} <= names


@parametrize_with_checks(quick_ones(siblings=False))
def test_quick_estimator_passes(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(quick_ones(siblings=True))
def test_quick_sibling_passes(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSES)
def test_default_estimator_passes(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [result["status"] for result in check_estimator(cls())]
    assert results.count("passed") > 50
    assert set(results) <= {"passed", "skipped"}
