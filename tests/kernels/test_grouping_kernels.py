"""Sums of groups as codes, and what a split on one gains: the kernels are their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from equivalence.fitting import make_table, naive_codes
from equivalence.problems import tasks
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.boosted import Table
from reference.group_testing import codes_of, cut_up, pseudo_feature

from secateur._kernels.group_tests import TEST_BINS, code_sums, group_gains, group_histograms
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.target import whole_weights
from secateur.engines.boosted.group_design import GroupTesting
from secateur.engines.boosted.groups import make_plan, sum_groups


@settings(max_examples=60)
@given(st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=60), st.booleans())
def test_codes_of_sums(sums, weighted):
    values = np.array(sums, np.int32)
    weight = whole_weights(np.linspace(0.5, 2.0, len(sums)) if weighted else np.ones(len(sums)))
    codes = np.empty(len(sums), np.uint8)
    code_sums(values, weight, float(weight.sum()), codes)
    np.testing.assert_array_equal(codes, codes_of(values.astype(float), weight))
    order = np.argsort(values, kind="stable")
    assert (np.diff(codes[order].astype(int)) >= 0).all()
    assert codes.max() < TEST_BINS


@settings(max_examples=25)
@given(tasks(categories=False), st.booleans(), st.sampled_from([1, 2]))
def test_every_group_has_the_sum_of_its_features(task, sparse, n_threads):
    testing = GroupTesting(expected_features=2, leaf_size=1, group_size=2, seed=3)
    with Threads(n_threads) as threads:
        columns = bin_table(make_table(task, sparse=sparse), task.weight, threads=threads)
        groups = sum_groups(columns, task.weight, testing, threads)
    if groups is None:
        assert not make_plan(columns, testing).design.has_tests
        return
    plan, codes = groups
    design = plan.design
    table = Table(*naive_codes(task), columns.is_categorical, task.target, task.weight)
    lowest = [plan.members[a:b].tolist() for a, b in zip(plan.cut, plan.cut[1:], strict=False)]
    for level in range(design.entry, design.leaf + 1):
        n_below = 2 ** (design.leaf - level)
        for x in range(len(lowest) // n_below):
            below = lowest[x * n_below : (x + 1) * n_below]
            group = [j for each in below for j in each]
            expected = pseudo_feature(table, group)
            np.testing.assert_array_equal(codes[plan.first(level) + x], expected)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 64])
def test_halves_end_where_the_twin_ends_them(n):
    from secateur.engines.boosted.group_design import GroupDesign
    from secateur.engines.boosted.groups import _cuts

    design = GroupDesign(n_features=n, n_parts=1, n_partitions=1, entry=1, leaf=3)
    parts = cut_up(list(range(n)), 3)
    assert np.diff(_cuts(design)).tolist() == [len(part) for part in parts]


def test_histograms_and_gains():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, TEST_BINS, (7, 200)).astype(np.uint8)
    gradient, rows = rng.integers(-50, 50, 200), np.sort(rng.permutation(200)[:120])
    packed = (gradient[rows].astype(np.int64) << 32) + 1
    groups = np.array([6, 0, 3, 3, 1])
    found = np.empty((5, TEST_BINS), np.int64)
    group_histograms(codes, rows.astype(np.uint32), packed, False, groups, 0, 5, found)
    total = int(packed.sum())
    gains = np.empty(5)
    group_gains(found, total, (1.0, 1.0), np.int64(10), 0, 5, gains)
    for f, group in enumerate(groups):
        mine = codes[group, rows]
        expected = [packed[mine == b].sum() for b in range(TEST_BINS)]
        np.testing.assert_array_equal(found[f], expected)
        best = -1.0
        g = gradient[rows].astype(float)
        for b in range(TEST_BINS - 1):
            left = mine <= b
            if min(left.sum(), (~left).sum()) >= 10:
                score = g[left].sum() ** 2 / left.sum() + g[~left].sum() ** 2 / (~left).sum()
                best = max(best, score - g.sum() ** 2 / len(g))
        assert gains[f] == pytest.approx(best)
    group_gains(found, total, (1.0, 1.0), np.int64(100), 0, 5, gains)
    assert (gains == -1.0).all()
