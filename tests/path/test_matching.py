from __future__ import annotations

import pytest

from secateur.exceptions import ParameterError
from secateur.path import Score, SelectionPath, Step, StopReason
from secateur.path.comparing import matched_steps, step_of_size


def path_of(sizes, penalties=None, scores=None):
    steps = [
        Step.of(
            range(size),
            penalty=float("nan") if penalties is None else penalties[k],
            score=None if scores is None else Score.of([scores[k]], origin="inner"),
        )
        for k, size in enumerate(sizes)
    ]
    return SelectionPath(steps, StopReason.FINISHED, [f"f{j}" for j in range(99)], "demo")


def test_a_grid_that_both_went_through_matches_by_control():
    path = path_of([1, 4, 9], penalties=[0.3, 0.2, 0.1])
    other = path_of([2, 2, 30, 31], penalties=[0.3, 0.2, 0.1, 0.05])
    assert matched_steps(path, other) == (0, 1, 2)


def test_grids_of_different_values_match_by_size():
    path = path_of([1, 4, 9], penalties=[0.3, 0.2, 0.1])
    other = path_of([1, 3, 6, 10], penalties=[0.4, 0.21, 0.11, 0.05])
    assert matched_steps(path, other) == (0, 1, 3)


def test_one_penalty_for_all_steps_is_no_grid():
    path = path_of([1, 2, 3], penalties=[0.1] * 3)
    other = path_of([2, 3, 4], penalties=[0.1] * 3)
    assert matched_steps(path, other) == (0, 0, 1)


def test_of_two_sizes_as_near_the_smaller_one_stands_in():
    assert step_of_size(path_of([2, 4]), 3) == 0


def test_of_equal_sizes_the_best_score_stands_in_or_the_last():
    assert step_of_size(path_of([2, 2, 2], scores=[0.3, 0.1, 0.2]), 2) == 1
    assert step_of_size(path_of([2, 2, 2]), 2) == 2


def test_equal_sizes_keep_their_place_among_each_other():
    path, other = path_of([2, 2, 2, 5]), path_of([1, 2, 2, 2, 2, 2, 5])
    assert matched_steps(path, other) == (1, 3, 5, 6)


def test_a_path_without_steps_stands_for_nothing():
    assert matched_steps(path_of([]), path_of([1])) == ()
    with pytest.raises(ParameterError, match="without steps"):
        matched_steps(path_of([1]), path_of([]))
