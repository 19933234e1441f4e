"""One value per row: lists, arrays and series of any library as a numpy vector."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from secateur.data.frame_table import read_values
from secateur.exceptions import InputError, InputTypeError
from secateur.typing import AnyArray


def as_array(values: Any, what: str) -> AnyArray:
    """Give whatever holds values as an array; missing ones are NaN or None.

    Parameters
    ----------
    values : array, list, series or data frame
        What the user gave.
    what : str
        What it is to be, for messages: "y", "sample_weight".

    Examples
    --------
    >>> as_array([1, 2], "y")
    array([1, 2])
    """
    if not isinstance(values, np.ndarray | list | tuple):
        values = _unwrapped(values, what)
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"{what} must hold one value per row. Got values that numpy cannot read: {error}. "
            "Give a flat list or array."
        ) from error


def as_column(array: AnyArray) -> AnyArray:
    """Flatten a single column with scikit-learn's warning; refuse any other shape."""
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. It is read as one value "
            "per row. Use y.ravel() to say so.",
            DataConversionWarning,
            stacklevel=2,
        )
        return array.ravel()
    if array.ndim != 1:
        raise InputError(
            f"y should be a 1d array, got an array of shape {array.shape} instead. Give one "
            "target value per row."
        )
    return array


def check_length(n_values: int, n_rows: int | None, what: str) -> None:
    """Refuse a vector that has not one value per row of X."""
    if n_rows is not None and n_values != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_values}]. "
            f"Got X of {n_rows} rows and {what} of {n_values} values. Give one value per row."
        )


def _unwrapped(values: Any, what: str) -> Any:
    import narwhals as nw

    wrapped = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(wrapped, nw.LazyFrame):
        raise InputTypeError(
            f"{what} must hold its values. Got a lazy frame, {type(values).__name__}. Call "
            ".collect() on it first."
        )
    if isinstance(wrapped, nw.DataFrame):
        columns = [read_values(wrapped[:, position]) for position in range(wrapped.shape[1])]
        return np.column_stack(columns)
    return read_values(wrapped) if isinstance(wrapped, nw.Series) else values
