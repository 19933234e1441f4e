"""Forward selection with rankers and evaluators with fixed answers."""

from __future__ import annotations

import numpy as np
import pytest

from secateur import FeatureCosts, StopReason
from secateur._kernels.threads import Threads
from secateur.data.frames import read_table
from secateur.data.table import Fold
from secateur.engines.drive import drive
from secateur.engines.featboost.forward import FeatBoost, ForwardParams, Weighting
from secateur.engines.featboost.neighbours import (
    NeighbourEvaluator,
    NeighbourTargets,
    ScaledTable,
)


class Ranker:
    """Ranks by position, or by another order once the weights are no longer equal."""

    def __init__(self, *orders):
        self._orders = orders
        self.n_fits = 0

    def rank(self, target, weight):
        self.n_fits += 1
        order = self._orders[0 if (weight == 1.0).all() else -1]
        importance = np.zeros(6)
        importance[list(order)] = np.arange(len(order), 0, -1)
        return importance

    def losses(self, features):
        return np.array([0.1, 0.2, 0.3, 0.4])


class Evaluator:
    """The score of a set is the sum of what its features are worth."""

    def __init__(self, worth):
        self._worth = np.asarray(worth, float)
        self._features = []
        self.asked = []

    def accept(self, feature):
        self._features.append(feature)

    def scores(self, candidates, target=None):
        self.asked.append(candidates.tolist())
        before = self._worth[self._features].sum()
        return np.repeat((before + self._worth[candidates])[:, None], 2, axis=1)

    def current(self):
        return np.full(2, self._worth[self._features].sum())

    def model(self):
        return tuple(self._features)


def path_of(ranker, evaluator, weighting=None, costs=None, **params):
    cost_model = (costs or FeatureCosts()).bind(list("abcdef"))
    weighting = weighting or Weighting(np.ones(4), "loss")
    params = ForwardParams(**params, metric="worth")
    search = FeatBoost(weighting, ranker, evaluator, np.zeros(4), cost_model, params)
    return drive(search.trace(), feature_names=list("abcdef"), algorithm="demo")


def test_the_best_of_the_best_ranked_is_accepted():
    evaluator = Evaluator([0.1, 0.3, 0.2, 0.9, 0.0, 0.0])
    path = path_of(Ranker([0, 1, 2, 4]), evaluator, n_candidates=3)
    assert path[-1].order.tolist() == [1, 2, 0]  # the fourth feature is never ranked
    assert evaluator.asked[0] == [0, 1, 2]
    assert [step.penalty for step in path] == [2.0, 3.0, 1.0]
    assert path.stop_reason is StopReason.NO_GAIN


def test_features_that_are_in_are_not_tried_again_but_keep_their_rank():
    evaluator = Evaluator([0.3, 0.2, 0.1, 0.0, 0.0, 0.0])
    path = path_of(Ranker([0, 1, 2]), evaluator, weighting=Weighting(np.ones(4)), n_candidates=2)
    assert evaluator.asked == [[0, 1], [1]]
    assert path[-1].order.tolist() == [0, 1]


def test_a_reset_brings_back_the_first_ranking_without_a_fit():
    ranker = Ranker([0, 1], [5, 4])
    path = path_of(ranker, Evaluator([0.3, 0.2, 0.0, 0.0, 0.0, -1.0]), n_candidates=2)
    assert path[-1].order.tolist() == [0, 1]
    assert [step.details["after_reset"] for step in path] == [False, True]
    # The first, and one on new weights; after the reset losses are as before, and so are weights.
    assert ranker.n_fits == 2
    without = path_of(
        Ranker([0, 1], [5, 4]), Evaluator([0.3, 0.2, 0, 0, 0, -1]), n_candidates=2, reset=False
    )
    assert without[-1].order.tolist() == [0]


def test_features_without_importance_are_no_candidates():
    evaluator = Evaluator([9, 8, 7, 2, 1, 0])
    path = path_of(Ranker([5, 4, 3]), evaluator, n_candidates=5)
    assert path[-1].order.tolist() == [3, 4]
    assert {feature for asked in evaluator.asked for feature in asked} == {3, 4, 5}


def test_epsilon_must_be_passed():
    worth = [0.5, 0.05, 0.04, 0.0, 0.0, 0.0]
    path = path_of(Ranker([0, 1, 2]), Evaluator(worth), epsilon=0.045)
    assert path[-1].order.tolist() == [0, 1]


def test_an_unusable_score_never_wins():
    path = path_of(Ranker([0, 1]), Evaluator([np.nan, 0.2, 0, 0, 0, 0]), max_features=1)
    assert path[-1].order.tolist() == [1]
    nothing = path_of(Ranker([0]), Evaluator([np.nan] * 6), n_candidates=1)
    assert nothing[-1].n_features == 0
    assert nothing.stop_reason is StopReason.NO_GAIN


def test_prices_decide_ties_budgets_and_gains():
    worth = [0.2, 0.2, 0.1, 0.0, 0.0, 0.0]
    costs = FeatureCosts([5.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    assert path_of(Ranker([0, 1, 2]), Evaluator(worth), costs=costs)[0].order.tolist() == [1]
    poor = path_of(Ranker([0, 1, 2]), Evaluator(worth), costs=costs, budget=4.0)
    assert poor[-1].order.tolist() == [1, 2]
    assert poor.costs.tolist() == [3.0, 4.0]
    assert poor.stop_reason is StopReason.COST_BUDGET
    kept = FeatureCosts([5.0, 3.0, 1.0, 1.0, 1.0, 1.0], keep=[3])
    thrifty = path_of(Ranker([0, 1, 2]), Evaluator(worth), costs=kept, per_cost=True)
    assert thrifty[-1].order.tolist() == [3, 2, 1, 0]


def test_no_more_than_max_features_and_no_weights_after_the_last():
    ranker = Ranker([0, 1, 2])
    path = path_of(ranker, Evaluator([3, 2, 1, 0, 0, 0]), max_features=2)
    assert path[-1].n_features == 2
    assert path.stop_reason is StopReason.MAX_FEATURES
    assert ranker.n_fits == 2


# ---- distances --------------------------------------------------------------------------------


def test_only_copies_and_mirrored_copies_of_accepted_columns_are_left_out():
    """Columns that agree in the values compared first are compared to the end, with each column."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 1)), 6, axis=1)
    X[20:, 1] = rng.normal(size=20)  # accepted as well: begins as the first does
    X[:, 2] = -X[:, 1]
    X[:, 3] = X[:, 1]
    X[20:, 4] = rng.normal(size=20)
    X[:, 5] = -X[:, 4]
    table = ScaledTable(read_table(X), np.ones(40), standardize=False)
    targets = NeighbourTargets(rng.integers(0, 2, 40).astype(float), np.ones(40), 2, 1)
    fold = Fold(np.arange(30), np.arange(30, 40))
    evaluator = NeighbourEvaluator(table, targets, [fold], lambda *_: 1.0, Threads(1))
    evaluator.accept(0)
    evaluator.accept(1)
    scores = evaluator.scores(np.arange(6))[:, 0]
    # accepted columns themselves may count twice
    assert np.isnan(scores).tolist() == [False, False, True, True, False, False]


def test_columns_are_standardised_and_filled_in():
    X = np.array([[1.0, 7.0], [np.nan, 7.0], [5.0, 7.0]])
    table = ScaledTable(read_table(X), np.ones(3), standardize=True)
    np.testing.assert_allclose(table.scaling([0, 1]).apply(table.table), [[-1, 0, 1], [0, 0, 0]])
    plain = ScaledTable(read_table(X), np.ones(3), standardize=False)
    np.testing.assert_allclose(plain.scaling([0]).apply(plain.table), [[1, 3, 5]])
    new = table.scaling([0]).apply(read_table(np.array([[5.0, 0.0]])))
    np.testing.assert_allclose(new, [[1.0]])


def test_categories_differ_as_much_as_numbers_do():
    codes = np.array([[0.0], [1.0], [0.0], [1.0]])
    numbers = ScaledTable(read_table(codes), np.ones(4), standardize=True)
    values = numbers.scaling([0]).apply(numbers.table)[0]
    categories = ScaledTable(
        read_table(codes, categorical_features=[0]), np.ones(4), standardize=True
    )
    assert categories.scaling([0]).mismatch[0] == pytest.approx((values[0] - values[1]) ** 2)


def test_neighbours_vote_with_their_weights():
    voters = NeighbourTargets(np.array([0.0, 1.0, 1.0]), np.array([2.0, 1.0, 1.0]), 2, 2)
    assert voters.vote(np.array([[0, 1]])).tolist() == [[1.0, 0.0]]  # two rows of the first class
    assert voters.vote(np.array([[1, 0]])).tolist() == [[0.5, 0.5]]
    relative = NeighbourTargets(np.array([0.0, 4.0]), np.array([0.5, 1.5]), 0, 2)
    assert relative.vote(np.array([[0, 1]])).tolist() == [3.0]


def test_a_budget_equal_to_the_sum_of_the_costs_pays_for_all_features():
    evaluator = Evaluator([0.3, 0.2, 0.1, 0.0, 0.0, 0.0])
    costs = FeatureCosts(100000.1)  # three of them add up to a little more than 300000.3
    path = path_of(Ranker([0, 1, 2]), evaluator, costs=costs, budget=300000.3)
    assert path[-1].order.tolist() == [0, 1, 2]
