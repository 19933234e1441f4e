"""The naive twin, held against planted answers: it is what the fast engine has to meet."""

import numpy as np
import pytest
from reference.boosted import MISSING, Node, boost
from reference.losses import (
    AbsoluteError,
    Logistic,
    Multinomial,
    SquaredError,
    weighted_quantile,
)


def fit(codes, target, weight=None, loss=None, is_categorical=None, **params):
    codes = np.asarray(codes)
    n_rows, n_features = codes.shape
    n_bins = [int(column[column != MISSING].max(initial=-1)) + 1 for column in codes.T]
    return boost(
        codes,
        np.array(n_bins),
        np.zeros(n_features, bool) if is_categorical is None else np.array(is_categorical),
        target,
        np.ones(n_rows) if weight is None else weight,
        SquaredError() if loss is None else loss,
        **params,
    )


@pytest.fixture
def problem():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 8, size=(300, 5))
    target = 3.0 * (codes[:, 1] > 2) + 1.0 * (codes[:, 3] > 5) + 0.1 * rng.normal(size=300)
    return codes, target


def test_planted_threshold_is_found_and_the_leaves_are_the_means():
    codes = np.array([[0, 3], [1, 0], [2, 3], [3, 0], [4, 3], [5, 0]])
    target = np.array([1.0, 1.0, 5.0, 5.0, 5.0, 5.0])
    result = fit(codes, target, learning_rate=1.0, n_rounds=1, max_depth=1)
    ((nodes,),) = result.rounds
    assert nodes[0].feature == 0
    assert nodes[0].bin == 1
    assert (nodes[0].left, nodes[0].right) == (1, 2)
    # A-GBM: the share of the root's squared error, up to the rounding of gradients to 15 bits.
    assert nodes[0].gain == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(result.raw[0], target)
    assert result.first_uses == [0]


def test_gbfs_gain_is_half_of_the_drop_in_squared_error():
    codes = np.array([[0], [0], [1], [1]])
    target = np.array([0.0, 0.0, 2.0, 2.0])
    result = fit(codes, target, criterion="gbfs", penalty=0.25, n_rounds=1, max_depth=1)
    assert result.rounds[0][0][0].gain == pytest.approx(4.0 / 2 - 0.25, rel=1e-4)


def test_agbm_does_not_see_the_unit_of_the_target_and_gbfs_does(problem):
    codes, target = problem
    params = {"n_rounds": 3, "max_depth": 3, "penalty": 0.02}
    small, large = fit(codes, target, **params), fit(codes, 1024.0 * target, **params)
    assert [small.first_uses, small.rounds[0][0][0].bin] == [
        large.first_uses,
        large.rounds[0][0][0].bin,
    ]
    params = {"n_rounds": 3, "max_depth": 3, "penalty": 40.0, "criterion": "gbfs"}
    assert len(fit(codes, target, **params).first_uses) < len(
        fit(codes, 1024.0 * target, **params).first_uses
    )


def test_a_huge_price_buys_nothing(problem):
    result = fit(*problem, penalty=1e9, n_rounds=2)
    assert result.first_uses == []
    assert all(nodes == [Node(value=nodes[0].value)] for (nodes,) in result.rounds)
    np.testing.assert_allclose(result.raw, problem[1].mean())


def test_weight_two_is_the_row_twice(problem):
    codes, target = problem
    weight = np.where(np.arange(300) < 150, 2.0, 1.0)
    twice = np.concatenate([np.arange(300), np.arange(150)])
    params = {"n_rounds": 3, "max_depth": 3, "penalty": 0.01, "min_samples_leaf": 20}
    weighted = fit(codes, target, weight, **params)
    repeated = fit(codes[twice], target[twice], **params)
    assert weighted.first_uses == repeated.first_uses
    for (one,), (other,) in zip(weighted.rounds, repeated.rounds, strict=True):
        assert [node[:6] for node in one] == [node[:6] for node in other]
    np.testing.assert_allclose(weighted.raw, repeated.raw[:, :300], atol=1e-10)


def test_the_order_of_the_rows_changes_no_bit(problem):
    codes, target = problem
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 300)
    order = np.random.default_rng(2).permutation(300)
    params = {"n_rounds": 3, "max_depth": 4, "penalty": 0.001}
    one = fit(codes, target, weight, **params)
    other = fit(codes[order], target[order], weight[order], **params)
    assert one.rounds == other.rounds
    np.testing.assert_array_equal(one.raw[:, order], other.raw)


def test_fractional_weights_count_relative_to_their_mean():
    codes = np.array([[0], [1], [2], [3]])
    target = np.array([0.0, 0.0, 0.0, 9.0])
    weight = np.full(4, 0.25)
    free = fit(codes, target, weight, n_rounds=1, max_depth=1, min_samples_leaf=1)
    held = fit(codes, target, weight, n_rounds=1, max_depth=1, min_samples_leaf=2)
    assert free.rounds[0][0][0].bin == 2
    assert held.rounds[0][0][0].bin == 1


def test_weights_that_are_equal_but_for_rounding_count_as_rows():
    # Tenths have no exact mean; a side of two rows must count as two all the same.
    codes = np.array([[0], [0], [1], [1], [2], [2]])
    target = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    for weight in (0.1, 0.7, 1e-3, 1.0 / 3.0):
        held = {"n_rounds": 1, "max_depth": 1, "min_samples_leaf": 2}
        assert fit(codes, target, np.full(6, weight), **held).first_uses == [0]
        held["min_samples_leaf"] = 3.001
        assert fit(codes, target, np.full(6, weight), **held).first_uses == []


def test_gradients_that_are_one_constant_but_for_rounding_make_a_single_leaf():
    class FarBaseline(SquaredError):
        def baseline(self, target, weight):
            return np.array([-distance])

    codes, target = np.array([[0], [0], [1], [1]]), np.array([0.0, 0.0, 1.0, 1.0])
    params = {"loss": FarBaseline(), "n_rounds": 1, "learning_rate": 1.0}
    # SSE of the root is 1, the sum of squares 4 * distance ** 2: the limit is a share of 1e-9.
    distance = 1e4
    assert len(fit(codes, target, **params).rounds[0][0]) == 3
    distance = 2e4
    (nodes,) = fit(codes, target, **params).rounds[0]
    assert len(nodes) == 1
    assert nodes[0].value == pytest.approx(2e4 + 0.5, rel=1e-12)


def test_a_bag_is_paid_once():
    # Feature 0 explains the first cut; then 1 (same bag) and 2 (another) are equal for the rest.
    codes = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]] * 5)
    target = 10.0 * codes[:, 0] + 1.0 * codes[:, 1]
    bags = np.array([0, 1, 0])

    def prices(used):
        paid = np.isin(bags, bags[used])
        return np.where(paid, 0.0, 1.0)

    result = fit(codes, target, penalty=0.005, prices=prices, n_rounds=1, max_depth=2)
    assert result.first_uses == [0, 2]
    assert result.spent == 1.0
    alone = fit(codes, target, penalty=0.005, n_rounds=1, max_depth=2)
    assert alone.first_uses == [0]  # a child can win 2.5 / 505 = 0.00495, less than the price


def test_a_tie_goes_to_the_used_feature_then_to_the_smaller_index():
    codes = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]])
    target = np.array([0.0, 0.0, 1.0, 1.0])
    kept = np.array([False, False, True])
    assert fit(codes, target, n_rounds=1, used=kept).rounds[0][0][0].feature == 2
    assert fit(codes, target, n_rounds=1, used=kept).first_uses == []
    assert fit(codes, target, n_rounds=1).rounds[0][0][0].feature == 0


def test_a_purchase_is_free_at_once_in_the_same_tree():
    # Both children of the root want feature 1; the left pays, the right does not.
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    target = 4.0 * codes[:, 0] + 1.0 * codes[:, 1] + 0.25 * codes[:, 0] * codes[:, 1]
    result = fit(codes, target, penalty=0.01, n_rounds=1, max_depth=2)
    ((nodes,),) = result.rounds
    assert [node.feature for node in nodes] == [0, 1, 1, -1, -1, -1, -1]
    left_drop, right_drop = 5 * 1.0 / 2, 5 * 1.25**2 / 2
    root_sse = float(((target - target.mean()) ** 2).sum())
    assert nodes[1].gain == pytest.approx(left_drop / root_sse - 0.01, rel=1e-3)
    assert nodes[2].gain == pytest.approx(right_drop / root_sse, rel=1e-3)


def test_budgets_are_hard(problem):
    assert len(fit(*problem, n_rounds=3, max_features=2).first_uses) == 2
    costs = np.array([1.0, 5.0, 1.0, 2.0, 1.0])
    result = fit(*problem, n_rounds=3, prices=lambda used: costs, cost_budget=3.0)
    assert 1 not in result.first_uses
    assert result.spent <= 3.0


def test_kept_features_count_for_the_number_and_cost_nothing(problem):
    kept = np.array([True, False, False, False, False])
    result = fit(*problem, n_rounds=3, used=kept, max_features=2)
    assert result.first_uses == [1]
    assert result.spent == 1.0


def test_missing_goes_to_the_better_side():
    codes = np.array([[0], [0], [1], [1], [MISSING], [MISSING]])
    params = {"n_rounds": 1, "max_depth": 1, "learning_rate": 1.0}
    ((low,),) = fit(codes, np.array([0.0, 0, 1, 1, 0, 0]), **params).rounds
    ((high,),) = fit(codes, np.array([0.0, 0, 1, 1, 1, 1]), **params).rounds
    assert (low[0].bin, low[0].missing_left) == (0, True)
    assert (high[0].bin, high[0].missing_left) == (0, False)


def test_missing_against_all_values_is_the_last_bin_with_missing_right():
    codes = np.array([[0], [1], [2], [MISSING], [MISSING]])
    target = np.array([1.0, 1.0, 1.0, 7.0, 7.0])
    result = fit(codes, target, n_rounds=1, max_depth=1, learning_rate=1.0)
    assert result.rounds[0][0][0][:3] == (0, 2, False)
    np.testing.assert_allclose(result.raw[0], target)


def test_categories_are_split_by_their_mean_and_not_by_their_code():
    codes = np.array([[0], [1], [2], [3], [MISSING]] * 3)
    target = np.array([0.0, 5.0, 0.0, 5.0, 5.0] * 3)
    result = fit(codes, target, is_categorical=[True], n_rounds=1, max_depth=1, learning_rate=1.0)
    root = result.rounds[0][0][0]
    assert root.left_set == {0, 2}
    assert root.bin == -1
    assert root.missing_left is False
    np.testing.assert_allclose(result.raw[0], target)


def test_classes_share_the_features_in_use():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, size=(200, 6))
    target = (codes[:, 2] > 1).astype(float) + (codes[:, 2] > 2)
    result = fit(codes, target, loss=Multinomial(3), penalty=0.05, n_rounds=4, learning_rate=0.5)
    assert result.first_uses == [2]
    assert [len(trees) for trees in result.rounds] == [3, 3, 3, 3]
    assert (result.raw.argmax(axis=0) == target).all()


def test_newton_leaves_step_further_than_mean_leaves(problem):
    codes, _ = problem
    target = (codes[:, 1] > 2).astype(float)
    params = {"loss": Logistic(), "n_rounds": 1, "max_depth": 1, "learning_rate": 1.0}
    newton, mean = fit(codes, target, **params), fit(codes, target, leaf="mean", **params)
    share = target.mean()
    np.testing.assert_allclose(mean.rounds[0][0][2].value, 1.0 - share)
    np.testing.assert_allclose(newton.rounds[0][0][2].value, 1.0 / share)
    l2 = fit(codes, target, l2=1e300, **params)
    assert abs(l2.rounds[0][0][2].value) < 1e-290


def test_leaves_of_the_absolute_error_are_medians():
    codes = np.array([[0]] * 5 + [[1]] * 5)
    target = np.array([0.0, 1, 2, 3, 90, 10, 11, 12, 13, 900])
    result = fit(codes, target, loss=AbsoluteError(), n_rounds=1, max_depth=1, learning_rate=1.0)
    np.testing.assert_allclose(result.raw[0], [2.0] * 5 + [12.0] * 5)


def test_a_constant_target_has_no_signal():
    result = fit(np.array([[0], [1], [2]]), np.full(3, 0.1), n_rounds=2)
    assert result.first_uses == []
    np.testing.assert_array_equal(result.raw, 0.1)


def test_training_goes_on_falling(problem):
    codes, target = problem
    errors = [
        float(SquaredError().pointwise(target, fit(codes, target, n_rounds=n).raw).mean())
        for n in (1, 3, 6)
    ]
    assert errors[0] > errors[1] > errors[2]


def test_lower_weighted_quantile_by_hand():
    values, weights = np.array([4.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    assert weighted_quantile(values, weights, 0.25) == 1.0
    assert weighted_quantile(values, weights, 0.26) == 2.0
    assert weighted_quantile(values, weights, 0.76) == 4.0
