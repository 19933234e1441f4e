"""Naive twins of the losses and of the sums without order: plain numpy, read like the formulas.

Each class has the same face as a loss of secateur, so that the naive boosted trees can be given
either. Fields have the shape (n_outputs, n_rows); ``gradients`` fills the negative gradient.
"""

import math

import numpy as np


def fixed_point_exponent(values):
    largest = max((abs(float(value)) for value in values), default=0.0)
    return 61 - math.frexp(largest)[1] - len(values).bit_length()


def fixed_point_sum(values, exponent=None):
    """Sum of the values rounded to multiples of 2**-exponent, in Python's unbounded integers."""
    if exponent is None:
        exponent = fixed_point_exponent(values)
    # Python's round is half to even, like rint.
    total = sum(round(math.ldexp(float(value), exponent)) for value in values)
    return math.ldexp(float(total), -exponent)


def mean(values, weights):
    centre = fixed_point_sum(values * weights) / fixed_point_sum(weights)
    return min(max(centre, min(values)), max(values))


def weighted_quantile(values, weights, level):
    """Smallest value such that the weight at or below it is at least level * total."""
    pairs = sorted(zip(map(float, values), map(float, weights), strict=True))
    total = 0.0
    for _, weight in pairs:
        total += weight
    cumulative = 0.0
    for value, weight in pairs:
        cumulative += weight
        if cumulative >= level * total:
            return value
    raise AssertionError("the last value has all of the weight at or below it")


class Twin:
    n_outputs = 1
    constant_hessian = False
    leaf_quantile = None
    max_step = math.inf

    def response(self, raw):
        return raw[0].copy()


class SquaredError(Twin):
    name = "squared_error"
    constant_hessian = True

    def baseline(self, target, weight):
        return np.array([mean(target, weight)])

    def gradients(self, target, raw, gradient_out, hessian_out):
        gradient_out[0] = target - raw[0]
        hessian_out[0] = 1.0

    def pointwise(self, target, raw):
        return (target - raw[0]) ** 2 / 2


class Quantile(Twin):
    name = "quantile"
    constant_hessian = True

    def __init__(self, level):
        self.level = self.leaf_quantile = level

    def baseline(self, target, weight):
        return np.array([weighted_quantile(target, weight, self.level)])

    def gradients(self, target, raw, gradient_out, hessian_out):
        residual = target - raw[0]
        gradient_out[0] = np.where(residual > 0, self.level, -(1.0 - self.level))
        gradient_out[0, residual == 0] = 0.0
        hessian_out[0] = 1.0

    def pointwise(self, target, raw):
        residual = target - raw[0]
        return np.where(residual >= 0, self.level * residual, (self.level - 1.0) * residual)


class AbsoluteError(Twin):
    name = "absolute_error"
    constant_hessian = True
    leaf_quantile = 0.5

    def baseline(self, target, weight):
        return np.array([weighted_quantile(target, weight, 0.5)])

    def gradients(self, target, raw, gradient_out, hessian_out):
        gradient_out[0] = np.sign(target - raw[0])
        hessian_out[0] = 1.0

    def pointwise(self, target, raw):
        return np.abs(target - raw[0])


class Huber(Twin):
    name = "huber"

    def __init__(self, delta):
        self.delta = delta

    def baseline(self, target, weight):
        # Halving: the pull falls as the constant rises.
        low, high = float(target.min()), float(target.max())
        for _ in range(200):
            middle = (low + high) / 2
            pull = math.fsum(weight * np.clip(target - middle, -self.delta, self.delta))
            low, high = (middle, high) if pull > 0 else (low, middle)
        return np.array([(low + high) / 2])

    def gradients(self, target, raw, gradient_out, hessian_out):
        residual = target - raw[0]
        size = np.abs(residual)
        inside = size <= self.delta
        gradient_out[0] = np.where(inside, residual, self.delta * np.sign(residual))
        hessian_out[0] = np.where(inside, 1.0, self.delta / np.where(inside, 1.0, size))

    def pointwise(self, target, raw):
        size = np.abs(target - raw[0])
        far = self.delta * (size - self.delta / 2)
        return np.where(size <= self.delta, size**2 / 2, far)


class Poisson(Twin):
    name = "poisson"

    def baseline(self, target, weight):
        return np.array([math.log(mean(target, weight))])

    def gradients(self, target, raw, gradient_out, hessian_out):
        gradient_out[0] = target - np.exp(raw[0])
        hessian_out[0] = np.exp(raw[0])

    def pointwise(self, target, raw):
        y_log_y = np.array([y * math.log(y) if y > 0 else 0.0 for y in target])
        return y_log_y - target * raw[0] - target + np.exp(raw[0])

    def response(self, raw):
        return np.exp(raw[0])


class Logistic(Twin):
    name = "log_loss"
    max_step = 20.0

    def baseline(self, target, weight):
        eps = np.finfo(float).eps
        share = min(max(mean(target, weight), eps), 1.0 - eps)
        return np.array([math.log(share / (1.0 - share))])

    def gradients(self, target, raw, gradient_out, hessian_out):
        p = self.response(raw)[:, 1]
        gradient_out[0] = target - p
        hessian_out[0] = p * (1.0 - p)

    def pointwise(self, target, raw):
        return np.logaddexp(0.0, raw[0]) - target * raw[0]

    def response(self, raw):
        return np.column_stack([1.0 / (1.0 + np.exp(raw[0])), 1.0 / (1.0 + np.exp(-raw[0]))])


class Multinomial(Twin):
    name = "log_loss"
    max_step = 20.0

    def __init__(self, n_classes):
        self.n_outputs = n_classes

    def baseline(self, target, weight):
        shares = [mean((target == k).astype(float), weight) for k in range(self.n_outputs)]
        log_shares = np.log(np.maximum(shares, np.finfo(float).eps))
        return log_shares - log_shares.mean()

    def gradients(self, target, raw, gradient_out, hessian_out):
        p = self.response(raw).T
        is_class = target == np.arange(self.n_outputs)[:, None]
        gradient_out[:] = is_class - p
        hessian_out[:] = p * (1.0 - p)

    def pointwise(self, target, raw):
        return np.logaddexp.reduce(raw, axis=0) - raw[target.astype(int), np.arange(len(target))]

    def response(self, raw):
        exponential = np.exp(raw - raw.max(axis=0))
        return (exponential / exponential.sum(axis=0)).T
