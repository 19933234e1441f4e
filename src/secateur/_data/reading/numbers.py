"""Cells of text as numbers: what is one, what is missing, what is neither."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._data.reading.dialect import MISSING
from secateur._data.reading.opening import polars
from secateur.typing import FloatArray


def as_numbers(series: Any, decimal: str = ".") -> tuple[FloatArray, Any]:
    """A column of text as floats; and as text with nulls, if some cells are neither.

    Parameters
    ----------
    series : polars.Series of text
    decimal : {".", ","}

    Returns
    -------
    numbers : array of shape (n_rows,)
        NaN for missing cells and for those that are no numbers.
    text : polars.Series or None
        The stripped cells, missing ones as nulls, where not all of the others are numbers.

    Examples
    --------
    >>> import polars as pl
    >>> as_numbers(pl.Series(["1", " 2.5", "NA"]))
    (array([1. , 2.5, nan]), None)
    """
    pl = polars()
    quick = series.cast(pl.Float64, strict=False)
    if quick.null_count() == 0:
        return quick.to_numpy(), None
    text = as_text(series)
    written = text.str.replace(",", ".", literal=True) if decimal == "," else text
    numbers = written.cast(pl.Float64, strict=False)
    values = numbers.to_numpy().astype(np.float64)
    return values, None if numbers.null_count() == text.null_count() else text


def as_text(series: Any) -> Any:
    """A column of text without the blanks around its cells, missing ones as nulls.

    >>> import polars as pl
    >>> as_text(pl.Series([" red", "N/A"])).to_list()
    ['red', None]
    """
    pl = polars()
    text = series.str.strip_chars()
    is_missing = text.str.to_lowercase().is_in(list(MISSING))
    return pl.select(pl.when(is_missing).then(None).otherwise(text)).to_series()


def row_of_numbers(cells: list[str], decimal: str = ".") -> tuple[FloatArray, list[int]]:
    """One line as floats, and the places of cells that need a second look.

    >>> row_of_numbers(["1", "", "red"])
    (array([ 1., nan, nan]), [2])
    """
    try:
        return np.array(cells, dtype=np.float64), []
    except ValueError:
        pass
    numbers, others = np.empty(len(cells)), []
    for place, cell in enumerate(cells):
        try:
            numbers[place] = float(cell.replace(",", ".") if decimal == "," else cell)
        except ValueError:
            numbers[place] = np.nan
            if cell.strip().lower() not in MISSING:
                others.append(place)
    return numbers, others
