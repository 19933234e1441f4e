"""Finding features by what users call them: names, indices or a boolean mask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secateur._data.wording import similar_to, some_of
from secateur.exceptions import InputError
from secateur.typing import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class FeatureIndex:
    """The features of a table, to be found by name, index or mask.

    Parameters
    ----------
    names : sequence of str
        The names, in the order of the columns.

    Examples
    --------
    >>> index = FeatureIndex(("age", "height", "mass"))
    >>> index.find(["mass", 0], parameter="keep")
    array([2, 0])
    >>> index.find([False, True, False], parameter="keep")
    array([1])
    """

    names: Sequence[str]

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each name; made on first use, for tables may be very wide."""
        return {name: position for position, name in enumerate(self.names)}

    def find(self, features: Any, *, parameter: str) -> IntArray:
        """Give the indices of features, in the order given.

        Parameters
        ----------
        features : str, int, iterable of str or int, or boolean mask
            What the user wrote.
        parameter : str
            Where the user wrote it, for the message.
        """
        if isinstance(features, str) or np.isscalar(features):
            features = [features]  # one name is meant whole, not letter by letter
        array = _as_array(features)
        if array.dtype.kind == "b" and array.size:
            return self._from_mask(array, parameter)
        if array.dtype.kind in "iu":
            return self._from_indices(array, parameter)
        items = array.tolist()
        return np.fromiter((self.find_one(f, parameter=parameter) for f in items), np.int64)

    def find_one(self, feature: Any, *, parameter: str) -> int:
        """Give the index of one feature, called by name or by index."""
        if isinstance(feature, str):
            if feature not in self.positions:
                raise self._unknown_name(feature, parameter)
            return self.positions[feature]
        if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
            return int(self._from_indices(np.array([feature]), parameter)[0])
        raise InputError(
            f"{parameter!r} must hold names or indices of features. Got {feature!r}. Use the "
            "column's name as text or its position as a whole number."
        )

    def _unknown_name(self, name: str, parameter: str) -> InputError:
        hint = similar_to(name, self.names) or f" The features are {some_of(self.names)}."
        return InputError(f"{parameter!r} must name features of X. Got {name!r}.{hint}")

    def _from_mask(self, mask: AnyArray, parameter: str) -> IntArray:
        if mask.shape != (len(self.names),):
            raise InputError(
                f"{parameter!r} as a mask must have one value per feature, {len(self.names)}. "
                f"Got shape {mask.shape}. Give the names or indices instead if in doubt."
            )
        return np.flatnonzero(mask)

    def _from_indices(self, indices: AnyArray, parameter: str) -> IntArray:
        wrong = indices[(indices < 0) | (indices >= len(self.names))]
        if wrong.size:
            raise InputError(
                f"{parameter!r} must hold indices from 0 to {len(self.names) - 1}. "
                f"Got {some_of(wrong.tolist())}. X has {len(self.names)} features."
            )
        return indices.astype(np.int64)


def _as_array(features: Iterable[Any]) -> AnyArray:
    if isinstance(features, np.ndarray):
        return features.ravel() if features.dtype.kind != "f" else features.astype(object)
    items = list(features)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        return np.array(items, dtype=np.bool_)
    # objects, so that numpy does not turn the 0 of ["mass", 0] into text
    return np.fromiter(items, dtype=object, count=len(items))
