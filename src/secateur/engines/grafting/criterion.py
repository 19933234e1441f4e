"""How good a state is (Eq. 7), and how far it can be from the best (KKT, duality gap)."""

from __future__ import annotations

import numpy as np

from secateur.engines.grafting.columns import View
from secateur.typing import BoolArray, FloatArray


class Penalty:
    """``l1 sum alpha |w| + l2 sum alpha w^2``; an alpha for each feature, the same for outputs.

    Attributes
    ----------
    threshold : array of shape (n_features,)
        The gradient that a weight at zero must exceed; infinite where ``l1`` is.
    ridge : array of shape (n_features,)
        The slope of the gradient of the squared part.
    """

    __slots__ = ("alpha", "l1", "l2", "ridge", "threshold")

    def __init__(self, l1: float, l2: float, alpha: FloatArray) -> None:
        self.l1, self.l2, self.alpha = l1, l2, alpha
        self.threshold: FloatArray = np.where(alpha > 0.0, alpha, 0.0)
        # an infinite l1 lets free features in, and no others
        np.multiply(self.threshold, l1, out=self.threshold, where=alpha > 0.0)
        self.ridge: FloatArray = 2.0 * l2 * alpha

    def value(self, weight: FloatArray) -> float:
        """The penalty of weights of shape (n_outputs, n_features)."""
        used = np.flatnonzero(weight.any(axis=0))
        w, alpha = weight[:, used], self.alpha[used]
        absolute = float((np.abs(w) @ alpha).sum())
        squared = self.l2 * float((w * w @ alpha).sum())
        return squared + (self.l1 * absolute if absolute else 0.0)


def violations(gradient: FloatArray, weight: FloatArray, penalty: Penalty) -> FloatArray:
    """How far each subgradient of the criterion is from zero, shape (n_outputs, n_features)."""
    threshold = penalty.threshold
    out = np.abs(gradient)
    out -= threshold
    np.maximum(out, 0.0, out=out)
    used = np.nonzero(weight)
    w, feature = weight[used], used[1]
    smooth = gradient[used] + penalty.ridge[feature] * w
    out[used] = np.abs(smooth + np.copysign(threshold[feature], w))
    return out


def duality_gap(
    view: View,
    raw: FloatArray,
    by_row: FloatArray,
    gradient: FloatArray,
    weight: FloatArray,
    penalty: Penalty,
    allowed: BoolArray | None = None,
) -> float:
    """A bound on how much lower the criterion can get.

    The dual point is the gradient by row, scaled until every column allows it:
    ``|x_j' u| <= l1 alpha_j`` where nothing but the absolute value holds a weight. What is free of
    any price (intercepts, features of alpha 0) is taken to be at its best; the KKT violation
    tells how near that is.

    Returns
    -------
    float
        ``P(w) - D(u) >= 0``.
    """
    threshold, ridge = penalty.threshold, penalty.ridge
    held = threshold > 0.0 if allowed is None else (threshold > 0.0) & allowed
    size = np.abs(gradient)
    strict = held & (ridge == 0.0)
    top = float((size[:, strict] / threshold[strict]).max(initial=0.0))
    part = min(1.0, 1.0 / top) if top > 0.0 else 1.0
    slope = np.zeros_like(by_row)
    used = view.shares > 0.0
    slope[:, used] = part * by_row[:, used] / view.shares[used]
    dual = -float(view.shares @ view.loss.conjugate(view.target, slope))  # type: ignore[attr-defined]  # the losses of grafting have one
    soft = (held if penalty.l2 > 0.0 else np.zeros_like(held)) & (ridge > 0.0)
    if soft.any():
        beyond = np.maximum(part * size[:, soft] - threshold[soft], 0.0)
        dual -= float((beyond * beyond / (2.0 * ridge[soft])).sum())
    return max(0.0, view.mean_loss(raw) + penalty.value(weight) - dual)
