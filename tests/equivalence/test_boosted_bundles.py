"""Columns that are added up together give the same model, bit for bit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from equivalence.fitting import assert_same_fit, fit_engine
from equivalence.synthetic_tasks import make_task
from equivalence.test_boosted_lazy import always_tried

import secateur
from secateur.data import binning
from secateur.engines.boosted import grower as whole


@contextmanager
def always_bundled():
    """Join what goes together, however few the rows and however little it saves."""
    with mock.patch.multiple(binning, MIN_BUNDLED_ROWS=1, MIN_SAVED=0.0):
        yield


def few_values(loss="log_loss", **settings):
    """Columns of 0 and 1, of few values and of many; the target needs some of each."""
    task = make_task(loss, n_rows=900, n_features=24, whole=False, **settings)
    X = task.X.copy()
    level = np.digitize(np.nan_to_num(X[:, 3]), [-1.0, -0.3, 0.3, 1.0])
    X[:, 4:9] = level[:, None] == np.arange(5)
    X[:, 9:14] = np.round(X[:, 9:14])
    return replace(task, X=X)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "multinomial"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("cuts", [(), (250, 600)])
def test_the_same_model(loss, lazy, cuts):
    task = few_values(loss, n_rounds=12, lazy=lazy, missing_share=0.02, penalty=0.01)
    with always_tried():
        plain = fit_engine(task, cuts=cuts)
        with always_bundled():
            found = fit_engine(task, cuts=cuts, n_threads=2)
    assert plain.columns.bundles is None
    assert np.count_nonzero(found.columns.bundles.column >= 0) >= 8
    assert all(block.columns.bundles is not None for block in found.blocks)
    assert_same_fit(found, plain)


@pytest.mark.parametrize(
    "settings", [{"subsample": 0.6}, {"weights": "floats"}, {"criterion": "gbfs"}]
)
def test_the_same_model_of_some_rows_and_weights(settings):
    task = few_values(n_rounds=10, lazy=True, penalty=0.01, **settings)
    with always_tried():
        plain = fit_engine(task, held=range(0, 900, 7))
        with always_bundled():
            found = fit_engine(task, held=range(0, 900, 7))
    assert_same_fit(found, plain)


@pytest.mark.parametrize("limit", ["2GB", "100MB"])
def test_the_same_model_from_disk(tmp_path, limit):
    task = few_values()
    frame = pd.DataFrame(task.X, columns=task.names).assign(y=task.target)
    kwargs = {"penalty": 0.01, "max_iter": 8, "random_state": 0, "early_stopping": False}
    plain = secateur.AGBMClassifier(**kwargs).fit(frame[list(task.names)], frame["y"])
    with always_bundled():
        table = secateur.open_table(frame, "y", cache=tmp_path, memory_limit=limit)
        found = secateur.AGBMClassifier(**kwargs).fit(table)
    X = frame[list(task.names)]
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))
    assert found.support_.tolist() == plain.support_.tolist()


@pytest.mark.parametrize("penalty", [0.0005, 0.01])
def test_the_same_common_trees_of_several_tasks(penalty):
    task = few_values()
    tasks = np.arange(len(task.target)) % 4
    kwargs = {"common_trees": True, "group_penalty": penalty, "max_iter": 10, "random_state": 0}
    selectors = [secateur.MultitaskAGBMClassifier(early_stopping=False, **kwargs) for _ in range(2)]
    with always_tried(), mock.patch.object(whole, "MAX_DENSE", 0):
        plain = selectors[0].fit(task.X, task.target, task=tasks)
        with always_bundled():
            found = selectors[1].fit(task.X, task.target, task=tasks)
    np.testing.assert_array_equal(
        found.predict_proba(task.X, task=tasks), plain.predict_proba(task.X, task=tasks)
    )
