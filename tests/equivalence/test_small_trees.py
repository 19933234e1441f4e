"""Small ensembles in one call are those of the engine."""

from __future__ import annotations

import numpy as np
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table, take_columns
from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.data.table import Fold
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import boost_small
from secateur.losses import get_loss


def both(X, y, weight, loss, params, train, sparse=False, **reading):
    """Raw predictions of the engine and of the kernel for all rows."""
    import scipy.sparse as sp

    table = read_table(sp.csr_matrix(X) if sparse else X, **reading)
    columns = bin_table(table, weight, max_bins=40)
    fold = Fold(train, np.setdiff1d(np.arange(len(y)), train))
    free = as_costs(None, None, None).bind(table.names)
    data = BoostedData(columns, y, weight, loss, free, Threads(1))
    *_, last = data.run(fold, params).steps
    taken = take_columns(columns, np.arange(X.shape[1]))
    small, *_ = boost_small(taken, y, weight, loss, params, fold)
    return last.model.raw(table), small


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from(["numbers", "two", "three"]), st.data())
def test_small_trees_are_the_engines(seed, kind, data):
    rng = np.random.default_rng(seed)
    n, d = data.draw(st.integers(8, 150)), data.draw(st.integers(1, 6))
    X = rng.normal(size=(n, d)).round(data.draw(st.integers(0, 2)))
    sparse = data.draw(st.booleans())
    if not sparse:
        X[rng.random(X.shape) < data.draw(st.sampled_from([0.0, 0.2]))] = np.nan
    signal = np.nan_to_num(X).sum(axis=1) + rng.normal(size=n)
    n_classes = {"numbers": None, "two": 2, "three": 3}[kind]
    y = signal if n_classes is None else rng.permutation(np.arange(n) % n_classes).astype(float)
    weight = data.draw(
        st.sampled_from([np.ones(n), rng.integers(1, 4, n) * 1.0, rng.random(n) + 0.1])
    )
    loss = get_loss("squared_error" if n_classes is None else "log_loss", n_classes=n_classes)
    params = BoostingParams(
        n_rounds=data.draw(st.integers(1, 6)),
        max_depth=data.draw(st.integers(1, 5)),
        min_samples_leaf=data.draw(st.sampled_from([1, 5])),
        learning_rate=0.3,
        l2=data.draw(st.sampled_from([0.0, 1.0])),
        lazy=False,
    )
    train = np.sort(rng.permutation(n)[: max(4, int(0.7 * n))])
    if n_classes is not None and len(np.unique(y[train])) < n_classes:
        return
    engine, small = both(X, y, weight, loss, params, train, sparse)
    np.testing.assert_allclose(small, engine, rtol=0, atol=1e-8)


@examples(12)
@given(st.integers(0, 10**6), st.sampled_from([None, 2, 3]))
def test_importances_are_the_engines(seed, n_classes):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(90, 7)), rng.random(90) + 0.1
    y = X[:, 0] - X[:, 3] if n_classes is None else (np.arange(90) % n_classes).astype(float)
    loss = get_loss("squared_error" if n_classes is None else "log_loss", n_classes=n_classes)
    params = BoostingParams(n_rounds=4, max_depth=3, min_samples_leaf=2, lazy=False)
    table = read_table(X)
    columns = bin_table(table, weight, max_bins=20)
    free = as_costs(None, None, None).bind(table.names)
    data = BoostedData(columns, y, weight, loss, free, Threads(1))
    *_, last = data.run(data.everything, params).steps
    _, found, _ = boost_small(columns, y, weight, loss, params, data.everything)
    np.testing.assert_allclose(found, last.model.importances(7), rtol=1e-9, atol=1e-12)


def test_categories_are_split_as_sets():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(0, 7, 300), rng.normal(size=300)]).astype(float)
    y = np.isin(X[:, 0], [1, 4, 6]) * 2.0 + X[:, 1]
    params = BoostingParams(n_rounds=8, max_depth=3, min_samples_leaf=5, lazy=False)
    loss = get_loss("squared_error")
    engine, small = both(X, y, np.ones(300), loss, params, np.arange(200), categorical_features=[0])
    np.testing.assert_allclose(small, engine, rtol=0, atol=1e-10)


def test_columns_are_taken_in_the_order_asked_for():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 5))
    y = X[:, 3] - X[:, 1]
    table, weight = read_table(X), np.ones(120)
    fold = Fold(np.arange(100), np.arange(100, 120))
    given = (y, weight, get_loss("squared_error"), BoostingParams(n_rounds=5), fold)
    taken = take_columns(bin_table(table, weight), np.array([3, 1]))
    narrow = bin_table(read_table(X[:, [3, 1]]), weight)
    np.testing.assert_array_equal(boost_small(taken, *given)[0], boost_small(narrow, *given)[0])
