"""Reading X of any supported kind, and vectors with one value per row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.data.categories import learn_categories, warn_of_unknown
from secateur.data.checks import (
    FeatureIndex,
    align,
    check_real,
    check_shape,
    check_width,
    kind_of_objects,
    labels_of,
    made_up_names,
    names_of,
    to_floats,
)
from secateur.data.table import (
    DenseTable,
    FrameTable,
    SparseTable,
    Table,
    TableSchema,
    canonical_csc,
    kinds_of,
    read_values,
    refuse_kinds,
)
from secateur.exceptions import InputError, InputTypeError, ParameterError, SecateurError, some_of
from secateur.typing import AnyArray, BoolArray, IntArray

_TILE_BYTES = 1 << 20  # of X looked at in one go: stays in the cache, and is enough for numpy
_COLUMNS_AT_ONCE = 16  # of a data frame looked at in one go


def read_table(
    X: Any,
    *,
    categorical_features: Any = None,
    like: TableSchema | None = None,
    only: IntArray | None = None,
) -> Table:
    """Check X, or ``only`` some columns, and return it as a table, without copying numbers.

    With ``like``, the schema of an earlier table, X must have its columns, and unknown categories
    count as missing, with a warning.
    """
    frame = as_frame(X)
    if frame is not None:
        table: Table = _read_frame(X, frame, categorical_features, like, only)
    elif is_sparse(X):
        check_real(X.dtype)
        check_shape(X.shape)
        schema = like or name_columns(X, categorical_features)[0]
        check_width(X.shape[1], schema.names)
        if schema.encoders:
            raise InputError(
                "X must be dense, as it was at fit time, for it has category columns. Got "
                f"{type(X).__name__}. Use X.toarray()."
            )
        table = SparseTable(canonical_csc(X), schema)
    else:
        table = _read_array(_as_array(X), categorical_features, like, only)
    _refuse_infinite(table, only)
    return table


def _refuse_infinite(table: Table, only: IntArray | None = None) -> None:
    """Raise if there are infinities in a table, or in some columns, naming the first few."""
    columns = np.arange(table.n_features) if only is None else only
    if table.is_sparse:
        entries = np.flatnonzero(np.isinf(table.csc.data))
        found = np.searchsorted(table.csc.indptr, entries, side="right") - 1
        infinite = np.intersect1d(found, columns) if len(found) else found
    elif isinstance(table, DenseTable) and table.array.dtype.kind in "fiub":
        array = table.array if only is None else table.array[:, only]
        infinite = columns[_infinite_columns(array)]
    else:
        numbers = columns[~np.isin(columns, list(table.schema.encoders))]
        parts = np.split(numbers, range(_COLUMNS_AT_ONCE, len(numbers), _COLUMNS_AT_ONCE))
        infinite = np.concatenate([part[_infinite_columns(table.columns(part))] for part in parts])
    if infinite.size:
        raise InputError(
            "Input X contains infinity or a value too large for dtype('float64'). Got infinite "
            f"values in column(s) {some_of([table.names[j] for j in infinite])}. Replace them by "
            "NaN, which counts as missing, or by finite numbers."
        )


def _infinite_columns(array: AnyArray) -> BoolArray:
    """Which columns of a dense array hold an infinity, looking at 1 MB at a time."""
    found = np.zeros(array.shape[1], dtype=np.bool_)
    if array.dtype.kind != "f":
        return found
    # along the memory: rows of a C-ordered table, columns of a Fortran-ordered one
    by_column = array.flags.f_contiguous and not array.flags.c_contiguous
    lines = array.T if by_column else array
    step = max(1, _TILE_BYTES // max(1, lines.shape[1] * array.itemsize))
    for start in range(0, len(lines), step):
        infinite: BoolArray = np.isinf(lines[start : start + step])
        if infinite.any():
            columns = slice(start, start + step) if by_column else slice(None)
            found[columns] |= infinite.any(axis=1 if by_column else 0)
    return found


def select_columns(X: Any, features: Any) -> Any:
    """Give some columns of X in the kind of container that X is."""
    features = np.asarray(features, dtype=np.int64)
    frame = as_frame(X)
    if frame is not None:
        return frame[:, features.tolist()].to_native()
    if is_sparse(X):
        return (X if X.format in {"csr", "csc"} else X.tocsr())[:, features]
    return _as_array(X)[:, features]


def as_container(taken: Any, wanted: str) -> Any:
    """Columns as a frame of another library, types kept; scikit-learn would go through objects."""
    is_array = isinstance(taken, np.ndarray) or wanted not in {"pandas", "polars"}
    frame = None if is_array else as_frame(taken)
    if frame is None:
        return taken
    return frame.to_pandas() if wanted == "pandas" else frame.to_polars()


def select_rows(X: Any, rows: Any) -> Any:
    """Give some rows of X in the kind of container that X is; lists come back as an array."""
    rows = np.asarray(rows, dtype=np.int64)
    if isinstance(X, Table):  # one on disk
        return X.take(rows)
    frame = as_frame(X)
    if frame is not None:
        return frame[rows.tolist()].to_native()
    return X.tocsr()[rows] if is_sparse(X) else _as_array(X)[rows]


def as_frame(X: Any, what: str = "X", *, allow_series: bool | None = None) -> Any:
    """Wrap a data frame (or a series) by narwhals; None if X is none. Lazy ones raise an error."""
    if isinstance(X, np.ndarray | list | tuple) or is_sparse(X):
        return None
    import narwhals as nw

    native = X
    if nw.dependencies.is_pandas_dataframe(X):  # which cannot take numbers of foreign byte order
        foreign = {
            name: kind.newbyteorder("=")
            for name, kind in X.dtypes.items()
            if isinstance(kind, np.dtype) and not kind.isnative  # not a type of pandas' own
        }
        native = X.astype(foreign) if foreign else X
    try:
        frame = nw.from_native(native, pass_through=True, allow_series=allow_series)
    except (ValueError, nw.exceptions.NarwhalsError):
        names_of(X)  # raises our own error for duplicate names
        raise
    if isinstance(frame, nw.LazyFrame):
        raise InputTypeError(
            f"{what} must hold its rows. Got a lazy data frame, {type(X).__name__}. Call "
            ".collect() on it first (.compute() for Dask)."
        )
    return frame if isinstance(frame, nw.DataFrame | nw.Series) else None


def is_lazy(X: Any) -> bool:
    """Whether X is a dask array or data frame; other objects of dask are refused."""
    library, _, rest = type(X).__module__.partition(".")
    if library == "dask" and rest.partition(".")[0] not in {"array", "dataframe"}:
        raise InputTypeError(
            f"X must be a dask array or data frame. Got a dask {type(X).__name__}. Use "
            "dask.array.from_delayed or dask.dataframe.from_delayed, or call .compute()."
        )
    return library in {"dask", "dask_expr"}


def is_sparse(X: Any) -> bool:
    """Whether X is a matrix or array of scipy.sparse."""
    import scipy.sparse as sp

    return bool(sp.issparse(X))


def name_columns(
    X: Any, categorical_features: Any, names: tuple[str, ...] | None = None
) -> tuple[TableSchema, list[int]]:
    """The names of the columns of X, or ``names`` if it has none, and which are categories."""
    frame, kinds = as_frame(X), dict[int, str]()
    if frame is None:  # the one type of an array says nothing of its columns: no kinds
        check_shape(tuple(X.shape))
        schema = TableSchema(names or made_up_names(int(X.shape[1])))
    else:
        names, has_names = names_of(X)
        labels = tuple(labels_of(X)) if has_names else names
        schema = TableSchema(names, has_names, labels=None if labels == names else labels)
        kinds = kinds_of(frame, range(len(names)))
    wanted, from_dtype = categorical_features, {"category"}
    if isinstance(wanted, str):
        if wanted != "from_dtype":
            raise ParameterError(
                "'categorical_features' must be None, 'from_dtype', a list or a mask. Got "
                f"{wanted!r}. Use [{wanted!r}] to name one column."
            )
        wanted, from_dtype = None, {"category", "text", "empty"}
    chosen = {feature for feature, kind in kinds.items() if kind in from_dtype}
    if wanted is not None:
        index = FeatureIndex(schema.names)
        chosen.update(index.find(wanted, parameter="categorical_features").tolist())
    refuse_kinds(schema.names, kinds, chosen)
    if chosen and is_sparse(X):
        raise ParameterError(
            "'categorical_features' must be None for a sparse X. Got columns of a "
            f"{type(X).__name__}. Use a dense table for categories."
        )
    return schema, sorted(chosen)


def _with_categories(
    X: Any,
    categorical_features: Any,
    like: TableSchema | None,
    only: IntArray | None,
    column: Callable[[int], tuple[AnyArray, Any]],
) -> TableSchema:
    """The schema of X, or ``like``; ``column`` gives values and the order of their categories."""
    if like is None:
        schema, chosen = name_columns(X, categorical_features)
    else:
        schema, chosen = like, [j for j in like.encoders if only is None or j in only]
    encoders = dict(schema.encoders)
    for feature in chosen:
        (values, order), name = column(feature), schema.names[feature]
        if like is None:
            encoders[feature] = learn_categories(values, name=name, order=order)
        else:
            warn_of_unknown(encoders[feature], values, name)
    return replace(schema, encoders=encoders)


def _read_frame(
    X: Any, frame: Any, categorical_features: Any, like: TableSchema | None, only: IntArray | None
) -> FrameTable:
    check_shape(frame.shape)
    if like is not None:
        names, has_names = names_of(X)
        if has_names and like.has_names:
            order = align(names, like.names)
            frame = frame if order is None else frame[:, order]
        check_width(len(names), like.names)
        kinds = kinds_of(frame, range(len(names)) if only is None else only.tolist())
        refuse_kinds(like.names, kinds, like.encoders)

    def column(feature: int) -> tuple[AnyArray, Any]:
        series = frame[:, feature]
        return read_values(series), getattr(series.dtype, "categories", None)

    return FrameTable(frame, _with_categories(X, categorical_features, like, only, column))


def _as_array(X: Any) -> AnyArray:
    array = _to_numpy(
        X, "X must be a table with rows of equal length", "Give one column per feature."
    )
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
) -> DenseTable:
    kind, size = array.dtype.kind, array.dtype.itemsize
    is_native = array.dtype.isnative and size <= 8 and (kind, size) != ("f", 2)
    if kind in "fiu" and not is_native:  # numbers in a type of this machine, from 8 to 64 bits
        with np.errstate(over="ignore"):  # infinities are refused later
            array = array.astype(f"=f{min(max(size, 4), 8)}" if kind == "f" else f"={kind}{size}")
    if like is not None:
        check_width(array.shape[1], like.names)
    schema = _with_categories(
        array, categorical_features, like, only, lambda feature: (array[:, feature], None)
    )
    if array.dtype.kind in "fiub":
        return DenseTable(array, schema)
    # text and objects take a copy in any case, so categories are encoded on the way
    encoded = np.full(array.shape, np.nan)
    read = np.arange(array.shape[1]) if only is None else only
    numbers = [feature for feature in read.tolist() if feature not in schema.encoders]
    try:
        encoded[:, numbers] = to_floats(array[:, numbers])
    except SecateurError as error:
        raise _not_numbers(array, numbers, schema.names, error) from error
    for feature, known in schema.encoders.items():
        if feature in read:
            encoded[:, feature] = known.encode(array[:, feature])
    return DenseTable(encoded, schema, is_encoded=True)


def _not_numbers(
    array: AnyArray, features: list[int], names: tuple[str, ...], error: SecateurError
) -> SecateurError:
    """The error for columns of an array that are not numbers, naming them."""
    kinds = {}
    for feature in features:
        try:
            to_floats(array[:, feature])
        except SecateurError:
            kinds[feature] = kind_of_objects(array[:, feature])
    refuse_kinds(names, {j: kind for j, kind in kinds.items() if kind != "other"}, ())
    found = some_of([names[feature] for feature in kinds])
    return type(error)(f"{error} Got them in column(s) {found}.")


def as_array(values: Any, what: str) -> AnyArray:
    """Give whatever holds values as an array; missing ones are NaN or None."""
    wrapped = as_frame(values, what, allow_series=True)
    if wrapped is not None and len(wrapped.shape) == 2:
        columns = [read_values(wrapped[:, position]) for position in range(wrapped.shape[1])]
        values = np.column_stack(columns)
    elif wrapped is not None:
        values = read_values(wrapped)
    return _to_numpy(values, f"{what} must hold one value per row", "Give a flat list or array.")


def _to_numpy(values: Any, demand: str, advice: str) -> AnyArray:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"{demand}. Got values that numpy cannot read: {error}. {advice}"
        ) from error


def as_column(array: AnyArray) -> AnyArray:
    """Flatten a single column with scikit-learn's warning; refuse any other shape."""
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.utils import column_or_1d

        return column_or_1d(array, warn=True)
    if array.ndim != 1:
        raise InputError(
            f"y should be a 1d array, got an array of shape {array.shape} instead. Use one column."
        )
    return array


def check_length(n_values: int, n_rows: int | None, what: str) -> None:
    """Refuse a vector that has not one value per row of X."""
    if n_rows is not None and n_values != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_values}]. "
            f"Got X of {n_rows} rows and {what} of {n_values} values. Give one value per row."
        )
