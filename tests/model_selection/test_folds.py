from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from secateur.data.table import Fold, all_rows
from secateur.data.target import Target, read_target
from secateur.exceptions import ParameterError
from secateur.model_selection.folds import draw_folds, hold_out, is_drawn, read_folds


def numbers(n: int) -> Target:
    return read_target(np.arange(n, dtype=float), target_type="regression")


def classes(*counts: int) -> Target:
    labels = np.repeat(np.arange(len(counts)), counts)
    return read_target(np.random.default_rng(0).permutation(labels), target_type="classification")


def assert_parts(fold: Fold, n: int) -> None:
    np.testing.assert_array_equal(np.sort(np.concatenate(fold)), np.arange(n))


@pytest.mark.parametrize(
    ("n", "expected"), [(39, 0), (40, 5), (2000, 5), (2001, 3), (5000, 3), (5001, 1)]
)
def test_default_number_of_folds_goes_by_the_rows(n, expected):
    assert len(draw_folds(numbers(n), None, random_state=0)) == expected


@pytest.mark.parametrize("cv", [None, 1, 2, 10])
@pytest.mark.parametrize("few", [1, 2, 3])
def test_every_class_trains_in_every_fold(few, cv):
    target = classes(100, few, 30, few)
    folds = draw_folds(target, cv, random_state=1)
    assert len(folds) == (5 if cv is None else cv)
    for fold in folds:
        assert_parts(fold, 130 + 2 * few)
        assert len(np.unique(target.values[fold.train])) == 4
    tested = np.concatenate([fold.test for fold in folds])
    if len(folds) > 1:
        assert len(tested) == (130 if few == 1 else 130 + 2 * few)


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9])
def test_every_class_trains_beside_a_held_out_part(fraction):
    target = classes(40, 2, 1)
    for seed in range(10):
        fold = hold_out(target, fraction, seed)
        assert set(target.values[fold.train]) == {0, 1, 2}


def test_classes_of_one_row_each_are_drawn_all_the_same():
    folds = draw_folds(classes(*[1] * 50), None, random_state=0)
    assert [len(fold.test) for fold in folds] == [10] * 5


def test_a_class_without_rows_does_not_count():
    target = Target(np.repeat([0.0, 2.0], 50), np.array(["a", "b", "c"]))
    assert len(draw_folds(target, None, random_state=0)) == 5


@pytest.mark.parametrize("cv", [2, 3, 7])
def test_every_row_is_tested_once_and_folds_are_stratified(cv):
    target = classes(50, 30, 21)
    folds = draw_folds(target, cv, random_state=3)
    for fold in folds:
        assert_parts(fold, 101)
        counts = np.bincount(target.values[fold.test].astype(int), minlength=3)
        assert (np.abs(counts - np.array([50, 30, 21]) / cv) <= 1.0).all()
    test_rows = np.concatenate([fold.test for fold in folds])
    np.testing.assert_array_equal(np.sort(test_rows), np.arange(101))


def test_folds_depend_on_the_seed_only():
    a, b, c = (draw_folds(numbers(60), 3, random_state=seed)[0].test for seed in (1, 1, 2))
    assert a.tolist() == b.tolist() != c.tolist()


def test_no_folds_and_one_held_out_part():
    assert draw_folds(numbers(100), 0, random_state=0) == []
    (fold,) = draw_folds(numbers(100), 1, random_state=0)
    assert len(fold.test) == 20


@pytest.mark.parametrize("cv", [-1, 2.5, "five", True])
def test_what_is_no_number_of_folds(cv):
    with pytest.raises(ParameterError, match="'cv' must be None"):
        draw_folds(numbers(50), cv, random_state=0)


def test_more_folds_than_rows():
    with pytest.raises(ParameterError, match="Got 6 folds for 5 rows"):
        draw_folds(numbers(5), 6, random_state=0)


@pytest.mark.parametrize("n", [2, 3, 10, 57, 1000])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.37, 0.5, 0.8, 0.99])
def test_held_out_part_has_its_share(n, fraction):
    fold = hold_out(numbers(n), fraction, 0)
    assert_parts(fold, n)
    assert len(fold.test) == min(max(1, round(fraction * n)), n - 1)


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.7])
def test_held_out_part_takes_from_all_classes(fraction):
    target = classes(120, 60, 20)
    fold = hold_out(target, fraction, 5)
    counts = np.bincount(target.values[fold.test].astype(int), minlength=3)
    assert (np.abs(counts - fraction * np.array([120, 60, 20])) <= 1.0).all()


def test_one_row_trains():
    fold = hold_out(numbers(1), 0.5, 0)
    assert fold.train.tolist() == [0]
    assert fold.test.size == 0
    assert_parts(all_rows(4), 4)
    assert all_rows(4).test.size == 0


def test_who_draws():
    assert all(is_drawn(cv) for cv in (None, 5, "five", 2.5))
    assert not any(is_drawn(cv) for cv in (KFold(3), [([0], [1])], iter(())))


def test_folds_of_a_splitter_are_its_own():
    target = classes(30, 20)
    splitter = StratifiedKFold(4, shuffle=True, random_state=1)
    own = read_folds(splitter, target, np.arange(50))
    expected = splitter.split(np.zeros(50), target.values)
    for fold, (train, test) in zip(own, expected, strict=True):
        np.testing.assert_array_equal(fold.train, train)
        np.testing.assert_array_equal(fold.test, test)


def test_rows_that_are_left_out_are_left_out_of_folds():
    kept = np.array([1, 2, 5, 6, 9])
    (fold,) = read_folds([(np.arange(6), np.arange(6, 10))], numbers(10), kept)
    assert kept[fold.train].tolist() == [1, 2, 5]
    assert kept[fold.test].tolist() == [6, 9]


def test_folds_as_masks_lists_and_numbers_from_the_end():
    mask = np.arange(10) < 7
    for pair in ((mask, ~mask), (list(range(7)), [-3, -2, -1]), (range(7), (9, 8, 7))):
        (fold,) = read_folds([pair], numbers(10), np.arange(10))
        assert fold.train.tolist() == list(range(7))
        assert fold.test.tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("folds", "match"),
    [
        ([], "at least one fold"),
        ([([0, 1], [1, 2])], "one part of a fold"),
        ([([0, 0], [2])], "one part of a fold"),
        ([([0, 1], [])], "Got none in fold 0"),
        ([([0, 1], [99])], "from 0 to 9"),
        ([([0.5], [1])], "from 0 to 9"),
        ([([[0]], [1])], "from 0 to 9"),
        ([(np.array([True]), [1])], "from 0 to 9"),
        ([([0], [1], [2])], "from 0 to 9"),
        ([7], "from 0 to 9"),
    ],
)
def test_folds_that_are_none(folds, match):
    with pytest.raises(ParameterError, match=match):
        read_folds(folds, numbers(10), np.arange(10))


def test_a_fold_whose_rows_all_weigh_nothing():
    with pytest.raises(ParameterError, match="positive weight"):
        read_folds([([0, 1], [2, 3])], numbers(4), np.array([0, 1]))


def test_groups_reach_a_splitter_that_needs_them():
    from sklearn.model_selection import LeaveOneGroupOut

    target = read_target([0.0, 1.0, 2.0, 3.0], target_type="regression")
    groups = ["a", "a", "b", "b"]
    folds = read_folds(LeaveOneGroupOut(), target, np.arange(4), groups=groups)
    assert [fold.test.tolist() for fold in folds] == [[0, 1], [2, 3]]
