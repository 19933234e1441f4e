"""Whether two fitted selectors of boosted trees are one and the same, bit for bit."""

from __future__ import annotations

import numpy as np


def ensembles_of(model) -> list:
    """The ensembles behind a model of one task or of several."""
    if hasattr(model, "models"):
        return [found for each in model.models for found in ensembles_of(each)]
    return [model.ensemble]


def assert_same_trees(one, other) -> None:
    assert np.array_equal(one.baseline, other.baseline)
    assert len(one.rounds) == len(other.rounds)
    for trees, others in zip(one.rounds, other.rounds, strict=True):
        for tree, its_twin in zip(trees, others, strict=True):
            for name in tree._fields:
                mine, its = getattr(tree, name), getattr(its_twin, name)
                np.testing.assert_array_equal(mine, its, err_msg=name, strict=True)


def assert_same_selector(one, other) -> None:
    """The same path, scores, objectives and trees, to the last bit."""
    assert len(one.path_) == len(other.path_)
    for step, its_step in zip(one.path_, other.path_, strict=True):
        np.testing.assert_array_equal(step.order, its_step.order)
        np.testing.assert_array_equal(step.weight, its_step.weight)
        assert step.objective == its_step.objective
        assert step.cost == its_step.cost
        assert step.supports.keys() == its_step.supports.keys()
        for task, features in step.supports.items():
            np.testing.assert_array_equal(features, its_step.supports[task])
        assert (step.score is None) == (its_step.score is None)
        if step.score is not None:
            assert step.score.mean == its_step.score.mean
        pairs = zip(ensembles_of(step.model), ensembles_of(its_step.model), strict=True)
        for mine, its in pairs:
            assert_same_trees(mine, its)
    np.testing.assert_array_equal(one.support_, other.support_)
