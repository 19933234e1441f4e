"""Reading X of any supported kind, and vectors with one value per row."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.data.categories import Categories, learn_categories, warn_of_unknown
from secateur.data.checks import (
    check_real,
    check_shape,
    infinite_columns,
    infinite_entries,
    refuse_infinite,
    to_floats,
)
from secateur.data.frame_table import choose_categories, read_frame, read_values
from secateur.data.names import check_width, made_up_names, names_of
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.exceptions import InputError, InputTypeError, ParameterError
from secateur.typing import AnyArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw


def read_table(
    X: Any,
    *,
    categorical_features: Any = None,
    like: TableSchema | None = None,
    only: IntArray | None = None,
) -> Table:
    """Check X and return it as a table, without copying numbers.

    ``categorical_features`` is as in the selectors. With ``like``, the schema of an earlier table,
    its columns must be there, and unknown categories count as missing, with a warning. With
    ``only``, no other columns are checked.
    """
    if not _is_own_kind(X):
        frame = as_frame(X)
        if frame is not None:
            return read_frame(
                frame,
                TableSchema(*names_of(X)),
                categorical_features=categorical_features,
                like=like,
                only=only,
            )
    if is_sparse(X):
        return _read_sparse(X, categorical_features, like, only)
    return _read_array(_as_array(X), categorical_features, like, only)


def select_columns(X: Any, features: Any) -> Any:
    """Give some columns of X in the kind of container that X is."""
    features = np.asarray(features, dtype=np.int64)
    if not _is_own_kind(X):
        frame = as_frame(X)
        if frame is not None:
            return frame[:, features.tolist()].to_native()
    if is_sparse(X):
        return (X if X.format in {"csr", "csc"} else X.tocsr())[:, features]
    return _as_array(X)[:, features]


def select_rows(X: Any, rows: Any) -> Any:
    """Give some rows of X in the kind of container that X is; lists come back as an array."""
    rows = np.asarray(rows, dtype=np.int64)
    if isinstance(X, Table):  # one on disk
        return X.take(rows)
    if not _is_own_kind(X):
        frame = as_frame(X)
        if frame is not None:
            return frame[rows.tolist()].to_native()
    if is_sparse(X):
        return (X if X.format == "csr" else X.tocsr())[rows]
    return _as_array(X)[rows]


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Wrap a data frame; None if X is none. Lazy frames raise an error."""
    import narwhals as nw

    try:
        frame = nw.from_native(X, pass_through=True)
    except (ValueError, nw.exceptions.NarwhalsError):
        names_of(X)  # raises our own error for duplicate names
        raise
    if isinstance(frame, nw.LazyFrame):
        raise InputTypeError(
            f"X must be a data frame that holds its rows. Got a lazy one, {type(X).__name__}. "
            "Call .collect() on it first (.compute() for Dask)."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def is_lazy(X: Any) -> bool:
    """Whether X is a dask array or data frame."""
    return type(X).__module__.partition(".")[0] in {"dask", "dask_expr"}


def _is_own_kind(X: Any) -> bool:
    return isinstance(X, np.ndarray | list | tuple) or is_sparse(X)


def is_sparse(X: Any) -> bool:
    """Whether X is a matrix or array of scipy.sparse."""
    import scipy.sparse as sp

    return bool(sp.issparse(X))


# ---- arrays -----------------------------------------------------------------------------------


def _as_array(X: Any) -> AnyArray:
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(
            f"X must be a table with rows of equal length. Got one that numpy cannot read: {error}."
            " Give one row per sample and one column per feature."
        ) from error
    check_real(array.dtype)
    if array.dtype.kind == "V":
        raise InputTypeError(
            f"X must be a table of numbers. Got a structured array, {array.dtype}. Turn it into a "
            "data frame, or into numbers with numpy.lib.recfunctions.structured_to_unstructured."
        )
    if array.dtype.kind in "mM":
        raise InputError(
            f"X must hold numbers. Got dates or times, dtype {array.dtype}. Convert them to "
            "numbers, for instance days since a date."
        )
    check_shape(array.shape)
    return array


def _read_array(
    array: AnyArray, categorical_features: Any, like: TableSchema | None, only: IntArray | None
) -> Table:
    looked_at = range(array.shape[1]) if only is None else only.tolist()
    if like is None:
        names = made_up_names(array.shape[1])
        encoders = {
            feature: learn_categories(array[:, feature], name=names[feature])
            # the one type of an array says nothing of its columns: no kinds
            for feature in sorted(choose_categories(categorical_features, {}, names))
        }
        schema = TableSchema(names, has_names=False, encoders=encoders)
    else:
        check_width(array.shape[1], like.names)
        schema = like
        _warn_of_unknown(array, like, looked_at)
    is_encoded = array.dtype.kind not in "fiub"
    if is_encoded:
        array = _encode_objects(array, schema.encoders, looked_at)
    _refuse_infinite(array, schema, only)
    return DenseTable(array, schema, is_encoded)


def _warn_of_unknown(array: AnyArray, schema: TableSchema, looked_at: Collection[int]) -> None:
    for feature, known in schema.encoders.items():
        if feature in looked_at:
            warn_of_unknown(known, array[:, feature], schema.names[feature])


def _encode_objects(
    array: AnyArray, encoders: Mapping[int, Categories], looked_at: Collection[int]
) -> AnyArray:
    # text and objects take a copy in any case, so categories are encoded on the way
    out = np.full(array.shape, np.nan)
    numbers = [feature for feature in looked_at if feature not in encoders]
    out[:, numbers] = to_floats(array[:, numbers])
    for feature, known in encoders.items():
        if feature in looked_at:
            out[:, feature] = known.encode(array[:, feature])
    return out


def _refuse_infinite(array: AnyArray, schema: TableSchema, only: IntArray | None) -> None:
    if only is None:
        refuse_infinite(infinite_columns(array), schema.names)
    else:
        refuse_infinite(only[infinite_columns(array[:, only])], schema.names)


# ---- sparse matrices --------------------------------------------------------------------------


def _read_sparse(
    X: Any, categorical_features: Any, like: TableSchema | None, only: IntArray | None
) -> Table:
    check_real(X.dtype)
    check_shape(X.shape)
    if like is None:
        schema = TableSchema(made_up_names(X.shape[1]))
        if choose_categories(categorical_features, {}, schema.names):
            raise ParameterError(
                "'categorical_features' must be None for a sparse X. Got columns of a "
                f"{type(X).__name__}. Use a dense table for categories."
            )
    else:
        check_width(X.shape[1], like.names)
        schema = like
    if schema.encoders:
        raise InputError(
            "X must be dense, as it was at fit time, for it has category columns. Got "
            f"{type(X).__name__}. Use X.toarray()."
        )
    csc = canonical_csc(X)
    entries = infinite_entries(csc.data)
    columns = np.unique(np.searchsorted(csc.indptr, entries, side="right") - 1)
    refuse_infinite(columns if only is None else np.intersect1d(columns, only), schema.names)
    return SparseTable(csc, schema)


# ---- one value per row ------------------------------------------------------------------------


def as_array(values: Any, what: str) -> AnyArray:
    """Give whatever holds values as an array; missing ones are NaN or None."""
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
