from __future__ import annotations

import numpy as np
import pytest

from secateur import AGBMClassifier, GBFSRegressor
from secateur.exceptions import ParameterError
from secateur.model_selection.folds import read_seed
from secateur.selectors.parameters import read_penalty

MAX_PENALTY = {"agbm": AGBMClassifier._max_penalty, "gbfs": GBFSRegressor._max_penalty}


def test_one_penalty_of_any_type_of_number():
    for value in (0, 0.25, np.float32(0.25), np.int64(0)):
        read = read_penalty("penalty", value, MAX_PENALTY["agbm"])
        assert isinstance(read, float)
        assert read == value


def test_grids_fall_and_have_no_doubles():
    for grid in ([0.1, 0.3, 0.1], (0.1, 0.3), np.array([0.1, 0.3]), {0.3, 0.1}):
        assert read_penalty("penalty", grid, MAX_PENALTY["agbm"]) == [0.3, 0.1]


def test_auto_is_none():
    assert read_penalty("penalty", "auto", MAX_PENALTY["gbfs"]) is None


@pytest.mark.parametrize("value", [1.0, 2.0, [0.1, 1.0]])
def test_shares_are_below_one(value):
    with pytest.raises(ParameterError, match="'penalty' must be a number >= 0 and < 1"):
        read_penalty("penalty", value, MAX_PENALTY["agbm"])
    assert read_penalty("penalty", value, MAX_PENALTY["gbfs"])


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "much", None, ["auto"], [], [None], True])
@pytest.mark.parametrize("criterion", ["gbfs", "agbm"])
def test_what_is_no_penalty(value, criterion):
    with pytest.raises(ParameterError, match=r"'penalty' must .* Got .* Use 'auto'"):
        read_penalty("penalty", value, MAX_PENALTY[criterion])


def test_seeds():
    assert read_seed(3) == read_seed(3) == read_seed(np.random.RandomState(3))
    assert read_seed(3) != read_seed(4)
    with pytest.raises(ParameterError, match="'random_state' must be"):
        read_seed("three")
