"""What must not matter: the order of columns, threads, and what the caller's arrays are."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from contract.registry import (
    INFORMATIVE,
    NAMES,
    InTens,
    estimator_classes,
    fitted,
    having,
    predictions,
    quick,
    small_problem,
)
from sklearn.base import is_classifier

from secateur import FeatureCosts
from secateur.exceptions import GroupTestingWarning

CLASSES = estimator_classes()
# not rankers: their rows come in queries, which other rows change
ROWS_ALONE = [cls for cls in CLASSES if not issubclass(cls, InTens)]


@pytest.mark.parametrize("cls", CLASSES)
def test_permuted_columns_give_the_permuted_support(cls):
    small = small_problem(cls)
    order = np.random.default_rng(5).permutation(len(NAMES))
    # two columns may part a few rows alike, and then the first is taken
    params = {"min_samples_leaf": 25} if "min_samples_leaf" in cls().get_params() else {}
    plain = quick(cls, **params).fit(small.X, small.y)
    moved = quick(cls, **params).fit(small.X[:, order], small.y)
    np.testing.assert_array_equal(moved.support_, plain.support_[order])
    np.testing.assert_array_equal(
        predictions(moved, small.X_new[:, order]), predictions(plain, small.X_new)
    )
    for a, b in zip(plain.path_, moved.path_, strict=True):
        assert order[b.order].tolist() == a.order.tolist()


@pytest.mark.parametrize("cls", having("n_jobs"))
def test_one_thread_equals_two(cls):
    small = small_problem(cls)
    one = quick(cls, n_jobs=1).fit(small.X, small.y)
    two = quick(cls, n_jobs=2).fit(small.X, small.y)
    np.testing.assert_array_equal(predictions(one, small.X_new), predictions(two, small.X_new))
    assert [step.objective for step in one.path_] == [step.objective for step in two.path_]
    assert one.path_.scores.tolist() == two.path_.scores.tolist()


@pytest.mark.parametrize("cls", having("random_state"))
def test_random_state_repeats(cls):
    small = small_problem(cls)
    params = {"subsample": 0.5} if "subsample" in cls().get_params() else {}
    for made in (lambda: 7, lambda: np.random.RandomState(7)):
        first = quick(cls, random_state=made(), **params).fit(small.X, small.y)
        again = quick(cls, random_state=made(), **params).fit(small.X, small.y)
        np.testing.assert_array_equal(first.path_.scores, again.path_.scores)
        expected = predictions(first, small.X_new)
        np.testing.assert_array_equal(predictions(again, small.X_new), expected)


@pytest.mark.parametrize("cls", CLASSES)
def test_global_random_numbers_are_left_alone(cls):
    small = small_problem(cls)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    quick(cls).fit(small.X, small.y)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("cls", having("costs", "feature_groups", "keep"))
def test_what_the_caller_gave_is_untouched(cls):
    small = small_problem(cls)
    X, y, weight = small.X.copy(), small.y.copy(), np.full(len(small.y), 2.0)
    costs, groups, keep = np.arange(1.0, 9.0), list("ppqqrrss"), [0]
    selector = quick(cls, costs=costs, feature_groups=groups, keep=keep)
    predictions(selector.fit(X, y, sample_weight=weight), X)
    np.testing.assert_array_equal(X, small.X)
    np.testing.assert_array_equal(y, small.y)
    assert (weight == 2.0).all()
    assert costs.tolist() == list(range(1, 9))
    assert groups == list("ppqqrrss")
    assert keep == [0]


@pytest.mark.parametrize("cls", having("costs"))
def test_read_only_input_is_fine(cls):
    small = small_problem(cls)
    weight, costs = np.ones(len(small.y)), np.ones(8)
    for array in (small.X, small.y, weight, costs, small.X_new):
        array.flags.writeable = False
    selector = quick(cls, costs=costs).fit(small.X, small.y, sample_weight=weight)
    predictions(selector, small.X_new)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_frame_is_untouched(cls):
    small = small_problem(cls)
    frame = pd.DataFrame(small.X, columns=list(NAMES))
    before = frame.copy()
    predictions(quick(cls).fit(frame, small.y), frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("cls", CLASSES)
def test_constant_and_duplicate_columns_make_no_noise(cls, capfd):
    small = small_problem(cls)
    X = np.column_stack([np.ones(200), small.X, small.X, np.full(200, np.nan), np.zeros(200)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", GroupTestingWarning)  # true of any table this small
        selector = quick(cls).fit(X, small.y)
        predictions(selector, X)
    plain = fitted(cls)
    assert not selector.support_[[0, -2, -1]].any()
    either = selector.support_[1:9] | selector.support_[9:17]
    np.testing.assert_array_equal(either, plain.support_)
    assert selector.support_.sum() == plain.support_.sum()
    np.testing.assert_array_equal(predictions(selector, X), predictions(plain, small.X))
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("cls", ROWS_ALONE)
def test_rows_of_weight_zero_are_no_rows(cls):
    small = small_problem(cls)
    rng = np.random.default_rng(8)
    X = np.vstack([small.X, rng.normal(size=(50, 8)) * 9])
    y = np.concatenate([small.y, rng.permutation(small.y)[:50]])
    kept = np.sort(rng.permutation(250)[:200])
    # the rows that count, in the same order as without the others
    mixed_X, mixed_y, mixed_weight = np.empty_like(X), np.empty_like(y), np.zeros(250)
    mixed_X[kept], mixed_y[kept], mixed_weight[kept] = X[:200], y[:200], 1.0
    rest = np.setdiff1d(np.arange(250), kept)
    mixed_X[rest], mixed_y[rest] = X[200:], y[200:]
    with_zeros = quick(cls).fit(mixed_X, mixed_y, sample_weight=mixed_weight)
    without = fitted(cls)
    np.testing.assert_array_equal(with_zeros.path_.scores, without.path_.scores)
    np.testing.assert_array_equal(
        predictions(with_zeros, small.X_new), predictions(without, small.X_new)
    )


@pytest.mark.parametrize("cls", [cls for cls in having("cv") if cls in ROWS_ALONE])
def test_own_folds_speak_of_all_rows(cls):
    small = small_problem(cls)
    weight = np.ones(200)
    weight[::4] = 0.0
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    some = np.flatnonzero(weight)
    own = [(np.flatnonzero(some < 100), np.flatnonzero(some >= 100))]
    own.append(own[0][::-1])
    with_zeros = quick(cls, cv=folds).fit(small.X, small.y, sample_weight=weight)
    without = quick(cls, cv=own).fit(small.X[some], small.y[some])
    np.testing.assert_array_equal(with_zeros.path_.scores, without.path_.scores)


@pytest.mark.parametrize("cls", [cls for cls in having("penalty") if cls in ROWS_ALONE])
def test_a_weight_of_two_is_a_row_twice(cls):
    small = small_problem(cls)
    weight = np.random.default_rng(2).integers(1, 4, 200)
    weighted = quick(cls, penalty=0.01).fit(small.X, small.y, sample_weight=weight)
    again = np.repeat(np.arange(200), weight)
    repeated = quick(cls, penalty=0.01).fit(small.X[again], small.y[again])
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_allclose(
        predictions(weighted, small.X_new), predictions(repeated, small.X_new), rtol=1e-9
    )


@pytest.mark.parametrize("cls", having("class_weight"))
def test_class_weights_are_row_weights(cls):
    assert is_classifier(cls())
    small = small_problem(cls)
    by_class = quick(cls, short_grid=False, class_weight={0: 3, 1: 1}).fit(small.X, small.y)
    by_row = quick(cls, short_grid=False).fit(
        small.X, small.y, sample_weight=np.where(small.y == 0, 3.0, 1.0)
    )
    expected = predictions(by_row, small.X_new)
    np.testing.assert_array_equal(predictions(by_class, small.X_new), expected)
    plain = quick(cls, short_grid=False).fit(small.X, small.y)
    assert by_class.predict(small.X_new).sum() <= plain.predict(small.X_new).sum()
    few = np.concatenate([np.flatnonzero(small.y == 0), np.flatnonzero(small.y == 1)[:24]])
    balanced = quick(cls, short_grid=False, class_weight="balanced").fit(small.X[few], small.y[few])
    seldom = quick(cls, short_grid=False).fit(small.X[few], small.y[few])
    assert balanced.predict(small.X_new).sum() > seldom.predict(small.X_new).sum()


@pytest.mark.parametrize("cls", having("class_weight"))
def test_class_weights_multiply_row_weights(cls):
    """Also with penalties that count in rows of mean weight: the mean is that of the product."""
    small = small_problem(cls)
    weight = 0.5 + np.random.default_rng(4).random(len(small.y))
    more = {"l2_regularization": 5.0} if "l2_regularization" in cls().get_params() else {}
    by_class = quick(cls, class_weight={0: 1.5, 1: 0.25}, **more)
    by_class.fit(small.X, small.y, sample_weight=weight)
    product = weight * np.where(small.y == 0, 1.5, 0.25)
    by_row = quick(cls, **more).fit(small.X, small.y, sample_weight=product)
    expected = predictions(by_row, small.X_new)
    np.testing.assert_array_equal(predictions(by_class, small.X_new), expected)


@pytest.mark.parametrize("cls", having("costs"))
def test_an_estimator_may_be_fitted_again(cls):
    small = small_problem(cls)
    selector = quick(cls, costs=FeatureCosts(rule=lambda used: np.ones(len(used))))
    selector.fit(small.X[:, :4], small.y)
    selector.fit(small.X, small.y)
    fresh = fitted(cls)
    np.testing.assert_array_equal(selector.support_, fresh.support_)
    assert selector.n_features_in_ == 8
    assert set(np.flatnonzero(selector.support_)) & set(INFORMATIVE)
