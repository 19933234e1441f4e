"""
A loss of your own
==================

A loss is a class with its gradient, its value for each row and its best constant. Here it is the
logarithm of the hyperbolic cosine: close to the squared error for small residuals, to the absolute
error for large ones. A few rows with a grossly wrong target then no longer decide what is selected.
"""

# %%
# `_best_constant` is what a model without features predicts.
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from secateur import AGBMRegressor
from secateur.losses import Loss, exact_mean


class LogCosh(Loss):
    """log cosh(y - prediction)."""

    name = "log_cosh"

    def gradients(self, target, raw, gradient_out, hessian_out):
        """Fill the negative gradient and the hessian, shape (1, n_rows)."""
        slope = np.tanh(target - raw[0])
        gradient_out[0] = slope
        hessian_out[0] = 1.0 - slope**2

    def pointwise(self, target, raw):
        """The loss of each row, written so that it does not overflow."""
        distance = np.abs(target - raw[0])
        return distance + np.log1p(np.exp(-2.0 * distance)) - np.log(2.0)

    def _best_constant(self, target, weight):
        """The constant at which the mean slope is zero."""
        return brentq(
            lambda at: exact_mean(np.tanh(target - at), weight), target.min() - 1, target.max() + 1
        )


class LogCoshAGBM(AGBMRegressor):
    """A-GBM with this loss."""

    def _loss(self, _target, _weight):
        return LogCosh()


# %%
# Four of 30 columns matter. One row in twenty has a target that is wrong by far. From each path the
# step with the best held-out score is taken.
rng = np.random.default_rng(1)
X = rng.normal(size=(500, 30))
y = X[:, :4] @ [1.5, 1.0, -1.0, 0.7] + 0.3 * rng.normal(size=500)
wrong = rng.random(500) < 0.05
y[wrong] += 40 * rng.normal(size=wrong.sum())

models = {
    "squared error": AGBMRegressor(cut="best", random_state=0).fit(X, y),
    "log cosh": LogCoshAGBM(cut="best", random_state=0).fit(X, y),
}
for name, model in models.items():
    print(f"{name}: {np.flatnonzero(model.support_)}")

# %%
# The share of each column in the gain of the chosen model.
figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ax.bar(range(30), model.feature_importances_, color=["tab:green"] * 4 + ["tab:gray"] * 26)
    ax.set_title(name)
    ax.set_ylabel("share of gain")
axes[-1].set_xlabel("column (green: matters)")
plt.show()
