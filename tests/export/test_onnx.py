"""Models exported to ONNX predict as the selectors do, by onnxruntime, thresholds included."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import secateur
from secateur.exceptions import InputError, ParameterError
from secateur.export import to_onnx

pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
X[rng.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 4]) ** 2
TWO = np.where(SIGNAL > 1, "yes", "no")
THREE = np.digitize(SIGNAL, [0.3, 1.5]) + 5
COUNTS = rng.poisson(np.exp(np.clip(SIGNAL, -2, 2)))
QUERIES = np.repeat(np.arange(30), 10)

SELECTORS = {
    "two classes": (secateur.AGBMClassifier(penalty=0.01, max_iter=20), TWO),
    "three classes": (secateur.GBFSClassifier(penalty=0.1, max_iter=10), THREE),
    "booleans": (secateur.AGBMClassifier(penalty=0.01, max_iter=5), TWO == "yes"),
    "squared error": (secateur.AGBMRegressor(penalty=0.01, max_iter=20), SIGNAL),
    "poisson": (secateur.AGBMRegressor(loss="poisson", penalty=0.01, max_iter=10), COUNTS),
    "stumps and leaves": (
        secateur.AGBMRegressor(penalty=0.2, max_iter=10, max_depth=1, subsample=0.5), SIGNAL),
    "logistic": (secateur.GraftingClassifier(l1=0.02), TWO),
    "softmax": (secateur.GraftingClassifier(l1=0.02), THREE),
    "linear": (secateur.GraftingRegressor(l1=0.02), SIGNAL),
    "network": (secateur.GraftingRegressor(l1=0.02, model="mlp", random_state=0), SIGNAL),
    "network of classes": (
        secateur.GraftingClassifier(l1=0.05, model="mlp", random_state=0), THREE),
}  # fmt: skip


def run(onnx_model, cells):
    session = runtime.InferenceSession(onnx_model.SerializeToString())
    return session.run(None, {"X": cells})


@pytest.mark.parametrize("name", SELECTORS)
def test_predictions_are_those_of_the_selector(name):
    estimator, y = SELECTORS[name]
    selector = estimator.fit(X, y)
    assert selector.support_.any()
    selected = selector.transform(X)
    found = run(to_onnx(selector), selected)
    if hasattr(selector, "classes_"):
        np.testing.assert_array_equal(found[0], selector.predict(X))
        np.testing.assert_allclose(found[1], selector.predict_proba(X), atol=1e-6)
    else:
        np.testing.assert_allclose(found[0][:, 0], selector.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.slow  # compiles the kernels of ranking
def test_ranker():
    selector = secateur.AGBMRanker(penalty=0.01, max_iter=10)
    selector.fit(X, np.digitize(SIGNAL, [0.3, 1.5]), qid=QUERIES)
    found = run(to_onnx(selector), selector.transform(X))
    np.testing.assert_allclose(found[0][:, 0], selector.predict(X), atol=1e-6)


@pytest.mark.parametrize("max_depth", [1, 4])
@pytest.mark.parametrize("input_type", ["double", "float"])
def test_cells_at_thresholds_do_not_change_sides(input_type, max_depth):
    kind = np.float64 if input_type == "double" else np.float32
    cells = rng.normal(size=(300, 2)).astype(kind)
    selector = secateur.AGBMRegressor(penalty=0.0, max_iter=60, max_depth=max_depth)
    selector.fit(cells, cells[:, 0] * 3 + cells[:, 1])
    assert selector.support_.all()
    rounds = selector._model.ensemble.rounds[: selector.n_iter_]
    splits = [t.threshold[t.left >= 0] for round_ in rounds for t in round_]
    thresholds = np.unique(np.concatenate(splits)).astype(kind)
    assert len(thresholds) > 20
    around = np.concatenate(
        [thresholds, np.nextafter(thresholds, kind(-9)), np.nextafter(thresholds, kind(9))]
    )
    rows = np.column_stack([around, around[::-1]])
    found = run(to_onnx(selector, input_type=input_type), rows)[0][:, 0]
    np.testing.assert_allclose(found, selector.predict(rows), atol=1e-6)
    if max_depth == 1:  # each threshold is one that every row meets
        n = len(thresholds)
        below, above = (around[k * n : (k + 1) * n] for k in (1, 2))
        below, above = (np.column_stack([each, each]) for each in (below, above))
        assert (selector.predict(below) != selector.predict(above)).all()


def test_a_model_without_features_predicts_its_constant():
    selector = secateur.AGBMRegressor(penalty=0.9, max_iter=3)
    with pytest.warns(UserWarning, match="selected no features"):
        selector.fit(X, rng.normal(size=300))
    with pytest.raises(InputError, match="selected no features"):
        to_onnx(selector)
    found = run(to_onnx(make_pipeline(selector)), X)[0][:, 0]
    np.testing.assert_allclose(found, selector.predict(X))


def test_pipeline_with_a_selector_in_the_middle_and_at_its_end():
    whole = np.nan_to_num(X)
    middle = make_pipeline(
        StandardScaler(), secateur.AGBMClassifier(penalty=0.01, max_iter=5), LogisticRegression()
    ).fit(whole, TWO)
    found = run(to_onnx(middle), whole)
    np.testing.assert_array_equal(found[0], middle.predict(whole))
    np.testing.assert_allclose(found[1], middle.predict_proba(whole), atol=1e-6)
    gradients = secateur.FeatureGradientsSelector(random_state=0)
    end = make_pipeline(gradients, secateur.AGBMClassifier(penalty=0.01, max_iter=5))
    end.fit(whole, TWO)
    found = run(to_onnx(end), whole)
    np.testing.assert_allclose(found[1], end.predict_proba(whole), atol=1e-6)


def test_converters_serve_skl2onnx_itself():
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType

    secateur.export.register_onnx_converters()
    selector = secateur.AGBMRegressor(penalty=0.01, max_iter=5).fit(X, SIGNAL)
    opsets = {"": 18, "ai.onnx.ml": 3}
    types = [("X", DoubleTensorType([None, 6]))]
    converted = convert_sklearn(selector, initial_types=types, target_opset=opsets)
    np.testing.assert_allclose(run(converted, X)[0][:, 0], selector.predict(X), atol=1e-6)


def test_names_are_in_the_metadata():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    selector = secateur.AGBMRegressor(penalty=0.01, max_iter=5).fit(frame, SIGNAL)
    entries = {e.key: e.value for e in to_onnx(selector).metadata_props}
    assert json.loads(entries["feature_names"]) == selector.get_feature_names_out().tolist()


def test_errors_say_what_cannot_be_exported():
    frame = pd.DataFrame({"kind": pd.Categorical(np.where(SIGNAL > 1, "a", "b")), "x": X[:, 0]})
    selector = secateur.AGBMRegressor(penalty=0.0, max_iter=5).fit(frame, SIGNAL)
    with pytest.raises(InputError, match=r"Models of categories.*'kind'.*OneHotEncoder"):
        to_onnx(selector)
    gradients = secateur.FeatureGradientsSelector().fit(np.nan_to_num(X), TWO)
    with pytest.raises(InputError, match="cannot be exported"):
        to_onnx(gradients)
    forward = secateur.FeatBoostClassifier().fit(np.nan_to_num(X), TWO)
    with pytest.raises(InputError, match="NeighbourModel"):
        to_onnx(forward)
    with pytest.raises(InputError, match=r"must be a fitted selector. Got LogisticRegression"):
        to_onnx(LogisticRegression())
    with pytest.raises(ParameterError, match="'double' or 'float'"):
        to_onnx(selector, input_type="half")
