"""Trees grown in one call are those grown level by level, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from equivalence.fitting import assert_same_fit, fit_engine
from equivalence.problems import tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.costs import FeatureCosts
from secateur.engines.boosted import grower
from secateur.engines.boosted.grower import WholeTrees


class Counted(WholeTrees):
    """Counts the trees that are grown whole."""

    n_grown = 0

    def grow(self, *args):
        Counted.n_grown += 1
        return super().grow(*args)


def fit_both(task, monkeypatch, *, sparse):
    with monkeypatch.context() as patch:
        patch.setattr(grower, "WholeTrees", Counted)
        Counted.n_grown = 0
        whole = fit_engine(task.with_params(whole=True), sparse=sparse)
        levels = fit_engine(task.with_params(whole=False), sparse=sparse)
    return whole, levels, Counted.n_grown


@examples(50)
@given(tasks(), st.booleans())
def test_whole_trees_are_trees_level_by_level(task, sparse):
    with pytest.MonkeyPatch.context() as monkeypatch:
        whole, levels, _ = fit_both(task, monkeypatch, sparse=sparse and not task.categories)
    assert_same_fit(whole, levels)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 0.002])
@pytest.mark.parametrize("loss", ["log_loss", "multinomial"])
def test_they_are_what_a_small_fit_uses(loss, penalty, sparse, monkeypatch):
    task = make_task(
        loss, n_rows=900, n_features=60, sparse_share=0.8, missing_share=0.02, weights="floats",
        penalty=penalty, n_rounds=6, max_depth=5, subsample=0.8,
    )  # fmt: skip
    whole, levels, n_grown = fit_both(task, monkeypatch, sparse=sparse)
    assert n_grown == 6 * len(np.atleast_2d(whole.raw))
    assert len(whole.order) > 2
    assert_same_fit(whole, levels)


@pytest.mark.parametrize("limit", [{"max_features": 3}, {"cost_budget": 2.6}])
@pytest.mark.parametrize("penalty", [0.0, 0.001])
def test_limits_hold(limit, penalty, monkeypatch):
    costs = FeatureCosts(np.linspace(0.2, 3.0, 20))
    task = make_task(n_rows=400, n_features=20, penalty=penalty, n_rounds=10, costs=costs)
    whole, levels, n_grown = fit_both(task.with_params(**limit), monkeypatch, sparse=False)
    assert n_grown == 10
    assert len(whole.order) > 1
    assert len(whole.order) < len(fit_engine(task).order)
    assert_same_fit(whole, levels)


def test_other_prices_are_left_to_levels(monkeypatch):
    costs = FeatureCosts(feature_groups=list("abcd" * 5))
    task = make_task(n_rows=400, n_features=20, costs=costs)
    assert fit_both(task, monkeypatch, sparse=False)[2] == 0
