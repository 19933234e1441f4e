"""What baselines rank: columns as numbers of one scale or codes, with their target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from secateur.data.frames import read_table
from secateur.exceptions import InputError
from secateur.typing import AnyArray, BoolArray, IntArray

MAX_DENSE_CELLS = 200_000_000  # sparse tables with more cells are not made dense: 1.6 GB
MAX_RANKED = 50  # how many features greedy methods rank unless more are asked for


class Columns(NamedTuple):
    """What is ranked: columns as `as_matrix` gives them, with their target."""

    values: Any
    is_category: BoolArray
    y: AnyArray
    is_classes: bool
    seed: Any
    qid: Any = None  # the query of each row, for ranking; rows of a query follow each other
    n_ranked: int = MAX_RANKED  # how many greedy methods rank
    groups: IntArray | None = None  # the group of each column, for the group lasso
    sizes: tuple[int, ...] = ()  # wanted numbers of features, for CEGB

    @property
    def categories(self) -> list[int]:
        """The numbers of the columns that are categories."""
        found: list[int] = np.flatnonzero(self.is_category).tolist()
        return found

    def draw(self) -> BoolArray:
        """A mask of a fifth of the rows, or of the rows of a fifth of the queries."""
        names, of_row = np.unique(self._units, return_inverse=True)
        order = np.random.default_rng(self.seed).permutation(len(names))
        return (order < max(1, len(names) // 5))[of_row]

    def queries(self, mask: Any = slice(None)) -> IntArray | None:
        """The sizes of the queries of some rows, as LightGBM takes them; None without queries."""
        return None if self.qid is None else np.unique(self.qid[mask], return_counts=True)[1]

    @property
    def _units(self) -> AnyArray:
        return np.arange(len(self.y)) if self.qid is None else self.qid


def as_matrix(X: Any, *, dense: bool = False) -> tuple[Any, BoolArray]:
    """Standardised columns (sparse ones are not centred) or codes, and which are categories."""
    table = read_table(X, categorical_features="from_dtype")
    is_category = np.zeros(table.n_features, np.bool_)
    is_category[list(table.categories)] = True
    if table.is_sparse and not dense:
        clean = sp.csr_matrix(table.csc)
        clean.data = np.nan_to_num(clean.data)
        return StandardScaler(with_mean=False).fit_transform(clean), is_category
    if table.is_sparse and table.n_rows * table.n_features > MAX_DENSE_CELLS:
        raise InputError(
            f"A table must have at most {MAX_DENSE_CELLS:,} cells to be made dense. Got "
            f"{table.n_rows:,} rows and {table.n_features:,} columns. Leave this method out."
        )
    raw = table.columns(np.arange(table.n_features))
    filled = SimpleImputer(keep_empty_features=True).fit_transform(raw)
    values = StandardScaler().fit_transform(filled)
    values[:, is_category] = np.nan_to_num(raw[:, is_category], nan=-1.0)
    return values, is_category


def descending(scores: Any) -> IntArray:
    """The columns by falling score; those without a score are last."""
    return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")
