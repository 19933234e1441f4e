"""Random changes of a table: the same selection where nothing of substance changed, else an error.

Each case takes a small problem, a selector and one to three changes. Changes of ``SAME`` keep the
information in the table, so the same columns must be selected. Changes of ``OTHER`` may give
another selection or an error, which must be one of secateur's own.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from contract.registry import estimator_classes, quick, takes_in_fit
from sklearn.base import is_classifier

from secateur import SelectionPath
from secateur.exceptions import SecateurError

CLASSES = estimator_classes()
N_ROWS, N_COLUMNS = 60, 5
N_PER_CLASS = 4  # cases of each selector among the quick tests
N_SLOW = 10_000


@dataclass(frozen=True)
class Case:
    """A table with its target; ``source`` has the original column of each column, -1 for none."""

    X: Any
    y: Any
    source: tuple[int, ...] = tuple(range(N_COLUMNS))
    weight: Any = None
    names: Any = None
    container: Callable[[Any, Any], Any] | None = None

    def table(self) -> Any:
        return self.container(self.X, self.names) if self.container else self.X


@cache
def problem(is_classification: bool) -> Case:
    """Values are multiples of 1/16 below 8: exact in every type of numbers that is tried."""
    rng = np.random.default_rng(0)
    X = np.clip(np.round(rng.normal(size=(N_ROWS, N_COLUMNS)) * 16) / 16, -7, 7)
    signal = 2.0 * X[:, 1] - 1.5 * X[:, 3] + 0.2 * rng.normal(size=N_ROWS)
    return Case(X, (signal > 0).astype(int) if is_classification else signal)


def with_params(cls: type) -> Any:
    known = cls().get_params()
    # two columns may split a few rows alike, and then the first is taken
    return quick(cls, **{"min_samples_leaf": 10} if "min_samples_leaf" in known else {})


@cache
def expected(cls: type) -> frozenset[int]:
    """The columns selected without any change."""
    case = problem(is_classifier(cls()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return frozenset(np.flatnonzero(with_params(cls).fit(case.X, case.y).support_).tolist())


# ---- changes that keep the information --------------------------------------------------------


def frame_of(library: str) -> Callable[[Any, Any], Any]:
    def make(X, names):
        labels = [f"c{j}" for j in range(X.shape[1])] if names is None else names
        if library == "pandas":
            return pd.DataFrame(X, columns=labels)
        X = X.astype(X.dtype.newbyteorder("="))
        frame = pl.DataFrame(X, schema=[str(label) for label in labels])
        return frame if library == "polars" else frame.to_arrow()

    return make


def contained(case: Case, rng: np.random.Generator) -> Case:
    kinds = {
        "list": lambda X, _: X.tolist(),
        "fortran": lambda X, _: np.asfortranarray(X),
        "strided": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
        "read-only": lambda X, _: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
        "pandas": frame_of("pandas"),
        "polars": frame_of("polars"),
        "pyarrow": frame_of("pyarrow"),
    }
    if case.names is not None:
        return case
    return replace(case, container=kinds[rng.choice(list(kinds))])


def of_type(case: Case, rng: np.random.Generator) -> Case:
    dtype = rng.choice(["<f2", "<f4", ">f4", ">f8", "f8"])
    with np.errstate(over="ignore"):
        changed = case.X.astype(dtype)
    is_exact = case.X.dtype == np.float64 and np.array_equal(changed, case.X, equal_nan=True)
    return replace(case, X=changed) if is_exact else case


def integers(case: Case, rng: np.random.Generator) -> Case:
    if case.X.dtype != np.float64 or np.abs(case.X).max(initial=0) > 7:
        return case
    whole = case.X * 16
    if not np.array_equal(whole, np.rint(whole)):
        return case
    return replace(case, X=whole.astype(rng.choice(["i2", "i4", "i8", ">i4"])))


def scaled(case: Case, rng: np.random.Generator) -> Case:
    if case.X.dtype != np.float64:
        return case
    return replace(case, X=case.X * 2.0 ** rng.integers(-20, 20, case.X.shape[1]))


def shifted(case: Case, rng: np.random.Generator) -> Case:
    if case.X.dtype != np.float64 or np.abs(case.X).max(initial=0) > 7:
        return case
    return replace(case, X=case.X + rng.integers(-50, 50, case.X.shape[1]))


def permuted(case: Case, rng: np.random.Generator) -> Case:
    if case.names is not None:
        return case
    order = rng.permutation(case.X.shape[1])
    source = tuple(case.source[j] for j in order)
    return replace(case, X=np.ascontiguousarray(case.X[:, order]), source=source)


def renamed(case: Case, rng: np.random.Generator) -> Case:
    n = case.X.shape[1]
    choices = [
        list(range(n))[::-1],
        [f"Größe {j}" for j in range(n)],
        [f"\x1b[31mred{j}\u202e" for j in range(n)],
        [("a", j) for j in range(n)],
        [" " * j for j in range(n)],
        [dt.date(2020, 1, 1 + j) for j in range(n)],
    ]
    names = choices[rng.integers(len(choices))]
    if names and isinstance(names[0], tuple):
        names = pd.MultiIndex.from_tuples(names)
    return replace(case, names=names, container=frame_of("pandas"))


def relabelled(case: Case, rng: np.random.Generator) -> Case:
    if set(np.ravel(case.y).tolist()) != {0, 1}:  # y may be None, or of several types
        return case
    labels = [("no", "yes"), (-1, 1), (10**12, 10**13), ("", "\x1b[0m"), (False, True)]
    low, high = labels[rng.integers(len(labels))]
    return replace(case, y=np.where(case.y == 1, high, low))


def weighted(case: Case, rng: np.random.Generator) -> Case:
    # whole numbers would count as so many rows
    return replace(case, weight=np.full(len(case.X), 2.0 ** rng.integers(-300, -1)))


SAME = (contained, of_type, integers, scaled, shifted, permuted, renamed, relabelled, weighted)


# ---- changes that may end in an error ---------------------------------------------------------


def cells(case: Case, rng: np.random.Generator) -> Case:
    X = case.X.astype(np.float64)
    value = rng.choice([np.nan, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 1e9, 0.0])
    X[rng.random(X.shape) < rng.choice([0.01, 0.2, 1.0])] = value
    return replace(case, X=X)


def column(case: Case, rng: np.random.Generator) -> Case:
    """A column that holds no numbers."""
    n = len(case.X)
    values: list[Any] = [
        ["a", "b"] * n,
        [None] * n,
        ["1,5", "x"] * n,
        [1 + 2j] * n,
        [np.datetime64("2020-01-01")] * n,
        list(pd.period_range("2020", periods=n, freq="D")),
        list(pd.to_timedelta(np.arange(n), unit="s")),
        [object()] * n,
        [True, False] * n,
        [[1, 2]] * n,
        [10**400] * n,
    ]
    added = values[rng.integers(len(values))][:n]

    def make(X, _):
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
        frame["added"] = pd.Series(added, dtype=rng.choice(["object", None]))
        return frame

    return replace(case, names=None, container=make, source=(*case.source, -1))


def shape(case: Case, rng: np.random.Generator) -> Case:
    rows, columns = int(rng.choice([0, 1, 2, 3, 5, N_ROWS])), int(rng.choice([0, 1, N_COLUMNS]))
    return Case(case.X[:rows, :columns], case.y[:rows], case.source[:columns])


def sparse(case: Case, rng: np.random.Generator) -> Case:
    kinds = (sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix, sp.dok_matrix, sp.bsr_array)
    kind = kinds[rng.integers(len(kinds))]
    return replace(case, names=None, container=lambda X, _: kind(np.asarray(X, np.float64)))


def repeated(case: Case, rng: np.random.Generator) -> Case:
    X = np.hstack([case.X, case.X[:, :1], np.ones((len(case.X), 1))])
    source = (*case.source, *case.source[:1], -1)
    names = list("abcdefghij")[: X.shape[1]]
    if rng.random() < 0.5:
        names[0] = names[1]
    return replace(case, X=X, source=source, names=names, container=frame_of("pandas"))


def target(case: Case, rng: np.random.Generator) -> Case:
    y = case.y.astype(object)
    kind = rng.integers(7)
    if kind < 3 and len(y):
        y[rng.integers(len(y))] = (np.nan, np.inf, "text")[kind]
        return replace(case, y=y)
    others = (y[:-1], np.zeros(len(y)), np.c_[case.y, case.y], None)
    return replace(case, y=others[kind - 3])


def weights(case: Case, rng: np.random.Generator) -> Case:
    n = len(case.X)
    choices = [
        np.full(n, -1.0),
        np.full(n, np.nan),
        np.zeros(n),
        np.ones(n + 1),
        np.full(n, 1e300),
        np.full(n, 1e-300),
        np.where(np.arange(n) == 0, 1e300, 1.0),
        np.where(np.arange(n) < 5, 1.0, 0.0),
    ]
    return replace(case, weight=choices[rng.integers(len(choices))])


OTHER = (cells, column, shape, sparse, repeated, target, weights)


# ---- the test ---------------------------------------------------------------------------------


def check(cls: type, seed: int) -> str:
    """Fit one case; give how it ended, for the count of what was seen."""
    rng = np.random.default_rng(seed)
    case, is_same, done = problem(is_classifier(cls())), rng.random() < 0.5, []
    for _ in range(rng.integers(1, 4)):
        pool = SAME if is_same or rng.random() < 0.5 else OTHER
        change = pool[rng.integers(len(pool))]
        if pool is OTHER and done and any(other in OTHER for other in done):
            continue  # one severe change at a time
        case = change(case, rng)
        done.append(change)
    table, what = case.table(), (cls.__name__, seed, [change.__name__ for change in done])
    given = {} if case.weight is None else {"sample_weight": case.weight}
    is_sum = cls.__name__.startswith("GBFS")  # its penalty is in units of the summed loss
    if given and (is_sum or not takes_in_fit(cls, "sample_weight")):
        return "skipped"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            selector = with_params(cls).fit(table, case.y, **given)
            follow_up(selector, table)
        except SecateurError as error:
            if is_same or not 20 < len(str(error)) < 2000:
                pytest.fail(f"{what}: {error}")
            return "error"
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"{what}: {type(error).__name__}: {error}")
    if is_same:
        found = frozenset(case.source[j] for j in np.flatnonzero(selector.support_))
        assert found == expected(cls), (what, found)
        return "same"
    return "fitted"


def follow_up(selector: Any, table: Any) -> None:
    """What a fitted selector must be able to do."""
    n_selected = int(selector.support_.sum())
    assert selector.transform(table).shape[1] == n_selected
    assert len(selector.get_feature_names_out()) == n_selected
    if hasattr(selector, "predict"):
        predicted = np.asarray(selector.predict(table))
        assert predicted.dtype.kind not in "fc" or np.isfinite(predicted).all()
    document = selector.path_.to_json()
    assert SelectionPath.from_json(document).to_json() == document


@pytest.mark.parametrize("cls", CLASSES)
def test_some_mutated_tables(cls):
    for seed in range(N_PER_CLASS):
        check(cls, seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_mutated_tables(part):
    endings = {"same": 0, "fitted": 0, "error": 0, "skipped": 0}
    failures = []
    for seed in range(N_SLOW * part // 20, N_SLOW * (part + 1) // 20):
        cls = CLASSES[seed % len(CLASSES)]
        try:
            endings[check(cls, 1_000 + seed)] += 1
        except (AssertionError, pytest.fail.Exception) as error:
            failures.append(str(error)[:300])
    assert not failures, f"{len(failures)} of {N_SLOW // 20}:\n" + "\n".join(failures[:20])
    assert min(endings["same"], endings["fitted"], endings["error"]) > 20, endings
