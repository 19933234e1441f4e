"""Rows that belong together are in one part of every fold, in every selector and around it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from contract.registry import InTens, estimator_classes, quick, small_problem
from contract.registry import having as all_having
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
)

import secateur
from secateur.exceptions import InputError, ParameterError

# not rankers, whose groups are queries: see tests/selectors/test_ranking.py
CLASSES = [cls for cls in estimator_classes() if not issubclass(cls, InTens)]


def having(*names):
    return [cls for cls in all_having(*names) if not issubclass(cls, InTens)]


# Folds are made where there is a choice: for a grid of penalties, or for candidates.
GRID = {"FeatureGradientsSelector": {"penalty": [10.0, 1.0]}}


def with_folds(cls, **params):
    return quick(cls, **GRID.get(cls.__name__, {}) | params)


@pytest.fixture
def groups():
    """Twenty groups of ten rows, not in order."""
    return np.random.default_rng(1).permutation(np.repeat(np.arange(20), 10))


@pytest.fixture
def made(monkeypatch):
    """The folds of all fits."""
    found = []
    for cls in CLASSES:
        folds = cls._folds

        def kept(self, given, folds=folds):
            found.append(folds(self, given))
            return found[-1]

        monkeypatch.setattr(cls, "_folds", kept)
    return found


def check_together(made, groups):
    """Of the first folds, which are those of all rows."""
    assert made[0]
    for fold in made[0]:
        assert len(fold.test)
        assert not set(groups[fold.train]) & set(groups[fold.test])
    made.clear()


@pytest.mark.parametrize("cls", CLASSES)
def test_drawn_folds_keep_groups_together(cls, groups, made):
    small = small_problem(cls)
    for cv in (None, 1, 3):
        with_folds(cls, cv=cv).fit(small.X, small.y, groups=groups)
        check_together(made, groups)
    with pytest.raises(ParameterError, match="21 folds for 20 groups"):
        with_folds(cls, cv=21).fit(small.X, small.y, groups=groups)


@pytest.mark.parametrize("cls", CLASSES)
def test_splitters_get_the_groups(cls, groups, made):
    small = small_problem(cls)
    names = pd.Series(groups).map("patient {}".format)
    splitters = [GroupKFold(2), LeaveOneGroupOut()]
    if is_classifier(cls()):
        splitters.append(StratifiedGroupKFold(2))
    for cv, given in zip(splitters, (names, groups % 2, groups), strict=False):
        with_folds(cls, cv=cv).fit(small.X, small.y, groups=given)
        check_together(made, np.asarray(given))


@pytest.mark.parametrize("cls", having("early_stopping", "penalty"))
def test_early_stopping_keeps_groups_together(cls, groups, made):
    small = small_problem(cls)
    params = {"penalty": 0.001, "early_stopping": True}
    quick(cls, **params).fit(small.X, small.y, groups=groups)
    check_together(made, groups)


@pytest.mark.parametrize("cls", CLASSES)
def test_rows_without_weight_are_left_out_of_groups(cls, groups, made):
    small = small_problem(cls)
    weight = (groups > 3).astype(float)
    with_folds(cls, cv=3).fit(small.X, small.y, sample_weight=weight, groups=groups)
    check_together(made, groups[weight > 0])


@pytest.mark.parametrize("cls", CLASSES)
def test_groups_that_cannot_be(cls, groups):
    small = small_problem(cls)
    selector = with_folds(cls)
    holes = groups.astype(float)
    holes[7] = np.nan
    with pytest.raises(InputError, match=r"'groups' .* 1 missing, the first in row 7"):
        selector.fit(small.X, small.y, groups=holes)
    with pytest.raises(InputError, match=r"'groups' .* 1 missing"):
        selector.fit(small.X, small.y, groups=["a", None, *["b"] * 198])
    with pytest.raises(InputError, match="200 rows and groups of 199"):
        selector.fit(small.X, small.y, groups=groups[:-1])
    with pytest.raises(InputError, match=r"'groups' .* \(200, 2\)"):
        selector.fit(small.X, small.y, groups=np.column_stack([groups, groups]))
    with pytest.raises(ParameterError, match="1 groups"):
        selector.fit(small.X, small.y, groups=np.zeros(200))
    with pytest.raises(InputError, match=r"GroupKFold: .*'groups'"):
        with_folds(cls, cv=GroupKFold(2)).fit(small.X, small.y)


@pytest.mark.parametrize("cls", having("predict"))
def test_groups_are_routed(cls, groups, made):
    small = small_problem(cls)
    with config_context(enable_metadata_routing=True):
        selector = with_folds(cls, cv=GroupKFold(2)).set_fit_request(groups=True)
        search = GridSearchCV(selector, {"random_state": [0]}, cv=GroupKFold(2), refit=False)
        search.fit(small.X, small.y, groups=groups)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(made) >= 2  # more where other methods are fitted inside


@pytest.mark.parametrize("cls", CLASSES)
def test_held_out_and_stability_hand_them_on(cls, groups, made):
    small = small_problem(cls)
    selector = with_folds(cls, cv=2)
    secateur.held_out(selector, small.X, small.y, cv=2, groups=groups, random_state=0)
    check_together(made, groups)  # of the fit to all rows
    secateur.stability(
        selector, small.X, small.y, 2, n_permutations=0, groups=groups, random_state=0
    )
    check_together(made, groups)
