"""A long column of labels or numbers, gathered block by block and kept small."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.data.categories import is_missing
from secateur.data.vectors import as_array
from secateur.exceptions import InputError
from secateur.typing import AnyArray, IntArray


class LabelColumn:
    """Numbers as they are; text and other values as codes of the distinct ones.

    >>> column = LabelColumn()
    >>> column.add(["b", "a"])
    >>> column.add(["b", None])
    >>> column.finished().values()
    array(['b', 'a', 'b', None], dtype=object)
    """

    def __init__(self) -> None:
        self._parts: list[AnyArray] = []
        self._codes: dict[Any, int] = {}
        self.array: AnyArray = np.empty(0)
        self.labels: list[Any] | None = None

    @classmethod
    def of(cls, array: AnyArray, labels: list[Any] | None) -> LabelColumn:
        """A column that was finished before."""
        column = cls()
        column.array, column.labels = array, labels
        return column

    def add(self, values: Any, kept: IntArray | None = None) -> None:
        """Append values, or some of them."""
        array = as_array(values, "target")
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            msg = f"'target' must be one value per row. Got shape {array.shape}. Name one column."
            raise InputError(msg)
        array = array if kept is None else array[kept]
        if array.dtype.kind in "biuf":
            self._parts.append(array)
            return
        codes = self._codes
        found = [codes.setdefault(_plain(value), len(codes)) for value in array.tolist()]
        self._parts.append(np.array(found, np.int32))

    def finished(self) -> LabelColumn:
        """The whole column."""
        kinds = {part.dtype.kind for part in self._parts}
        has_text = bool(self._codes)
        if has_text and kinds != {"i"}:
            msg = (
                "'target' must hold values of one kind. Got text in some rows and numbers in "
                "others. Make all of them text, or all numbers."
            )
            raise InputError(msg)
        array = np.concatenate(self._parts) if self._parts else np.empty(0)
        return LabelColumn.of(array, list(self._codes) if has_text else None)

    def values(self) -> AnyArray:
        """The values, as they came."""
        if self.labels is None:
            return self.array
        labels = np.fromiter(self.labels, dtype=object, count=len(self.labels))
        return labels[self.array]


def _plain(value: Any) -> Any:
    """Text, numbers, truth or None: what a header of JSON can hold."""
    if is_missing(value):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)
