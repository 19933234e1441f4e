"""Penalties of long tables are searched on a sample of the rows; the model is of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from secateur import AGBMClassifier, AGBMRegressor, GBFSRegressor, open_table
from secateur.engines.boosted import search

N_ROWS, MOST = 8_000, 2_000


@pytest.fixture
def samples(monkeypatch):
    """The numbers of rows of the samples that are taken."""
    found, original = [], search.BoostedData.part
    monkeypatch.setattr(search, "SEARCH_ROWS", MOST)
    monkeypatch.setattr(
        search.BoostedData, "part", lambda data, rows: found.append(rows) or original(data, rows)
    )
    return found


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 12))
    return X, 3.0 * X[:, 2] + 2.0 * X[:, 7] * (X[:, 4] > 0) + rng.normal(size=N_ROWS)


def test_the_search_has_a_sample_and_the_model_all_rows(samples):
    X, y = problem()
    selector = AGBMRegressor(random_state=0).fit(X, y)
    assert set(selector.get_support(indices=True)) >= {2, 4, 7}
    assert selector.get_support().sum() <= 5
    assert [len(rows) for rows in samples] == [MOST]
    assert len(np.unique(samples[0])) == MOST
    ensemble = selector._model.ensemble
    assert ensemble.baseline[0] == pytest.approx(y.mean(), abs=1e-9)


def test_a_table_on_disk_has_the_same_sample(samples):
    X, y = problem()
    memory = AGBMRegressor(random_state=0).fit(X, y)
    disk = AGBMRegressor(random_state=0).fit(open_table(X, y, random_state=0))
    assert samples[0].tolist() == samples[1].tolist()
    assert [s.support.tolist() for s in disk.path_] == [s.support.tolist() for s in memory.path_]
    np.testing.assert_array_equal(disk.predict(X), memory.predict(X))


def test_rare_classes_are_in_the_sample(samples):
    X, y = problem()
    classes = (y > 0).astype(int)
    classes[::200] = 2
    classes[7::1000] = 3
    AGBMClassifier(random_state=0).fit(X, classes)
    drawn = np.bincount(classes[samples[0]])
    assert drawn[2] == search.CLASS_ROWS + 8  # of the validation rows all
    assert drawn[3] == 8
    assert drawn[0] == pytest.approx(0.25 * (classes == 0).sum(), abs=2)


@pytest.mark.parametrize(
    "params", [{"penalty": 0.01}, {"cv": 3}, {"cv": 1}, {"penalty": [0.1, 0.01]}]
)
def test_what_is_asked_for_has_all_rows(params, samples):
    X, y = problem()
    AGBMRegressor(random_state=0, **params).fit(X, y)
    assert samples == []


def test_a_penalty_that_is_for_all_rows_is_searched_on_all(samples):
    """That of GBFS is compared with the loss summed over the rows."""
    X, y = problem()
    GBFSRegressor(random_state=0).fit(X, y)
    assert samples == []


def test_tables_whose_sample_would_be_large_have_all_rows(samples, monkeypatch):
    monkeypatch.setattr(search, "SAMPLE_CELLS", 11 * MOST)
    X, y = problem()
    AGBMRegressor(random_state=0).fit(X, y)
    assert samples == []
