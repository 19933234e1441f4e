"""Conjugates of the losses: never below the line, and on it at the slope of the loss."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.losses import get_loss


@pytest.mark.parametrize("kind", ["squared", "logistic", "multinomial"])
def test_fenchel_young(kind):
    rng = np.random.default_rng(0)
    n = 200
    if kind == "squared":
        loss, target = get_loss("squared_error"), rng.normal(size=n)
    else:
        n_classes = 2 if kind == "logistic" else 4
        loss = get_loss("log_loss", n_classes=n_classes)
        target = rng.integers(0, n_classes, n).astype(float)
    raw, other = rng.normal(size=(2, loss.n_outputs, n)) * 3
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    loss.gradients(target, raw, gradient, hessian)
    slope = -gradient
    conjugate = loss.conjugate(target, slope)
    at_slope = loss.pointwise(target, raw) + conjugate - (slope * raw).sum(axis=0)
    np.testing.assert_allclose(at_slope, 0.0, atol=1e-12)
    elsewhere = loss.pointwise(target, other) + conjugate - (slope * other).sum(axis=0)
    assert (elsewhere >= -1e-12).all()
