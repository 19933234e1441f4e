"""Sums that do not depend on the order of rows, and the base class of losses."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from secateur.exceptions import InputError
from secateur.typing import FloatArray


def fixed_point_sum(values: FloatArray) -> float:
    """Sum that is the same bit for bit in every order of the rows: of rounded integers.

    They are scaled by the largest power of two at which n of them stay below ``2**61``.
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    power = 61 - math.frexp(largest)[1] - len(values).bit_length()
    whole = np.rint(np.ldexp(values, power)).astype(np.int64)
    return math.ldexp(float(whole.sum()), -power)


def exact_mean(values: FloatArray, weights: FloatArray) -> float:
    """Weighted mean that does not depend on the order of the rows."""
    total = fixed_point_sum(weights)
    if not total > 0.0:
        raise InputError(
            f"The row weights must have a positive sum. Got {total}. "
            "Give a positive weight to at least one row."
        )
    mean = fixed_point_sum(values * weights) / total
    # Clipped to the range of the values: the mean of a constant is the constant, to the bit.
    return min(max(mean, float(values.min())), float(values.max()))


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """Lower weighted quantile: the smallest value that has ``level`` of the weight at or below it.

    Rows are sorted by (value, weight), so the result does not depend on their order in the data.
    """
    order = np.lexsort((weights, values))
    cumulative = np.cumsum(weights[order])
    first = int(np.searchsorted(cumulative, level * cumulative[-1], side="left"))
    return float(values[order[first]])


METRICS = {"poisson": "poisson_deviance", "quantile": "pinball_loss"}
"""Metrics whose name is not that of the loss."""


class LossBase:
    """Base class of losses: one raw output and the identity as link, unless overridden.

    A subclass sets ``name``, fills ``gradients(target, raw, gradient_out, hessian_out)`` with the
    *negative* gradient and the hessian, and defines ``pointwise(target, raw)``, the loss per row,
    and ``_best_constant(target, weight)``. Raw predictions, gradients and hessians have the shape
    (n_outputs, n_rows). ``conjugate(target, slope)``, where defined, is the convex conjugate per
    row.

    Attributes
    ----------
    name : str
    score_factor : float
        What the loss is multiplied by for ``scores``: 2 where it is half of scikit-learn's metric.
    n_outputs : int
    n_classes : int
        The number of classes whose codes the target holds; 0 for a target of numbers.
    constant_hessian : bool
        True if the hessian is 1 for all rows.
    leaf_quantile : float or None
        If not None, the value of a leaf is this weighted quantile of its residuals, since a Newton
        step needs curvature.
    """

    name: str
    score_factor: float = 1.0
    n_outputs: int = 1
    n_classes: int = 0
    constant_hessian: bool = False
    leaf_quantile: float | None = None
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._parameters)
        return f"{type(self).__name__}({parameters})"

    @property
    def metric(self) -> str:
        """The name of ``scores``, as in ``sklearn.metrics`` without "mean_"."""
        return METRICS.get(self.name, self.name)

    def scores(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """The metric of each row; Huber's loss is that of scikit-learn's boosted trees."""
        return self.score_factor * self.pointwise(target, raw)

    def baseline(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        """Best constant raw prediction, shape (n_outputs,); the same in every order of rows."""
        self.check_target(target)
        return np.atleast_1d(np.asarray(self._best_constant(target, weight), dtype=np.float64))

    def check_target(self, target: FloatArray) -> None:
        """Raise InputError if this loss is not defined for the target."""
        if target.size == 0:
            raise InputError("The target must have rows. Got none. Give at least one row.")
        n_bad = int(np.count_nonzero(~np.isfinite(target)))
        if n_bad:
            raise InputError(
                f"The target must be finite. Got {n_bad} missing or infinite values. "
                "Drop these rows or fill them in."
            )
        if not self.n_classes:
            return
        wrong = (target != np.floor(target)) | (target < 0) | (target >= self.n_classes)
        if wrong.any():
            raise InputError(
                f"The target must hold class codes 0 to {self.n_classes - 1}. "
                f"Got {float(target[wrong][0])}. Encode the labels first."
            )

    def response(self, raw: FloatArray) -> FloatArray:
        """Prediction on the scale of the target: (n_rows,), or (n_rows, n_classes)."""
        return raw[0].copy()

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """The loss of each row."""
        raise NotImplementedError

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float | FloatArray:
        raise NotImplementedError
