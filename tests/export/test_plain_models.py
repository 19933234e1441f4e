"""Linear models as scikit-learn's own, trees for SHAP, and models stored by skops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import secateur
from secateur.exceptions import InputError
from secateur.export import to_sklearn, to_tree_dict

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 6))
SIGNAL = X[:, 1] + X[:, 4] ** 2
TWO = np.where(SIGNAL > 1, "yes", "no")
THREE = np.digitize(SIGNAL, [0.3, 1.5])


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
def test_linear_classifier_as_that_of_scikit_learn(y):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    selector = secateur.GraftingClassifier(l1=0.02).fit(frame, y)
    model = to_sklearn(selector)
    selected = selector.transform(frame)
    assert model.feature_names_in_.tolist() == list(selected.columns)
    np.testing.assert_array_equal(model.predict(selected), selector.predict(frame))
    shares = model.predict_proba(selected)
    np.testing.assert_allclose(shares, selector.predict_proba(frame), atol=1e-12)


def test_linear_regressor_as_that_of_scikit_learn():
    selector = secateur.GraftingRegressor(l1=0.02).fit(X, SIGNAL)
    model = to_sklearn(selector.reduced())
    np.testing.assert_allclose(model.predict(selector.transform(X)), selector.predict(X))


def test_trees_are_not_linear_and_linear_models_have_no_trees():
    boosted = secateur.AGBMRegressor(penalty=0.01, max_iter=3).fit(X, SIGNAL)
    with pytest.raises(InputError, match=r"converts linear models. Got a BoostedModel"):
        to_sklearn(boosted)
    linear = secateur.GraftingRegressor(l1=0.02).fit(X, SIGNAL)
    with pytest.raises(InputError, match=r"converts boosted trees. Got a LinearModel"):
        to_tree_dict(linear, linear.transform(X))
    with pytest.raises(InputError, match=r"selected columns. Got 6. Give selector.transform"):
        to_tree_dict(boosted, X)


BOOSTED = {
    "regression": (secateur.AGBMRegressor(penalty=0.01, max_iter=15), SIGNAL),
    "two classes": (secateur.AGBMClassifier(penalty=0.01, max_iter=15), TWO),
    "three classes": (secateur.GBFSClassifier(penalty=0.1, max_iter=10), THREE),
}


@pytest.mark.parametrize("name", BOOSTED)
@pytest.mark.parametrize("rows", [200, 20], ids=["all rows", "leaves without rows"])
def test_shap_values_add_up_to_predictions(name, rows):
    shap = pytest.importorskip("shap")
    estimator, y = BOOSTED[name]
    cells = X.copy()
    cells[::7, 1] = np.nan
    selector = estimator.fit(cells, y)
    selected = selector.transform(cells)
    explainer = shap.TreeExplainer(to_tree_dict(selector, selected[:rows]))
    values = explainer.shap_values(selected)
    total = values.sum(axis=1) + explainer.expected_value
    raw = getattr(selector, "decision_function", selector.predict)(cells)
    np.testing.assert_allclose(total, raw, atol=1e-6)
    assert np.abs(values).max() > 0.1


STORED = {
    "boosted": secateur.AGBMClassifier(penalty=0.01, max_iter=5),
    "grid": secateur.AGBMClassifier(max_iter=5, random_state=0),
    "linear": secateur.GraftingClassifier(l1=0.02),
    "network": secateur.GraftingClassifier(l1=0.05, model="mlp", random_state=0),
    "forward": secateur.FeatBoostClassifier(),
    "gradients": secateur.FeatureGradientsSelector(random_state=0),
}


@pytest.mark.parametrize("name", STORED)
def test_skops_stores_selectors_and_asks_to_trust_this_library_alone(name):
    skops = pytest.importorskip("skops.io")
    selector = STORED[name].fit(X, TWO)
    stored = skops.dumps(selector)
    types = skops.get_untrusted_types(data=stored)
    assert types
    assert all(each.startswith("secateur.") for each in types)
    loaded = skops.loads(stored, trusted=types)
    np.testing.assert_array_equal(loaded.transform(X), selector.transform(X))
    if hasattr(selector, "predict"):
        np.testing.assert_array_equal(loaded.predict_proba(X), selector.predict_proba(X))
