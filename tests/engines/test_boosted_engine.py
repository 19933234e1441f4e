"""Boosted trees along a penalty: folds side by side, a step per penalty, the best round of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import FeatureCosts
from secateur.data.frames import read_table
from secateur.data.table import Fold
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.search import BoostedEngine, penalty_grid
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.fold_losses import pool
from secateur.engines.path_search import search_penalties
from secateur.losses import get_loss

PARAMS = BoostingParams(n_rounds=25, min_samples_leaf=5)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 12))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * rng.normal(size=240) > 0).astype(float)
    table = read_table(X)
    columns = bin_table(table, np.ones(240))
    cost_model = FeatureCosts().bind(table.names)
    loss = get_loss("log_loss", n_classes=2)
    return BoostedData(columns, y, np.ones(240), loss, cost_model, Threads(1))


@pytest.fixture(scope="module")
def folds():
    place = np.arange(240) % 3
    return [Fold(np.flatnonzero(place != k), np.flatnonzero(place == k)) for k in range(3)]


def pooled_curve(data, folds, params):
    """The held-out loss of every round, each fold traced by itself to the end."""
    curves = []
    for fold in folds:
        run = data.run(fold, params)
        curves.append([run.fold_losses(step) for step in run.steps])
    return [pool(each, origin="held_out", metric="log_loss") for each in zip(*curves, strict=True)]


@pytest.mark.parametrize("penalty", [0.05, 0.0])
def test_a_step_is_all_rows_at_the_round_that_the_folds_like_best(data, folds, penalty):
    params = replace(PARAMS, penalty=penalty)
    curve = pooled_curve(data, folds, params)
    best = int(np.argmin([score.mean for score in curve]))
    (step,) = search_penalties(BoostedEngine(data, params, folds, 25), [penalty]).steps
    assert step.details["round"] == best + 1
    assert step.score == curve[best]
    *_, alone = data.run(data.everything, replace(params, n_rounds=best + 1)).steps
    np.testing.assert_array_equal(step.support, alone.support)
    assert step.objective == alone.objective


def test_patience_ends_the_folds_together(data, folds):
    params = replace(PARAMS, penalty=0.0, learning_rate=1.0)
    curve = [score.mean for score in pooled_curve(data, folds, params)]
    ticks = []
    engine = BoostedEngine(data, params, folds, 3, lambda: ticks.append(1))
    (step,) = search_penalties(engine, [0.0]).steps
    stop = next(t for t in range(len(curve)) if t - int(np.argmin(curve[: t + 1])) >= 3)
    assert stop < len(curve) - 1
    assert step.details["round"] == int(np.argmin(curve[: stop + 1])) + 1
    assert len(ticks) == 3 * (stop + 1) + step.details["round"]


def test_a_single_held_out_part_is_never_trained_on(data, folds):
    (step,) = search_penalties(BoostedEngine(data, PARAMS, folds[:1], 25), [0.02]).steps
    curve = pooled_curve(data, folds[:1], replace(PARAMS, penalty=0.02))
    assert step.score.mean == min(score.mean for score in curve)
    assert step.model.n_rounds == step.details["round"]


def test_without_folds_nothing_is_scored(data):
    steps = list(search_penalties(BoostedEngine(data, PARAMS, [], 3), [0.1, 0.01]).steps)
    assert [step.penalty for step in steps] == [0.1, 0.01]
    assert [step.score for step in steps] == [None, None]
    assert [step.details["round"] for step in steps] == [25, 25]


def test_the_grid_falls_and_spans_the_first_gain(data):
    grid = penalty_grid(data, PARAMS)
    assert grid == sorted(grid, reverse=True)
    first = next(data.run(data.everything, replace(PARAMS, penalty=4.1 * grid[0])).steps)
    assert first.n_features == 0  # a quarter of the best gain is the top: four times is too high
    first = next(data.run(data.everything, replace(PARAMS, penalty=3.9 * grid[0])).steps)
    assert first.n_features == 1
