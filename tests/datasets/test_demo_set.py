from __future__ import annotations

import numpy as np

from secateur.datasets import load_demo


def test_every_column_has_a_name_a_cost_and_a_group():
    demo = load_demo()
    n_features = demo.X.shape[1]
    assert len(set(demo.feature_names)) == len(demo.costs) == len(demo.feature_groups) == n_features
    assert (demo.costs > 0).all()
    assert set(demo.y) == {"benign", "malignant"}


def test_decoys_hold_the_values_of_the_real_columns_in_another_order():
    demo = load_demo()
    real, decoys = demo.X[:, :30], demo.X[:, demo.decoys]
    np.testing.assert_array_equal(np.sort(real, axis=0), np.sort(decoys, axis=0))
    assert (real != decoys).mean() > 0.9


def test_decoys_are_shuffled_independently_of_each_other():
    demo = load_demo()
    correlation = np.corrcoef(demo.X[:, demo.decoys].T)
    assert np.abs(correlation - np.eye(30)).max() < 0.25


def test_one_measurement_is_one_group_of_one_price():
    demo = load_demo()
    of_radius = [k for k, group in enumerate(demo.feature_groups) if group == "radius"]
    assert [demo.feature_names[k] for k in of_radius] == [
        "mean radius",
        "radius error",
        "worst radius",
    ]
    assert len(set(demo.feature_groups)) == 10 + 30
    assert set(demo.costs[of_radius]) == {1.0}
