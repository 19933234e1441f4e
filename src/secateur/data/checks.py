"""Checks of shape, type and finiteness of X."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from secateur.data.categories import missing_in
from secateur.exceptions import InputError, InputTypeError, some_of
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

# Bytes of X looked at in one go: small enough to stay in the cache, large enough for numpy.
_TILE_BYTES = 1 << 20


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is not a table of at least one row and one column."""
    if len(shape) == 0:
        raise InputError(
            "Expected 2D array, got scalar array instead. Got one value. Give one row per sample "
            "and one column per feature."
        )
    if len(shape) == 1:
        raise InputError(
            f"Expected 2D array, got 1D array instead. Got shape {shape}. Reshape your data with "
            "X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a single sample."
        )
    if len(shape) > 2:
        raise InputError(
            f"Expected 2D array, found array with dim {len(shape)}. Got shape {shape}. Reshape "
            "your data with X.reshape(len(X), -1)."
        )
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise InputError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required. "
                "Check the filters that made X."
            )


def check_real(dtype: np.dtype[np.generic], what: str = "X") -> None:
    """Refuse complex numbers."""
    if dtype.kind == "c":
        raise InputError(
            f"Complex data not supported. Got {what} of dtype {dtype}. Give the real and the "
            "imaginary part as columns of their own."
        )


def to_floats(array: AnyArray) -> FloatArray:
    """Turn objects or text into floats, missing values into NaN."""
    try:
        return array.astype(np.float64)
    except TypeError as error:
        return _floats_with_gaps(array, error)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"X holds values that are not numbers: {error}. Got dtype {array.dtype}. Convert "
            "them to numbers, or name their columns in categorical_features."
        ) from error


def _floats_with_gaps(array: AnyArray, error: TypeError) -> FloatArray:
    # numpy reads None as NaN, but neither pandas' NA nor NaT
    missing = missing_in(array)
    present = array[~missing]
    if any(isinstance(value, complex | np.complexfloating) for value in present):
        check_real(np.dtype(np.complex128))
    out = np.full(array.shape, np.nan)
    try:
        out[~missing] = present.astype(np.float64)
    except TypeError:
        raise InputTypeError(
            f"X holds objects that are not numbers: {error}. Convert them to numbers."
        ) from error
    except (ValueError, OverflowError):
        return to_floats(present)
    return out


def infinite_columns(array: AnyArray) -> IntArray:
    """Find the columns of a dense table that hold an infinity, looking at 1 MB at a time."""
    found = np.zeros(array.shape[1], dtype=np.bool_)
    if array.dtype.kind == "f":
        for rows, columns in _tiles(array):
            infinite: BoolArray = np.isinf(array[rows, columns])
            if infinite.any():
                found[columns] |= infinite.any(axis=0)
    return np.flatnonzero(found)


def infinite_entries(values: AnyArray) -> IntArray:
    """Find the positions of infinities in one long vector, looking at 1 MB at a time."""
    step = _TILE_BYTES // values.itemsize
    found = [
        start + np.flatnonzero(np.isinf(values[start : start + step]))
        for start in range(0, values.size, step)
    ]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def refuse_infinite(columns: IntArray, names: Sequence[str]) -> None:
    """Raise if there are columns with infinities, naming the first few."""
    if columns.size:
        raise InputError(
            "Input X contains infinity or a value too large for dtype('float64'). Got infinite "
            f"values in column(s) {some_of([names[j] for j in columns])}. Replace them by NaN, "
            "which counts as missing, or by finite numbers."
        )


def _tiles(array: AnyArray) -> Iterator[tuple[slice, slice]]:
    # along the memory: rows of a C-ordered table, columns of a Fortran-ordered one
    by_column = array.flags.f_contiguous and not array.flags.c_contiguous
    length, width = array.shape[::-1] if by_column else array.shape
    step = max(1, _TILE_BYTES // max(1, width * array.itemsize))
    for start in range(0, length, step):
        part = slice(start, start + step)
        yield (slice(None), part) if by_column else (part, slice(None))
