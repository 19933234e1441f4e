"""Checks and read-only values that the result classes share."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import MissingDependencyError, ParameterError
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


def frozen_integers(name: str, values: Any) -> IntArray:
    """Return `values` as a flat read-only int64 array, copied if the caller could write to it."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ParameterError(
            f"{name!r} must hold whole numbers. Got dtype {array.dtype}. Pass feature indices."
        )
    return _frozen(name, array, np.dtype(np.int64))


def frozen_floats(name: str, values: Any) -> FloatArray:
    """Return `values` as a flat read-only float64 array, copied if the caller could write to it."""
    return _frozen(name, np.asarray(values), np.dtype(np.float64))


def _frozen(name: str, array: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    if array.ndim != 1:
        raise ParameterError(
            f"{name!r} must have one dimension. Got shape {array.shape}. Pass a flat array."
        )
    if array.dtype == dtype and not array.flags.writeable and array.base is None:
        return array  # read-only already: no need to copy
    # The copy leaves the engine's own array writable.
    copy = array.astype(dtype, copy=True)
    copy.flags.writeable = False
    return copy


def frozen_json(name: str, value: Any) -> Any:
    """Return a read-only JSON value: lists become tuples, mappings read-only."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        frozen = {_key(name, key): frozen_json(f"{name}.{key}", v) for key, v in value.items()}
        return MappingProxyType(frozen)
    if isinstance(value, list | tuple):
        return tuple(frozen_json(f"{name}[{i}]", item) for i, item in enumerate(value))
    raise ParameterError(
        f"{name!r} must be a JSON value. Got {type(value).__name__}. Pass its name or its repr."
    )


def frozen_mapping(name: str, value: Any) -> Any:
    """Return a read-only mapping of JSON values."""
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"{name!r} must be a mapping. Got {type(value).__name__}. Use {{}} for none."
        )
    return frozen_json(name, value)


def _key(name: str, key: Any) -> str:
    if not isinstance(key, str):
        raise ParameterError(
            f"The keys of {name!r} must be strings. Got {key!r}. Use str(key) as the key."
        )
    return key


def thawed_json(value: Any) -> Any:
    """Return the plain dicts and lists of a value made by `frozen_json`."""
    if isinstance(value, Mapping):
        return {key: thawed_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thawed_json(item) for item in value]
    return value


def whole_number(name: str, value: Any, *, minimum: int, advice: str) -> int:
    """Return `value` as an int of at least `minimum`, or raise."""
    # True is an int to Python, but True features is a mistake.
    number = None if isinstance(value, bool | np.bool_) else _index(value)
    if number is None or number < minimum:
        raise ParameterError(
            f"{name!r} must be a whole number >= {minimum}. Got {value!r}. {advice}"
        )
    return number


def _index(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None


def real_number(name: str, value: Any, *, advice: str, above_zero: bool = False) -> float:
    """Return `value` as a float, not negative (or above zero) and not NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or number < 0 or (above_zero and number == 0):
        sign = ">" if above_zero else ">="
        raise ParameterError(f"{name!r} must be a number {sign} 0. Got {value!r}. {advice}")
    return number


class Refrozen:
    """Pickles through the constructor, which freezes again what pickling thaws.

    Read-only mappings do not pickle, and arrays come back writable.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]
        return type(self), tuple(
            thawed_json(value) if isinstance(value, MappingProxyType) else value for value in values
        )


def as_pandas(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return rows as a pandas data frame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "A data frame needs pandas. Got no such package. "
            "Install it with 'pip install pandas', or use to_rows()."
        ) from error
    return pd.DataFrame(rows, columns=None if columns is None else list(columns))


COST_TOLERANCE = 1e-12
"""Relative. Costs are sums of floats: three features at 0.1 cost 0.30000000000000004, and a budget
of 0.3 must allow them."""


def within_budget(cost: Any, budget: float) -> Any:
    """Return whether costs, a number or an array of them, are within a budget."""
    return cost <= highest_cost(budget)


def highest_cost(budget: float) -> float:
    """The highest cost that is within a budget."""
    return budget * (1.0 + COST_TOLERANCE)
