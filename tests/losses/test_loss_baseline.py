"""The best constant of every loss, and the targets that have none."""

import numpy as np
import pytest
from reference import losses as naive
from scipy.optimize import minimize_scalar

from secateur import losses
from secateur.exceptions import InputError

ONE_OUTPUT = {
    "squared": (losses.SquaredError(), naive.SquaredError()),
    "absolute": (losses.AbsoluteError(), naive.AbsoluteError()),
    "quantile": (losses.Quantile(0.8), naive.Quantile(0.8)),
    "huber": (losses.Huber(0.7), naive.Huber(0.7)),
    "poisson": (losses.Poisson(), naive.Poisson()),
    "logistic": (losses.Logistic(), naive.Logistic()),
}
EVERY = {**ONE_OUTPUT, "multinomial": (losses.Multinomial(3), naive.Multinomial(3))}


def make_target(case, n_rows=201):
    rng = np.random.default_rng(5)
    weight = rng.uniform(0.2, 3.0, n_rows)
    if case == "multinomial":
        return rng.integers(0, 3, n_rows).astype(float), weight
    if case == "logistic":
        return (rng.uniform(size=n_rows) < 0.3).astype(float), weight
    if case == "poisson":
        return rng.poisson(2.5, n_rows).astype(float), weight
    return rng.standard_t(2, n_rows), weight


@pytest.mark.parametrize("case", list(EVERY))
def test_baseline_meets_its_twin(case):
    loss, twin = EVERY[case]
    target, weight = make_target(case)
    baseline = loss.baseline(target, weight)
    assert baseline.shape == (loss.n_outputs,)
    assert baseline.dtype == np.float64
    np.testing.assert_allclose(baseline, twin.baseline(target, weight), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", list(ONE_OUTPUT))
def test_no_constant_is_better(case):
    loss, _ = ONE_OUTPUT[case]
    target, weight = make_target(case)

    def total(constant):
        return float(weight @ loss.pointwise(target, np.full((1, len(target)), constant)))

    found = minimize_scalar(total, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9})
    assert total(float(loss.baseline(target, weight)[0])) <= found.fun * (1 + 1e-12)


def test_baseline_of_many_classes_gives_back_the_shares():
    target, weight = make_target("multinomial")
    loss = losses.Multinomial(3)
    shares = loss.response(loss.baseline(target, weight)[:, None])[0]
    expected = np.bincount(target.astype(int), weights=weight) / weight.sum()
    np.testing.assert_allclose(shares, expected, rtol=1e-12)


@pytest.mark.parametrize("case", list(EVERY))
def test_baseline_is_the_same_to_the_bit_in_every_order(case):
    loss, _ = EVERY[case]
    target, weight = make_target(case)
    expected = loss.baseline(target, weight)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(target))
        np.testing.assert_array_equal(loss.baseline(target[order], weight[order]), expected)


@pytest.mark.parametrize("case", ["squared", "absolute", "quantile", "huber"])
def test_a_constant_target_is_its_own_baseline(case):
    weight = np.random.default_rng(0).uniform(0.1, 1.0, 1001)
    assert EVERY[case][0].baseline(np.full(1001, 0.1), weight)[0] == 0.1


@pytest.mark.parametrize("code", [0.0, 1.0])
def test_one_class_alone_has_a_finite_baseline(code):
    target = np.full(10, code)
    for loss in (losses.Logistic(), losses.Multinomial(2)):
        baseline = loss.baseline(target, np.ones(10))
        assert np.isfinite(baseline).all()
        assert loss.response(baseline[:, None])[0, int(code)] == pytest.approx(1.0)


def test_huber_baseline_holds_far_from_the_median():
    # Two clusters, no row within delta of the constants between them.
    target = np.array([0.0] * 50 + [1000.0] * 51)
    loss = losses.Huber(0.01)
    assert loss.baseline(target, np.ones(101))[0] == pytest.approx(999.99 + 0.01 - 50 * 0.01 / 51)


def test_poisson_refuses_negative_targets_and_all_zeros():
    loss = losses.Poisson()
    with pytest.raises(InputError, match=r">= 0 for the loss 'poisson'\. Got -1\.0\."):
        loss.baseline(np.array([1.0, -1.0]), np.ones(2))
    with pytest.raises(InputError, match="positive sum"):
        loss.baseline(np.zeros(4), np.ones(4))
    with pytest.raises(InputError, match="positive sum"):
        loss.baseline(np.array([0.0, 3.0]), np.array([1.0, 0.0]))
