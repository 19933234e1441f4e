"""What a grafting fit is told: one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class GraftingParams:
    """The lambdas of Eq. 7, how far to go, and how to grow.

    Parameters
    ----------
    model : {"linear", "mlp"}
    l1, l2, l0 : float
        Prices of ``sum alpha |w|``, ``sum alpha w^2`` and of the features in use.
    tol : float
        The largest violation of optimality, as a share of the largest gradient at the start, and
        the largest duality gap, as a share of the loss of a constant.
    max_rounds : int
        The most grafting rounds; without an L0 price a round of a linear model frees many weights.
    max_features, max_hidden : int or None
    adjust : {"all", "newest"}
        What is fitted after a graft: all free weights, or the newest and the biases (Section 3.4).
    retries : int
        How many further candidates are tried when the criterion rises (Section 3.2.3).
    fit_intercept, standardize : bool
    """

    model: Literal["linear", "mlp"] = "linear"
    l1: float = 0.0
    l2: float = 0.0
    l0: float = 0.0
    tol: float = 1e-6
    max_rounds: int = 200
    max_features: int | None = None
    max_hidden: int | None = None
    adjust: Literal["all", "newest"] = "all"
    retries: int = 0
    fit_intercept: bool = True
    standardize: bool = True

    @property
    def one_by_one(self) -> bool:
        """Whether weights are grafted one at a time, each a step of the path."""
        return self.model == "mlp" or self.l0 > 0.0 or self.adjust == "newest"
