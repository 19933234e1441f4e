"""Losses: value per row, negative gradient, hessian and best constant."""

from __future__ import annotations

from collections.abc import Callable

from secateur.exceptions import ParameterError
from secateur.losses.base import (
    LossBase,
    exact_mean,
    fixed_point_exponent,
    fixed_point_sum,
    weighted_quantile,
)
from secateur.losses.losses import (
    AbsoluteError,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    SquaredError,
)
from secateur.typing import Loss

__all__ = [
    "LOSS_NAMES",
    "AbsoluteError",
    "Huber",
    "Logistic",
    "LossBase",
    "Multinomial",
    "Poisson",
    "Quantile",
    "SquaredError",
    "exact_mean",
    "fixed_point_exponent",
    "fixed_point_sum",
    "get_loss",
    "weighted_quantile",
]

LOSS_NAMES = ("squared_error", "log_loss", "absolute_error", "huber", "poisson", "quantile")

_WITHOUT_PARAMETERS: dict[str, Callable[[], Loss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "poisson": Poisson,
}


def get_loss(
    name: str,
    *,
    n_classes: int | None = None,
    quantile: float | None = None,
    delta: float | None = None,
) -> Loss:
    """The loss of a given name; parameters that it does not have are ignored.

    Parameters
    ----------
    name : str
        One of ``LOSS_NAMES``.
    n_classes : int, optional
        Needed for "log_loss": two classes give one raw output, more give one per class.
    quantile : float, optional
        Needed for "quantile", strictly between 0 and 1.
    delta : float, optional
        Needed for "huber": the residual beyond which a row counts by its absolute error.

    Raises
    ------
    ParameterError
        If the name is unknown, or a needed parameter is missing or out of range.

    Examples
    --------
    >>> get_loss("log_loss", n_classes=3)
    Multinomial(n_classes=3)
    """
    if name in _WITHOUT_PARAMETERS:
        return _WITHOUT_PARAMETERS[name]()
    if name == "log_loss":
        count = int(_needed("n_classes", n_classes, name))
        return Logistic() if count == 2 else Multinomial(count)
    if name == "huber":
        return Huber(_needed("delta", delta, name))
    if name == "quantile":
        return Quantile(_needed("quantile", quantile, name))
    known = ", ".join(repr(known_name) for known_name in LOSS_NAMES)
    raise ParameterError(f"'loss' must be one of {known}. Got {name!r}. Choose one of these names.")


def _needed(parameter: str, value: float | None, name: str) -> float:
    if value is None:
        raise ParameterError(
            f"The loss {name!r} needs {parameter!r}. Got None. Give {parameter!r} with this loss."
        )
    return value
