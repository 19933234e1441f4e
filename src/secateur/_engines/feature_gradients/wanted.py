"""A search for the penalty whose own subset has a wanted size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from secateur._engines.feature_gradients.field import Field
from secateur._engines.feature_gradients.grid import Ground, paying, with_estimate
from secateur._engines.feature_gradients.search import Found, State, step_of
from secateur.path.step import Step

MOST_TRIALS = 8
"""Penalties that are tried between two of the grid for a wanted number of features."""

NEAR = 0.03
"""A size that is this close to the wanted one, as a share of it, is near enough."""


def trace_wanted(ground: Ground, n_features: int) -> Iterator[Step]:
    """Search the penalty whose own support has the wanted size; the last step has it exactly.

    The best features of a search whose own support is much larger or smaller are poor sets: what
    is redundant depends on how much is in. So penalties are halved in until the size is near, and
    only then the last few are added or taken away, in the order of v.
    """
    field = ground.field()
    best: Step | None = None
    for step in _approach(ground, field, n_features):
        yield with_estimate(field, ground.params, step)
        if best is None or _miss(step, n_features) < _miss(best, n_features):
            best = step
    if best is not None and best.n_features != n_features:
        yield with_estimate(field, ground.params, _exactly(field, best, n_features))


def _approach(ground: Ground, field: Field, n_features: int) -> Iterator[Step]:
    """Penalties from dear to cheap until the wanted size is passed, then between the last two.

    From the dear side: at high orders the same size may come again at a far cheaper penalty, made
    of noise that is all in while what matters is held at a level below it.
    """
    near = max(0, int(NEAR * n_features))
    dear = cheap = 0.0
    for penalty in paying(ground, field):
        step = ground.settle(field, penalty)
        yield step
        if _miss(step, n_features) <= near:
            return
        dear, cheap = cheap, penalty
        if step.n_features > n_features:
            break
    for _ in range(MOST_TRIALS if dear > 0.0 else 0):
        penalty = float(np.sqrt(dear * cheap))
        step = ground.settle(field, penalty)
        yield step
        if _miss(step, n_features) <= near:
            return
        dear, cheap = (dear, penalty) if step.n_features > n_features else (penalty, cheap)


def _miss(step: Step, n_features: int) -> int:
    return abs(step.n_features - n_features)


def _exactly(field: Field, step: Step, n_features: int) -> Step:
    """The first so many by v; of groups as many as fit."""
    found: Found = step.model
    v = field.units.shifted(found.v, n_features)
    state = State(v, step.objective, int(step.details["epoch"]))
    exact = step_of(field.units, state, step.control, found.n_features)
    return replace(exact, model=found)
