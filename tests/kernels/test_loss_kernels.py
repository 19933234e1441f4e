"""Gradients, hessians, losses and probabilities, row by row against the naive losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import losses as naive

from secateur._kernels import losses as kernels

REGRESSION = {
    "squared": (kernels.squared_gradients, (), naive.SquaredError()),
    "median": (kernels.quantile_gradients, (1.0, 1.0), naive.AbsoluteError()),
    "quantile": (kernels.quantile_gradients, (0.3, 0.7), naive.Quantile(0.3)),
    "huber": (kernels.huber_gradients, (1.2,), naive.Huber(1.2)),
    "poisson": (kernels.poisson_gradients, (), naive.Poisson()),
}


def rows(n_outputs=1, n=50, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n_outputs, n)) * 2


def filled(kernel, target, raw, more):
    gradient, hessian = np.full_like(raw, np.nan), np.full_like(raw, np.nan)
    kernel(target, raw, *more, gradient, hessian)
    return gradient, hessian


@pytest.mark.parametrize("name", REGRESSION)
def test_regression(name):
    kernel, more, twin = REGRESSION[name]
    rng, raw = rows()
    target = np.abs(rng.normal(size=50)) * 3
    expected = np.empty_like(raw), np.empty_like(raw)
    twin.gradients(target, raw, *expected)
    np.testing.assert_allclose(filled(kernel, target, raw, more), expected, rtol=1e-12)


def test_a_row_that_is_met_exactly_has_no_gradient():
    gradient, hessian = filled(
        kernels.quantile_gradients, np.array([1.0, 2.0]), np.array([[1.0, 1.0]]), (0.3, 0.7)
    )
    assert gradient.tolist() == [[0.0, 0.3]]
    assert hessian.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("size", [1.0, 40.0, 800.0])
def test_two_classes(size):
    rng, raw = rows()
    raw *= size
    y = rng.integers(0, 2, 50).astype(float)
    gradient, hessian = filled(kernels.logistic_gradients, y, raw, ())
    losses, probability = np.empty(50), np.empty((50, 2))
    kernels.logistic_losses(y, raw, losses)
    kernels.logistic_probabilities(raw, probability)
    p = np.array([1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in raw[0]])
    np.testing.assert_allclose(probability[:, 1], p, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(gradient[0], y - p, atol=1e-15)
    np.testing.assert_allclose(hessian[0], p * (1 - p), atol=1e-15)
    np.testing.assert_allclose(losses, np.logaddexp(0.0, raw[0]) - y * raw[0], atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 900.0])
def test_several_classes(shift):
    rng, raw = rows(n_outputs=4)
    y = rng.integers(0, 4, 50)
    shares = np.exp(raw) / np.exp(raw).sum(axis=0)
    is_true = y == np.arange(4)[:, None]
    gradient, hessian = filled(kernels.multinomial_gradients, y.astype(float), raw + shift, ())
    values, probability = np.empty(50), np.empty((50, 4))
    kernels.multinomial_values(y.astype(float), raw + shift, values)
    kernels.multinomial_probabilities(raw + shift, probability)
    np.testing.assert_allclose(gradient, is_true - shares, atol=1e-12)
    np.testing.assert_allclose(hessian, shares * (1 - shares), atol=1e-12)
    np.testing.assert_allclose(probability, shares.T, rtol=1e-10)
    np.testing.assert_allclose(values, -np.log(shares[y, np.arange(50)]), rtol=1e-10)
