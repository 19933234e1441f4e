"""What holds for every loss: twins, finite differences, scikit-learn, large raw predictions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as naive
from sklearn._loss import loss as sk

from secateur import losses

CASES = {
    "squared": (losses.SquaredError(), naive.SquaredError()),
    "absolute": (losses.AbsoluteError(), naive.AbsoluteError()),
    "quantile": (losses.Quantile(0.8), naive.Quantile(0.8)),
    "huber": (losses.Huber(1.5), naive.Huber(1.5)),
    "poisson": (losses.Poisson(), naive.Poisson()),
    "logistic": (losses.Logistic(), naive.Logistic()),
    "multinomial": (losses.Multinomial(4), naive.Multinomial(4)),
}
SKLEARN = {
    "squared": sk.HalfSquaredError(),
    "absolute": sk.AbsoluteError(),
    "quantile": sk.PinballLoss(quantile=0.8),
    "huber": sk.HuberLoss(delta=1.5),
    "poisson": sk.HalfPoissonLoss(),
    "logistic": sk.HalfBinomialLoss(),
    "multinomial": sk.HalfMultinomialLoss(n_classes=4),
}
every_loss = pytest.mark.parametrize("case", list(CASES))


def make_rows(case, seed=0, n_rows=50, spread=2.0):
    rng = np.random.default_rng(seed)
    loss = CASES[case][0]
    if case == "poisson":
        target = rng.poisson(2.0, n_rows).astype(float)
        target[0] = 3.0
    elif loss.name == "log_loss":
        target = rng.integers(0, max(2, loss.n_outputs), n_rows).astype(float)
    else:
        target = rng.normal(0.0, 3.0, n_rows)
    return target, rng.normal(0.0, spread, (loss.n_outputs, n_rows))


def gradients(loss, target, raw):
    gradient, hessian = np.full_like(raw, np.nan), np.full_like(raw, np.nan)
    loss.gradients(target, raw, gradient, hessian)
    return gradient, hessian


@every_loss
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_kernels_meet_their_twins(case, seed):
    loss, twin = CASES[case]
    target, raw = make_rows(case, seed)
    for ours, theirs in zip(
        gradients(loss, target, raw), gradients(twin, target, raw), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    value, twin_value = loss.pointwise(target, raw), twin.pointwise(target, raw)
    np.testing.assert_allclose(value, twin_value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss.response(raw), twin.response(raw), rtol=1e-12)


@every_loss
def test_facts_are_those_of_the_twin(case):
    loss, twin = CASES[case]
    for fact in ("name", "n_outputs", "constant_hessian", "leaf_quantile"):
        assert getattr(loss, fact) == getattr(twin, fact)


@every_loss
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_gradient_is_the_slope_of_the_value(case, seed):
    loss, _ = CASES[case]
    target, raw = make_rows(case, seed)
    gradient, _ = gradients(loss, target, raw)
    step = 1e-6
    # No slope where a kink lies inside the step.
    smooth = np.ones(len(target), bool)
    if loss.leaf_quantile is not None:
        smooth = np.abs(target - raw[0]) > 2 * step
    for k in range(loss.n_outputs):
        shift = np.zeros_like(raw)
        shift[k] = step
        rise = loss.pointwise(target, raw + shift) - loss.pointwise(target, raw - shift)
        np.testing.assert_allclose(
            -gradient[k][smooth], (rise / (2 * step))[smooth], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("case", ["squared", "poisson", "logistic", "multinomial"])
def test_hessian_is_the_slope_of_the_gradient(case):
    loss, _ = CASES[case]
    target, raw = make_rows(case)
    _, hessian = gradients(loss, target, raw)
    step = 1e-6
    for k in range(loss.n_outputs):
        shift = np.zeros_like(raw)
        shift[k] = step
        above, below = gradients(loss, target, raw + shift), gradients(loss, target, raw - shift)
        slope = -(above[0][k] - below[0][k]) / (2 * step)
        np.testing.assert_allclose(hessian[k], slope, rtol=1e-6, atol=1e-8)


@every_loss
def test_scikit_learn_agrees(case):
    loss, _ = CASES[case]
    target, raw = make_rows(case)
    their_raw = np.ascontiguousarray(raw.T) if loss.n_outputs > 1 else raw[0]
    theirs = SKLEARN[case]
    gradient, hessian = gradients(loss, target, raw)
    sk_gradient, sk_hessian = theirs.gradient_hessian(target, their_raw)
    np.testing.assert_allclose(gradient, -np.atleast_2d(sk_gradient.T), rtol=1e-9, atol=1e-12)
    if case != "huber":  # theirs is 1 everywhere
        np.testing.assert_allclose(
            hessian, np.broadcast_to(np.atleast_2d(sk_hessian.T), hessian.shape), rtol=1e-9
        )
    difference = loss.pointwise(target, raw) - theirs.loss(target, their_raw)
    constant = theirs.constant_to_optimal_zero(target) if case == "poisson" else 0.0
    np.testing.assert_allclose(difference, constant, atol=1e-10)


@every_loss
@pytest.mark.parametrize("size", [40.0, 1e3])
def test_large_raw_predictions_stay_finite(case, size):
    loss, _ = CASES[case]
    target, raw = make_rows(case)
    raw = np.where(raw > 0, size, -size)
    gradient, hessian = gradients(loss, target, raw)
    assert np.isfinite(gradient).all()
    assert np.isfinite(np.square(gradient)).all()
    assert np.isfinite(hessian).all()
    assert (hessian >= 0).all()
    assert np.isfinite(loss.pointwise(target, raw)).all()
    assert (loss.pointwise(target, raw) >= 0).all()
    assert np.isfinite(loss.response(raw)).all()


@every_loss
def test_hessian_is_one_if_it_is_said_to_be_constant(case):
    loss, _ = CASES[case]
    _, hessian = gradients(loss, *make_rows(case))
    assert loss.constant_hessian == bool((hessian == 1.0).all())


@every_loss
def test_losses_can_be_pickled(case):
    loss, _ = CASES[case]
    again = pickle.loads(pickle.dumps(loss))  # noqa: S301  our own bytes
    assert type(again) is type(loss)
    assert vars(again) == vars(loss)
