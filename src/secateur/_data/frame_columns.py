"""Reading data frames: which columns are categories, and which cannot be used at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur._data.categories import Categories, learn_categories, warn_of_unknown
from secateur._data.checks import check_shape, infinite_columns, refuse_infinite
from secateur._data.frame_table import FrameTable, declared_order, kinds_of, read_values
from secateur._data.lookup import FeatureIndex
from secateur._data.naming import align, check_width
from secateur._data.table import TableSchema
from secateur._data.wording import some_of
from secateur.exceptions import InputError, ParameterError
from secateur.typing import IntArray

if TYPE_CHECKING:
    import narwhals as nw

# Columns checked for infinities in one go.
_BLOCK = 16


def read_frame(
    frame: nw.DataFrame[Any],
    schema: TableSchema,
    *,
    categorical_features: Any = None,
    like: TableSchema | None = None,
    only: IntArray | None = None,
) -> FrameTable:
    """Check a data frame and give it as a table.

    Parameters
    ----------
    frame : narwhals.DataFrame
        The user's frame, wrapped.
    schema : TableSchema
        The names that the frame brings, still without categories.
    categorical_features, like, only
        As in `secateur._data.frames.read_table`.

    Returns
    -------
    FrameTable
        The table, with the categories learnt or those of ``like``.
    """
    check_shape(frame.shape)
    if like is not None:
        frame = _arranged(frame, schema, like)
        return _checked(_read_again(frame, like, only), only)
    kinds = kinds_of(frame, range(schema.n_features))
    chosen = choose_categories(categorical_features, kinds, schema.names)
    refuse_kinds(schema.names, kinds, chosen)
    encoders = {
        feature: _learn(frame[:, feature], schema.names[feature]) for feature in sorted(chosen)
    }
    return _checked(FrameTable(frame, TableSchema(schema.names, schema.has_names, encoders)), only)


def choose_categories(wanted: Any, kinds: dict[int, str], names: tuple[str, ...]) -> set[int]:
    """Give the indices of the columns that count as categories."""
    by_type = {feature for feature, kind in kinds.items() if kind == "category"}
    if wanted is None:
        return by_type
    if isinstance(wanted, str):
        if wanted != "from_dtype":
            raise ParameterError(
                "'categorical_features' must be None, 'from_dtype', a list or a mask. Got "
                f"{wanted!r}. Use [{wanted!r}] to name one column."
            )
        return by_type | {f for f, kind in kinds.items() if kind in {"text", "empty"}}
    named = FeatureIndex(names).find(wanted, parameter="categorical_features")
    return by_type | set(named.tolist())


def refuse_kinds(names: tuple[str, ...], kinds: dict[int, str], chosen: Collection[int]) -> None:
    """Raise for columns that are neither numbers nor categories, naming them."""
    times = [names[feature] for feature, kind in kinds.items() if kind == "time"]
    if times:
        raise InputError(
            f"X must hold numbers or categories. Got dates or times in column(s) {some_of(times)}. "
            "Convert them to numbers, for instance days since a date, or drop them."
        )
    text = [
        names[feature]
        for feature, kind in kinds.items()
        if kind in {"text", "category"} and feature not in chosen
    ]
    if text:
        raise InputError(
            "X holds columns of text: could not convert string to float. Got column(s) "
            f"{some_of(text)}. Convert them to a category type, or name them in "
            "categorical_features=[...], or use categorical_features='from_dtype'."
        )
    other = [names[f] for f, kind in kinds.items() if kind == "other" and f not in chosen]
    if other:
        raise InputError(
            "X must hold numbers or categories. Got lists, structures or bytes in column(s) "
            f"{some_of(other)}. Convert them to columns of numbers, or drop them."
        )


def _arranged(
    frame: nw.DataFrame[Any], schema: TableSchema, like: TableSchema
) -> nw.DataFrame[Any]:
    if not (schema.has_names and like.has_names):
        check_width(schema.n_features, like.names)
        return frame
    order = align(schema.names, like.names)
    return frame if order is None else frame[:, order]


def _read_again(frame: nw.DataFrame[Any], like: TableSchema, only: IntArray | None) -> FrameTable:
    looked_at = _looked_at(like.n_features, only)
    kinds = kinds_of(frame, looked_at)
    refuse_kinds(like.names, kinds, like.encoders.keys())
    for feature, known in like.encoders.items():
        if feature in kinds:
            warn_of_unknown(known, read_values(frame[:, feature]), like.names[feature])
    return FrameTable(frame, like)


def _learn(series: nw.Series[Any], name: str) -> Categories:
    return learn_categories(read_values(series), name=name, order=declared_order(series))


def _checked(table: FrameTable, only: IntArray | None) -> FrameTable:
    floats = [
        feature
        for feature in _looked_at(table.n_features, only)
        if feature not in table.schema.encoders
    ]
    found: list[int] = []
    for start in range(0, len(floats), _BLOCK):
        features = np.array(floats[start : start + _BLOCK])
        found += features[infinite_columns(table.columns(features))].tolist()
    refuse_infinite(np.array(found, dtype=np.int64), table.names)
    return table


def _looked_at(n_features: int, only: IntArray | None) -> Sequence[int]:
    return range(n_features) if only is None else [int(feature) for feature in only]
