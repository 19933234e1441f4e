"""Whole trees, small ensembles and sums of trees against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from secateur._kernels.binning import bins_by_row
from secateur._kernels.boosting import LOGISTIC, MULTINOMIAL, SQUARED, boost_rounds
from secateur._kernels.partition import add_trees_binned, add_trees_raw, goes_left
from secateur._kernels.records import MISSING, DenseCodes, SparseCodes
from secateur._kernels.whole_tree import grow_whole
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted.grower import TreeColumns
from secateur.engines.boosted.trees import inner_nodes, left_words, room_for_trees

N_ROWS, N_BINS, DEPTH = 60, 4, 3


def make_codes(seed, n_features=3):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(0, N_BINS, (n_features, N_ROWS)).astype(np.uint8)


def shape_of(n_features, is_categorical=False):
    offset = np.arange(n_features + 1) * (N_BINS + 1)
    return offset, np.full(n_features, N_BINS), np.full(n_features, is_categorical)


def to_sparse(codes):
    """The same codes with those of bin 0 left out."""
    columns = [np.flatnonzero(column) for column in codes]
    indptr = np.concatenate([[0], np.cumsum([len(column) for column in columns])])
    indices = np.concatenate(columns).astype(np.int32)
    stored = np.concatenate([codes[j, column] for j, column in enumerate(columns)])
    row_start = np.concatenate([[0], np.cumsum((codes != 0).sum(axis=0))])
    row_bins = np.empty(len(indices), np.uint32)
    offset, n_bins, _ = shape_of(len(codes))
    bins_by_row(indptr, indices, stored, offset, n_bins, row_start, row_bins)
    return SparseCodes(indptr, indices, stored, np.zeros(len(codes), np.uint8), row_start, row_bins)


def shape_of_tree(codes, *, categorical=False, by_level=False):
    """Codes and shape as the kernel takes them."""
    is_sparse = isinstance(codes, SparseCodes)
    d = len(codes.zero_code) if is_sparse else len(codes.codes)
    offset, n_bins, is_categorical = shape_of(d, categorical)
    has_missing = np.zeros(d, np.bool_) if is_sparse else (codes.codes == MISSING).any(axis=1)
    columns = BinnedColumns(codes, N_ROWS, n_bins, offset, (), is_categorical, has_missing)
    found = TreeColumns.of(columns, np.arange(d))
    assert not found.shape[2]  # small tables
    return TreeColumns(found.codes, (*found.shape[:2], by_level))


def grow(
    codes,
    gradient,
    *,
    min_weight=5,
    penalty=0.0,
    max_new=np.inf,
    categorical=False,
    by_level=False,
):
    """The tree that the kernel grows on whole gradients, as a dict by name."""
    columns = shape_of_tree(codes, categorical=categorical, by_level=by_level)
    d = len(columns.shape[0][0])
    packed = (gradient.astype(np.int64) << 32) + 1
    n_nodes = 2 ** (DEPTH + 1)
    tree = {
        "bounds": np.zeros((n_nodes, 2), np.int64),
        "left": np.full(n_nodes, -1, np.int64),
        "feature": np.full(n_nodes, -1, np.int64),
        "split": np.zeros((n_nodes, 2), np.int64),
        "gain": np.zeros(n_nodes),
        "words": np.zeros((n_nodes, 4), np.uint64),
    }
    order = np.arange(N_ROWS, dtype=np.uint32)
    used = np.zeros(d, np.bool_)
    n_nodes, _ = grow_whole(
        *columns, packed, order, packed.sum(), (1.0, 1.0), np.int64(min_weight), np.arange(d),
        (used, np.ones(d), np.array([max_new, 0.0, np.inf])), (penalty, 1.0, 1e-9), DEPTH,
        columns.buffers(N_ROWS, DEPTH), tuple(tree.values()),
    )  # fmt: skip
    tree = {name: array[:n_nodes] for name, array in tree.items()}
    return tree | {"order": order, "used": used}


def sse(values):
    return float(((values - values.mean()) ** 2).sum())


def best_gain(codes, gradient, rows, features, min_weight):
    """The largest reduction of squared error of any threshold, by definition."""
    best = 0.0
    for j in features:
        for b in range(N_BINS - 1):
            left = codes[j, rows] <= b
            if min(left.sum(), (~left).sum()) >= min_weight:
                parts = sse(gradient[rows[left]]) + sse(gradient[rows[~left]])
                best = max(best, sse(gradient[rows]) - parts)
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sparse", [False, True])
def test_every_node_takes_its_best_split(seed, sparse):
    rng, codes = make_codes(seed)
    gradient = rng.integers(-30, 30, N_ROWS) + 20 * (codes[1] > 1)
    tree = grow(to_sparse(codes) if sparse else DenseCodes(codes), gradient)
    assert tree["left"][0] >= 0
    for q, left in enumerate(tree["left"]):
        rows = tree["order"][slice(*tree["bounds"][q])]
        if left < 0:
            continue
        j = tree["feature"][q]
        goes = [goes_left(np.int64(code), tree["words"][q]) for code in codes[j, rows]]
        both = [tree["order"][slice(*tree["bounds"][child])] for child in (left, left + 1)]
        assert set(both[0].tolist()) == set(rows[np.array(goes)].tolist())
        assert len(both[0]) + len(both[1]) == len(rows)
        expected = best_gain(codes, gradient, rows, range(3), 5)
        assert tree["gain"][q] == pytest.approx(expected)


@pytest.mark.parametrize("options", [{}, {"penalty": 40.0}, {"max_new": 1.0}, {"min_weight": 12}])
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("with_missing", [False, True])
def test_without_stored_histograms_the_tree_is_the_same(options, categorical, with_missing):
    rng, codes = make_codes(3, n_features=40)  # two blocks
    if with_missing:
        codes[rng.random(codes.shape) < 0.2] = MISSING
    gradient = rng.integers(-30, 30, N_ROWS) + 20 * (codes[1] > 1)
    by_level = grow(DenseCodes(codes), gradient, categorical=categorical, by_level=True, **options)
    stored = grow(DenseCodes(codes), gradient, categorical=categorical, **options)
    assert stored["left"][0] >= 0
    for name, expected in stored.items():
        np.testing.assert_array_equal(by_level[name], expected, name)


def test_dense_and_sparse_codes_grow_the_same_tree():
    rng, codes = make_codes(7, n_features=5)
    gradient = rng.integers(-30, 30, N_ROWS) + 25 * (codes[2] == 3)
    one, other = grow(DenseCodes(codes), gradient), grow(to_sparse(codes), gradient)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_limits_and_penalties_of_a_tree():
    rng, codes = make_codes(1)
    gradient = rng.integers(-30, 30, N_ROWS) + 30 * (codes[0] > 1) + 20 * (codes[1] > 1)
    assert grow(DenseCodes(codes), gradient)["used"].sum() >= 2
    one = grow(DenseCodes(codes), gradient, max_new=1)
    assert one["used"].sum() == 1
    assert len(one["left"]) > 1
    assert len(grow(DenseCodes(codes), gradient, penalty=1e9)["left"]) == 1


def test_categories_are_split_by_their_mean_gradient():
    _, codes = make_codes(2, n_features=1)
    gradient = np.array([10, -10, 8, -8])[codes[0]]
    tree = grow(DenseCodes(codes), gradient, categorical=True)
    goes = [bool(goes_left(np.int64(code), tree["words"][0])) for code in range(4)]
    assert goes == [False, True, False, True]


def test_sums_of_trees():
    # two trees: a threshold over a set of categories, and a single leaf
    left = np.array([1, -1, 3, -1, -1, -1])
    feature = np.array([0, 0, 1, 0, 0, 0])
    threshold = np.array([1.5, np.inf, np.inf, np.inf, np.inf, np.inf])
    missing_left = np.array([True, False, False, False, False, False])
    is_set = np.array([False, False, True, False, False, False])
    words = np.zeros((6, 4), np.uint64)
    words[0] = left_words(0b11, missing_left=True)
    words[2] = left_words(0b101, missing_left=False)
    value = np.array([0.0, 1.0, 0.0, 10.0, 100.0, 0.5])
    roots = np.array([0, 5])
    X = np.array([[1.0, 0.0], [2.0, 2.0], [2.0, 1.0], [np.nan, 1.0], [2.0, np.nan]])
    out = np.full(5, 1000.0)
    nodes = (feature, threshold, missing_left, is_set, words, left, value, roots)
    add_trees_raw(X, *nodes, 0, 5, out)
    assert out.tolist() == [1001.5, 1010.5, 1100.5, 1001.5, 1100.5]
    codes = np.where(np.isnan(X.T), MISSING, X.T).astype(np.uint8)
    out = np.zeros(5)
    rows = np.array([4, 0, 2], np.uint32)
    add_trees_binned(codes, feature, words, left, value, roots, rows, 0, 3, out)
    assert out.tolist() == [1.5, 0.0, 100.5, 0.0, 100.5]


def fit_small(codes, target, loss, n_outputs, n_rounds, *, train=None, rate=0.5):
    train = np.arange(N_ROWS) if train is None else train
    held = np.setdiff1d(np.arange(N_ROWS), train)
    d, weight = len(codes), np.ones(N_ROWS)
    raw, trees = (
        np.zeros((n_outputs, N_ROWS)),
        room_for_trees(n_rounds * n_outputs, 2 ** (DEPTH + 1)),
    )
    columns = shape_of_tree(DenseCodes(codes))
    rows = (train.astype(np.uint32), held.astype(np.uint32), train.astype(np.uint32))
    boost_rounds(
        columns.codes, (columns.shape, np.arange(d)), target,
        (weight, weight.astype(np.uint32), 1.0, 1.0, float(len(train)), 1.0), rows, loss,
        (DEPTH, 5, rate, 0.0, False, 0.0, True, np.inf),
        (raw, np.zeros(d, np.bool_), np.zeros(d), np.array([np.inf, 0.0, np.inf])),
        columns.buffers(N_ROWS, DEPTH), trees,
        (np.empty(n_rounds), np.empty((n_rounds, len(held))), True),
    )  # fmt: skip
    gains = np.zeros(d)
    inner = inner_nodes(trees)
    np.add.at(gains, trees[2][inner], trees[4][inner])
    return raw, gains


def test_a_round_of_small_trees_moves_each_leaf_to_its_mean():
    rng, codes = make_codes(3)
    target = 5.0 * (codes[1] > 1) + rng.normal(size=N_ROWS)
    raw, gains = fit_small(codes, target, SQUARED, 1, 1)
    for value in np.unique(raw):
        leaf = raw[0] == value
        assert leaf.sum() >= 5
        assert value == pytest.approx(0.5 * target[leaf].mean())
    assert gains.argmax() == 1


@pytest.mark.parametrize(("loss", "n_outputs"), [(SQUARED, 1), (LOGISTIC, 1), (MULTINOMIAL, 3)])
def test_small_trees_fit_and_predict_held_out_rows(loss, n_outputs):
    rng, codes = make_codes(4)
    n_classes = 3 if loss == MULTINOMIAL else 2
    target = np.minimum(codes[0], n_classes - 1).astype(float)
    train = rng.permutation(N_ROWS)[:45]
    raw, gains = fit_small(codes, target, loss, n_outputs, 12, train=train)
    held = np.setdiff1d(np.arange(N_ROWS), train)
    if loss == MULTINOMIAL:
        found = raw.argmax(axis=0)
    else:
        found = raw[0] > (0.5 if loss == SQUARED else 0.0)
    assert (found[held] == target[held]).mean() > 0.9
    assert gains[0] > 10 * gains[1:].max()
