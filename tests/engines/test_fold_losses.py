from __future__ import annotations

import numpy as np
import pytest

from secateur.engines.fold_losses import FoldLosses, pool, with_difference_errors
from secateur.path import SelectionPath, Step, StopReason


def test_pooled_mean_and_standard_error_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    losses = rng.random(60)
    parts = [losses[:10], losses[10:35], losses[35:]]
    score = pool([FoldLosses(p, np.ones(len(p))) for p in parts], origin="held_out", metric="loss")
    assert score.mean == pytest.approx(losses.mean())
    assert score.standard_error == pytest.approx(losses.std() / np.sqrt(60))
    assert score.folds == pytest.approx(tuple(p.mean() for p in parts))
    assert (score.origin, score.metric) == ("held_out", "loss")


def test_weighted_standard_error_by_hand():
    losses, weight = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.5, 1.0])
    mean = (weight * losses).sum() / 3.0
    score = pool([FoldLosses(losses, weight)], origin="inner", metric="loss")
    assert score.mean == pytest.approx(mean)
    assert score.standard_error == pytest.approx(
        np.sqrt((weight**2 * (losses - mean) ** 2).sum()) / 3.0
    )


def test_counted_rows_say_as_much_as_rows_that_are_there():
    losses, counts = np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 2.0])
    counted = pool([FoldLosses(losses, counts, counts=True)], origin="inner", metric="loss")
    repeated = np.repeat(losses, counts.astype(int))
    plain = pool([FoldLosses(repeated, np.ones(6))], origin="inner", metric="loss")
    assert counted.mean == pytest.approx(plain.mean)
    assert counted.standard_error == pytest.approx(plain.standard_error)
    relative = pool([FoldLosses(losses, counts)], origin="inner", metric="loss")
    assert relative.standard_error > counted.standard_error


def test_equal_losses_have_no_standard_error():
    score = pool([FoldLosses(np.full(9, 0.1), np.ones(9))] * 3, origin="inner", metric="loss")
    assert score.standard_error == pytest.approx(0.0, abs=1e-8)


def test_errors_of_differences_are_those_of_the_rows_corrected_for_overlapping_folds():
    rng = np.random.default_rng(0)
    good, bad = rng.random(30), rng.random(30) + 0.5

    def step(size, losses):
        folds = [FoldLosses(part, np.ones(10)) for part in np.split(losses, 3)]
        score = pool(folds, origin="held_out", metric="loss")
        return Step.of(range(size), score=score, losses=folds)

    steps = [step(1, bad), step(2, good)]
    path = SelectionPath(steps, StopReason.FINISHED, list("ab"), "demo")
    found = with_difference_errors(path)
    naive = (bad - good).std() / np.sqrt(30)
    # three folds: a test row for every two training rows (Nadeau and Bengio, 2003)
    assert found[0].details["difference_error"] == pytest.approx(naive * np.sqrt(1 + 3 / 2))
    assert found[1].details["difference_error"] == 0.0
    unknown = SelectionPath([steps[0], Step.of(range(2))], StopReason.FINISHED, list("ab"), "demo")
    assert with_difference_errors(unknown) is unknown
