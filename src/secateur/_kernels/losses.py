"""Loops over rows for the losses: negative gradient, hessian, value and probabilities.

Notation
--------
i       row
k       class
y       target, shape (n,); the class code for classification
raw     raw prediction, shape (n_outputs, n)
r       residual y - raw of a row
e       exponential of a number that is never positive, so it cannot overflow
p, q    probability of a class, and of the rest; q is never formed as 1 - p
mu      mean of a count, exp(raw)
*_out   filled in place; gradient_out gets the *negative* gradient
"""

import math

from numba import njit

# exp(raw) is squared and summed by the engines: exp(300) = 2e130 leaves room for both.
RAW_LIMIT = 300.0


@njit(cache=True, nogil=True)
def squared_gradients(y, raw, gradient_out, hessian_out):
    for i in range(y.shape[0]):
        gradient_out[0, i] = y[i] - raw[0, i]
        hessian_out[0, i] = 1.0


@njit(cache=True, nogil=True)
def quantile_gradients(y, raw, above, below, gradient_out, hessian_out):
    # 0 is a subgradient of a row that is met exactly, as many are when the target has ties.
    for i in range(y.shape[0]):
        r = y[i] - raw[0, i]
        gradient_out[0, i] = above if r > 0.0 else (-below if r < 0.0 else 0.0)
        hessian_out[0, i] = 1.0


@njit(cache=True, nogil=True)
def huber_gradients(y, raw, delta, gradient_out, hessian_out):
    for i in range(y.shape[0]):
        r = y[i] - raw[0, i]
        size = abs(r)
        if size <= delta:
            gradient_out[0, i] = r
            hessian_out[0, i] = 1.0
        else:
            # Curvature of the parabola that touches the loss here and lies above it.
            gradient_out[0, i] = math.copysign(delta, r)
            hessian_out[0, i] = delta / size


@njit(cache=True, nogil=True)
def poisson_gradients(y, raw, gradient_out, hessian_out):
    for i in range(y.shape[0]):
        mu = math.exp(min(max(raw[0, i], -RAW_LIMIT), RAW_LIMIT))
        gradient_out[0, i] = y[i] - mu
        hessian_out[0, i] = mu


@njit(cache=True, nogil=True)
def logistic_gradients(y, raw, gradient_out, hessian_out):
    for i in range(y.shape[0]):
        e = math.exp(-abs(raw[0, i]))
        likely, unlikely = 1.0 / (1.0 + e), e / (1.0 + e)
        p, q = (likely, unlikely) if raw[0, i] >= 0.0 else (unlikely, likely)
        gradient_out[0, i] = y[i] * q - (1.0 - y[i]) * p
        hessian_out[0, i] = p * q


@njit(cache=True, nogil=True)
def logistic_probabilities(raw, probability_out):
    for i in range(raw.shape[1]):
        e = math.exp(-abs(raw[0, i]))
        k = 1 if raw[0, i] >= 0.0 else 0
        probability_out[i, k] = 1.0 / (1.0 + e)
        probability_out[i, 1 - k] = e / (1.0 + e)


@njit(cache=True, nogil=True)
def largest_raw(raw, i):
    top = raw[0, i]
    for k in range(1, raw.shape[0]):
        top = max(top, raw[k, i])
    return top


@njit(cache=True, nogil=True)
def multinomial_gradients(y, raw, gradient_out, hessian_out):
    n_classes = raw.shape[0]
    for i in range(y.shape[0]):
        true_class = int(y[i])
        top = largest_raw(raw, i)
        rest = 0.0  # of the true class: kept apart, so that 1 - p does not cancel there
        for k in range(n_classes):
            e = math.exp(raw[k, i] - top)
            gradient_out[k, i] = e
            if k != true_class:
                rest += e
        total = rest + gradient_out[true_class, i]
        for k in range(n_classes):
            p = gradient_out[k, i] / total
            q = rest / total if k == true_class else 1.0 - p
            gradient_out[k, i] = q if k == true_class else -p
            hessian_out[k, i] = p * q


@njit(cache=True, nogil=True)
def multinomial_values(y, raw, value_out):
    for i in range(y.shape[0]):
        true_class = int(y[i])
        top = largest_raw(raw, i)
        total = 0.0
        for k in range(raw.shape[0]):
            total += math.exp(raw[k, i] - top)
        value_out[i] = math.log(total) + (top - raw[true_class, i])


@njit(cache=True, nogil=True)
def multinomial_probabilities(raw, probability_out):
    n_classes = raw.shape[0]
    for i in range(raw.shape[1]):
        top = largest_raw(raw, i)
        total = 0.0
        for k in range(n_classes):
            probability_out[i, k] = math.exp(raw[k, i] - top)
            total += probability_out[i, k]
        for k in range(n_classes):
            probability_out[i, k] /= total


@njit(cache=True, nogil=True)
def logistic_losses(y, raw, loss_out):
    """log(1 + exp(-margin)), margin positive where the sign of raw is right."""
    for i in range(y.shape[0]):
        x = (1.0 - 2.0 * y[i]) * raw[0, i]
        loss_out[i] = max(x, 0.0) + math.log1p(math.exp(-abs(x)))
