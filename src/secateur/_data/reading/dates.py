"""Columns of text that are dates: in which form, and as days since 1970."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from secateur._data.reading.opening import polars
from secateur.typing import FloatArray

FORMATS = {
    "%Y-%m-%d": "year-month-day",
    "%Y-%m-%d %H:%M:%S%.f": "year-month-day and time",
    "%Y-%m-%dT%H:%M:%S%.f": "year-month-day and time",
    "%Y-%m-%d %H:%M": "year-month-day and time",
    "%Y-%m-%dT%H:%M:%S%.fZ": "year-month-day and time, UTC",
    "%Y/%m/%d": "year/month/day",
    "%d.%m.%Y": "day.month.year",
    "%d.%m.%Y %H:%M": "day.month.year and time",
    "%m/%d/%Y": "month/day/year",
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y %H:%M": "month/day/year and time",
    "%d/%m/%Y %H:%M": "day/month/year and time",
}
MICROSECONDS_PER_DAY = 86_400_000_000


def date_format(text: Any) -> str | None:
    """The form that all values of a column of text have as dates; None if they are none.

    Where 01/02/2003 could be both, the month comes first unless some value forbids it.

    >>> import polars as pl
    >>> date_format(pl.Series(["13/02/2003", None]))
    '%d/%m/%Y'
    """
    return next(iter(date_formats(text.drop_nulls().unique(), FORMATS)), None)


def date_formats(values: Any, among: Iterable[str]) -> list[str]:
    """Those of some forms that all values have as dates, in the order of ``FORMATS``."""
    if not len(values) or not values[0][:1].isdigit():
        return []
    likely = [form for form in among if _parsed(values[:1], form).null_count() == 0]
    return [form for form in likely if _parsed(values, form).null_count() == 0]


def as_days(text: Any, form: str) -> FloatArray:
    """Dates as days since 1970, NaN where there is none or it is written in another form."""
    pl = polars()
    micros = _parsed(text, form).cast(pl.Int64).cast(pl.Float64).to_numpy()
    days: FloatArray = micros.astype(np.float64) / MICROSECONDS_PER_DAY
    return days


def _parsed(text: Any, form: str) -> Any:
    pl = polars()
    has_time = "%H" in form
    if has_time:
        return text.str.to_datetime(form, strict=False, time_unit="us")
    return text.str.to_date(form, strict=False).cast(pl.Datetime("us"))
