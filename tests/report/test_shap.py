"""The page shows SHAP values of boosted trees where shap is installed."""

from __future__ import annotations

import numpy as np
import pytest

import secateur
from secateur.export import plain_models
from secateur.report import Entry, Evidence, gather_evidence, page

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
y = 3 * X[:, 1] + X[:, 3]
TITLE = "SHAP values of the selected features"


def gathered(selector):
    path = selector.path_
    return gather_evidence(X, y, path, target_type="regression", selector=selector)


def test_the_page_lists_features_by_the_size_of_their_values():
    pytest.importorskip("shap")
    selector = secateur.AGBMRegressor(penalty=0.01, max_iter=10).fit(X, y)
    evidence = gathered(selector)
    assert set(evidence.shap) == set(np.flatnonzero(selector.support_))
    assert max(evidence.shap, key=evidence.shap.get) == 1
    assert Evidence.from_json(evidence.to_json()).shap == evidence.shap
    shown = page([Entry("A", selector.path_, selector.selection_, evidence)])
    assert TITLE in shown
    assert shown.index(f">{evidence.shap[1]:.3g}<") < shown.index(f">{evidence.shap[3]:.3g}<")


def test_other_models_and_a_missing_library_show_nothing(monkeypatch):
    linear = secateur.GraftingRegressor(l1=0.02).fit(X, y)
    boosted = secateur.AGBMRegressor(penalty=0.01, max_iter=5).fit(X, y)
    assert not gathered(linear).shap
    monkeypatch.setattr(plain_models, "find_spec", lambda name: None)
    evidence = gathered(boosted)
    assert not evidence.shap
    assert '"shap"' not in evidence.to_json()
    assert TITLE not in page([Entry("A", boosted.path_, boosted.selection_, evidence)])
