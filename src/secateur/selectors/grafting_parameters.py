"""What the parameters of the grafting selectors may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur._data.lazy import LazyTable
from secateur._data.table import Table
from secateur._data.wording import some_of
from secateur.exceptions import InputError, ParameterError
from secateur.selectors.constraints import Constraint, number, one_of
from secateur.selectors.parameters import SHARED_CONSTRAINTS, read_grid

CONSTRAINTS: dict[str, Constraint] = SHARED_CONSTRAINTS | {
    "model": one_of("linear", "mlp", advice="Use 'linear' for coefficients."),
    "l0": number(0, below=True, advice="Use 0 for no price of features as such."),
    "l2": number(0, below=True, advice="Use 0 for no ridge."),
    "max_hidden": number(1, whole=True, or_none=True, advice="Use None for no limit."),
    "adjust": one_of("all", "newest", advice="Use 'all' to fit every free weight again."),
    "retries": number(0, whole=True, advice="Use 0 to stop where the criterion rises."),
    "standardize": one_of(True, False, advice="Use True unless columns share a scale."),
    "fit_intercept": one_of(True, False, advice="Use True for a bias."),
    "tol": number(0, 1, above=True, below=True, advice="Use 1e-6 for a start."),
    "max_iter": number(1, whole=True, advice="Use 200 for a start."),
}
_L1 = "Use 'auto' to have it chosen, 0 for none."


def read_l1(l1: Any, *, one_by_one: bool) -> float | list[float] | None:
    """One price, a falling grid, or None for "auto"; a grid needs many weights at a time.

    >>> read_l1([0.01, 0.1], one_by_one=False)
    [0.1, 0.01]
    """
    found = read_grid("l1", l1, float("inf"), _L1)
    if one_by_one and isinstance(found, list):
        if len(found) > 1:
            msg = (
                "'l1' must be one number or 'auto' where weights are grafted one by one. Got "
                f"{len(found)} values with an L0 price, model='mlp' or adjust='newest'. Fit once "
                "for each."
            )
            raise ParameterError(msg)
        return found[0]
    return found


def refuse_categories(table: Table) -> None:
    """Weights times codes of categories mean nothing."""
    found = table.categorical if isinstance(table, LazyTable) else tuple(table.categories)
    refuse_category_columns(table.names, found)


def refuse_category_columns(names: Sequence[str], categorical: Sequence[int]) -> None:
    """The same, of columns that are known by name."""
    if categorical:
        told = some_of([names[j] for j in categorical])
        msg = (
            f"X must hold numbers for grafting. Got categories in column(s) {told}. "
            "Encode them first, for instance with OneHotEncoder."
        )
        raise InputError(msg)
