"""What frozen results share: how they pickle, and how their rows become a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from secateur.exceptions import MissingDependencyError
from secateur.path.values import thawed_json

if TYPE_CHECKING:
    import pandas as pd


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
