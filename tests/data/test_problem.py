from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from secateur.data.costs import FeatureCosts
from secateur.data.frames import read_table
from secateur.data.problem import Problem
from secateur.data.target import read_target
from secateur.exceptions import InputError


def make(n_weights=3, n_targets=3, costs=("a", "b")):
    table = read_table(pd.DataFrame({"a": [1, 2, 3], "b": [4.0, None, 6.0]}))
    return Problem(
        table=table,
        target=read_target(np.arange(n_targets) % 2, target_type="classification"),
        weight=np.arange(1.0, n_weights + 1),
        cost_model=FeatureCosts({"a": 5}).bind(costs),
        target_type="classification",
    )


def test_a_problem_knows_its_size_and_names():
    problem = make()
    assert (problem.n_rows, problem.n_features) == (3, 2)
    assert problem.names == ("a", "b")


def test_take_takes_rows_of_everything_but_prices():
    problem = make()
    fold = problem.take(np.array([2, 0]))
    assert fold.n_rows == 2
    np.testing.assert_array_equal(fold.table.block(0, 2), [[3, 6], [1, 4]])
    np.testing.assert_array_equal(fold.target.values, [0, 0])
    assert fold.target.n_classes == 2
    np.testing.assert_array_equal(fold.weight, [3, 1])
    assert fold.cost_model is problem.cost_model
    assert fold.target_type == "classification"


def test_a_problem_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().target_type = "regression"


@pytest.mark.parametrize("sizes", [{"n_weights": 2}, {"n_targets": 4}])
def test_rows_must_agree(sizes):
    with pytest.raises(InputError, match="inconsistent numbers of samples"):
        make(**sizes)


def test_prices_must_be_of_the_features():
    with pytest.raises(InputError, match=r"table's 2 features. Got 3"):
        make(costs=("a", "b", "c"))
