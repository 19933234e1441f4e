from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from secateur.data.costs import FeatureCosts
from secateur.data.frames import read_table
from secateur.data.table import Problem
from secateur.data.target import read_target


def make():
    table = read_table(pd.DataFrame({"a": [1, 2, 3], "b": [4.0, None, 6.0]}))
    return Problem(
        table=table,
        target=read_target([0, 1, 0], target_type="classification"),
        weight=np.arange(1.0, 4.0),
        cost_model=FeatureCosts({"a": 5}).bind(("a", "b")),
        target_type="classification",
    )


def test_a_problem_knows_its_size():
    problem = make()
    assert (problem.n_rows, problem.table.n_features) == (3, 2)


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
