from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from secateur import AGBMClassifier, GraftingClassifier, stability
from secateur.exceptions import InterruptedWarning, ParameterError
from secateur.model_selection.statistics import nogueira


class Fake(BaseEstimator):
    """Chooses by its mood: always the same columns, by the rows, or the leftmost ones."""

    fits: ClassVar[list] = []

    def __init__(self, mood="steady", costs=None, random_state=None):
        self.mood = mood
        self.costs = costs
        self.random_state = random_state

    def fit(self, X, y):
        table = np.asarray(X)
        Fake.fits.append(table)
        if self.mood == "interrupted" and len(Fake.fits) == 4:
            raise KeyboardInterrupt
        if self.mood == "leftmost":
            self.mask = np.arange(table.shape[1]) < 2
        elif self.mood == "fickle":
            chance = np.random.default_rng(int(1e6 * abs(table[:, 0].sum())))
            self.mask = chance.random(table.shape[1]) < 0.3
        else:
            self.mask = table.mean(axis=0) > 5
        return self

    def get_support(self):
        return self.mask


def problem(n_rows=60, n_features=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    X[:, [2, 5]] += 10
    return X, np.arange(n_rows) % 2


@pytest.fixture(autouse=True)
def _forget():
    Fake.fits.clear()


def test_a_selection_that_never_changes_is_stable():
    X, y = problem()
    found = stability(Fake(), X, y, 6, random_state=0)
    assert found.index == 1.0
    assert found.support.tolist() == [2, 5]
    assert found.frequency.tolist() == [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]
    assert found.permuted == (1.0, 1.0)
    assert "2 of 10 features are selected" in str(found)
    assert [row["feature"] for row in found.to_rows()] == ["x2", "x5"]


def test_a_fickle_selection_is_not_and_the_index_is_that_of_its_supports():
    X, y = problem()
    found = stability(Fake("fickle"), X, y, 30, n_permutations=0, random_state=0)
    assert found.agreement == nogueira(found.supports, 10)
    assert found.agreement.low < 0.2
    assert found.permuted == ()
    assert math.isnan(found.permuted_agreement)


def test_one_that_looks_at_places_is_found_out():
    X, y = problem()
    found = stability(Fake("leftmost"), X, y, 3, n_permutations=8, random_state=0)
    assert found.index == 1.0
    assert found.permuted_agreement < 0.6


def test_parts_are_drawn_without_putting_back_and_by_class():
    X, y = problem()
    X[:, 0] = np.arange(60)
    stability(Fake(), X, y, 4, fraction=0.5, n_permutations=0, random_state=0)
    for part in Fake.fits[1:]:
        rows = part[:, 0].astype(int)
        assert len(set(rows)) == len(rows) == 30
        assert y[rows].sum() == 15


def test_groups_are_drawn_as_a_whole_and_rows_without_weight_never():
    X, y = problem()
    X[:, 0] = np.arange(60)
    groups = np.repeat(np.arange(12), 5)
    weight = np.ones(60)
    weight[:5] = 0
    stability(
        Fake(), X, y, 5, fraction=0.5, groups=groups, sample_weight=weight, n_permutations=0,
        random_state=0,
    )  # fmt: skip
    for part in Fake.fits[1:]:
        rows = part[:, 0].astype(int)
        assert set(np.bincount(groups[rows])) <= {0, 5}
        assert rows.min() >= 5


def test_names_and_not_places_carry_costs_through_a_new_order():
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    by_name = stability(Fake(costs={"c": 2.0}), frame, y, 2, random_state=0)
    assert by_name.permuted == (1.0, 1.0)
    by_place = stability(Fake(costs=np.ones(10)), frame, y, 2, random_state=0)
    assert by_place.permuted == ()


def test_real_selectors_do_not_mind_the_order_of_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12))
    y = X[:, 3] - X[:, 8] + 0.5 * rng.normal(size=120) > 0
    for selector in (GraftingClassifier(l1=0.1), AGBMClassifier(penalty=0.05, max_iter=10)):
        found = stability(selector, X, y, 4, random_state=0)
        assert found.permuted_agreement == 1.0
        assert {3, 8} <= set(found.support)
        assert found.frequency[[3, 8]].tolist() == [1.0, 1.0]


def test_interruption_keeps_what_was_done():
    X, y = problem()
    with pytest.warns(InterruptedWarning, match="3 of 23 fits"):
        found = stability(Fake("interrupted"), X, y, 20, n_permutations=2, random_state=0)
    assert len(found.supports) == 2


def test_the_same_seed_gives_the_same_parts():
    X, y = problem()
    one, two = (stability(Fake("fickle"), X, y, 5, random_state=3) for _ in range(2))
    assert [s.tolist() for s in one.supports] == [s.tolist() for s in two.supports]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"selector": "agbm"}, "'selector' must be an estimator"),
        ({"n_resamples": 1}, "'n_resamples' must be a whole number >= 2"),
        ({"fraction": 1.0}, "'fraction' must be"),
        ({"confidence": 2}, "'confidence' must be"),
        ({"n_permutations": -1}, "'n_permutations' must be"),
    ],
)
def test_what_cannot_work_is_refused(change, message):
    X, y = problem()
    with pytest.raises(ParameterError, match=message):
        stability(**{"selector": Fake(), "X": X, "y": y, **change})
    assert Fake.fits == []
