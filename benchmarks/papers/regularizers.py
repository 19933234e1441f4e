"""Figure 2 of the grafting paper: many small logistic regressions at once, by numpy alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

N_PER_CLASS = 10
LAMBDAS = tuple(10.0 ** np.arange(-3.0, 1.1, 0.5))
TINY = 1e-6
"""An L2 penalty that keeps weights finite on classes that a plane separates."""


@dataclass(frozen=True, slots=True, eq=False)
class Problems:
    """Problems side by side: X is (problems, rows, features); the last column is the offset."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def draw(n: int, n_irrelevant: int, sigma: float, n_test: int, rng: Any) -> Problems:
    """Both classes around -1 and 1; all but the first two columns are permuted among the rows."""

    def rows(n_per_class: int) -> tuple[Any, Any]:
        y = np.repeat([-1.0, 1.0], n_per_class)
        X = y[:, None] + sigma * rng.standard_normal((n, 2 * n_per_class, 2 + n_irrelevant))
        X[:, :, 2:] = rng.permuted(X[:, :, 2:], axis=1)
        offset = np.ones((n, 2 * n_per_class, 1))
        return np.concatenate([X, offset], axis=2), np.broadcast_to(y, (n, 2 * n_per_class))

    return Problems(*rows(N_PER_CLASS), *rows(n_test))


def ridge(X: Any, y: Any, l2: float, n_iter: int = 25) -> Any:
    """Weights that minimise mean log loss + l2 |w|^2 without the offset, by damped Newton steps."""
    k = X.shape[2]
    free = np.full(k, 2.0 * l2)
    free[-1] = 2.0 * TINY
    w = np.zeros((len(X), k))
    value = _objective(X, y, w, free)
    for _ in range(n_iter):
        p = 1.0 / (1.0 + np.exp(np.clip(y * _scores(X, w), -50, 50)))
        gradient = -_mean(X, p * y) + free * w
        bend = np.einsum("bri,br,brj->bij", X, p * (1.0 - p) / X.shape[1], X)
        step = np.linalg.solve(bend + np.diag(np.maximum(free, 1e-9)), gradient[..., None])[..., 0]
        size = np.ones(len(X))
        for _ in range(8):
            new = _objective(X, y, w - size[:, None] * step, free)
            worse = new > value
            if not worse.any():
                break
            size[worse] /= 2.0
        moved = np.where((new <= value)[:, None], w - size[:, None] * step, w)
        if np.abs(moved - w).max() < 1e-7:
            break
        w, value = moved, np.minimum(new, value)
    return w


def lasso(X: Any, y: Any, l1: float, n_iter: int = 400) -> Any:
    """Weights that minimise mean log loss + l1 |w| without the offset, by FISTA."""
    w = ahead = np.zeros((len(X), X.shape[2]))
    step = 4.0 * X.shape[1] / np.linalg.norm(X, 2, axis=(1, 2))[:, None] ** 2
    limit = np.full(X.shape[2], l1)
    limit[-1], t = 0.0, 1.0
    for _ in range(n_iter):
        p = 1.0 / (1.0 + np.exp(np.clip(y * _scores(X, ahead), -50, 50)))
        moved = ahead + step * _mean(X, p * y)
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * limit, 0.0)
        t, before = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0, t
        w, ahead = new, new + (before - 1.0) / t * (new - w)
    return w


def eliminate(X: Any, y: Any) -> list[Any]:
    """Weights after each round of backward elimination by loss, by the number of features."""
    n, _, k = X.shape
    inside = np.ones((n, k), bool)
    found = [ridge(X, y, TINY)]
    for _ in range(k - 1):
        losses = np.full((n, k), np.inf)
        for j in range(k - 1):
            mask = inside.copy()
            mask[:, j] = False
            w = ridge(X * mask[:, None, :], y, TINY, 10) * mask
            losses[inside[:, j], j] = _objective(X, y, w, np.zeros(k))[inside[:, j]]
        inside[np.arange(n), losses.argmin(axis=1)] = False
        found.append(ridge(X * inside[:, None, :], y, TINY) * inside)
    return found[::-1]


def errors(problems: Problems, w: Any) -> Any:
    """The share of wrong labels of each problem's test rows."""
    wrong = problems.y_test * _scores(problems.X_test, w) <= 0
    return wrong.mean(axis=1)


def compare(n_irrelevant: int, sigma: float, n: int, n_tuning: int, n_test: int) -> dict[str, Any]:
    """Mean test error and standard error of each regulariser at its best strength.

    Strengths are chosen on problems of their own, those of the least mean error.
    """
    rng = np.random.default_rng([n_irrelevant, int(10 * sigma)])
    tuning = draw(n_tuning, n_irrelevant, sigma, n_test, rng)
    final = draw(n, n_irrelevant, sigma, n_test, rng)

    def best(fits: dict[float, Callable[[Problems], Any]]) -> tuple[float, Any]:
        means = {s: float(errors(tuning, fit(tuning)).mean()) for s, fit in fits.items()}
        strength = min(means, key=lambda s: means[s])
        return strength, errors(final, fits[strength](final))

    found: dict[str, Any] = {"none": (None, errors(final, ridge(final.X, final.y, TINY)))}
    found["L2"] = best({s: lambda p, s=s: ridge(p.X, p.y, s) for s in LAMBDAS})
    found["L1"] = best({s: lambda p, s=s: lasso(p.X, p.y, s) for s in LAMBDAS})
    on_tuning, on_final = eliminate(tuning.X, tuning.y), eliminate(final.X, final.y)
    size = int(np.argmin([errors(tuning, w).mean() for w in on_tuning]))
    found["L0"] = (size, errors(final, on_final[size]))
    return {
        name: {
            "strength": strength,
            "error": round(float(e.mean()), 5),
            "se": round(float(e.std(ddof=1) / np.sqrt(len(e))), 5),
        }
        for name, (strength, e) in found.items()
    }


def _scores(X: Any, w: Any) -> Any:
    return (X @ w[:, :, None])[:, :, 0]


def _mean(X: Any, slope: Any) -> Any:
    return (slope[:, None, :] @ X)[:, 0, :] / X.shape[1]


def _objective(X: Any, y: Any, w: Any, free: Any) -> Any:
    return np.logaddexp(0.0, -y * _scores(X, w)).mean(axis=1) + 0.5 * (w * w) @ free
