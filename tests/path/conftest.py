"""A small path to try things on."""

from __future__ import annotations

import math

import pytest

from secateur.path import Score, SelectionPath, Step, StopReason


@pytest.fixture
def make_path():
    """Give a function that makes a path of given sizes and losses; step k uses features 0..k-1."""

    def make(sizes, losses=None, *, standard_error=0.1, costs=None, n_features=10, **changes):
        losses = [None] * len(sizes) if losses is None else losses
        costs = [math.nan] * len(sizes) if costs is None else costs
        steps = [
            Step.of(range(size), cost=cost, score=_score(loss, standard_error))
            for size, loss, cost in zip(sizes, losses, costs, strict=True)
        ]
        facts = {
            "stop_reason": StopReason.FINISHED,
            "feature_names": [f"f{j}" for j in range(n_features)],
            "algorithm": "demo",
        }
        return SelectionPath(steps, **{**facts, **changes})

    return make


def _score(loss, standard_error):
    return None if loss is None else Score(loss, standard_error, (), "held_out", "log_loss")
