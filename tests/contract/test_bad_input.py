"""Bad input is refused before any work: what is wrong, what was given, what to do."""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from contract.registry import (
    NAMES,
    estimator_classes,
    fitted,
    having,
    in_frame,
    predictions,
    quick,
    small_problem,
    takes_in_fit,
)
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression

from secateur import FeatureCosts
from secateur.exceptions import (
    InputError,
    InputTypeError,
    ParameterError,
    SecateurError,
    UnknownCategoryWarning,
)

CLASSES = estimator_classes()
WORK = ("bin_table", "drive")


@pytest.fixture
def no_work(monkeypatch):
    """Fail the test if a fit begins to work."""

    def begun(*args, **kwargs):
        pytest.fail("work was begun before the input was checked")

    for name, module in list(sys.modules.items()):
        if name.startswith("secateur.selectors"):
            for function in WORK:
                if hasattr(module, function):
                    monkeypatch.setattr(module, function, begun)


def refused(selector, X, y, match, kind=SecateurError, **fit):
    """Fit, and look at the error: its kind, its words, and its form."""
    with pytest.raises(kind, match=match) as caught:
        selector.fit(X, y, **fit)
    message = str(caught.value)
    assert isinstance(caught.value, SecateurError)
    assert isinstance(caught.value, ValueError | TypeError)
    # what was given, also in the words of scikit-learn that its checks ask for
    assert re.search(r"[Gg]ot |\(shape=|X has \d+ features", message)
    assert re.search(r"[.)] [A-Z][^.]+", message), "and what to do"
    assert message.endswith((".", "?"))
    assert not hasattr(selector, "selection_")


def _with(array, place, value):
    changed = np.array(array, dtype=object if value is None else float)
    changed[place] = value
    return changed


BAD_X = {
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D"),
    "three dimensions": (lambda X: X[:, :, None], "found array with dim 3"),
    "a number": (lambda X: 3.0, "Expected 2D array, got scalar"),
    "no rows": (lambda X: X[:0], r"0 sample\(s\)"),
    "no columns": (lambda X: X[:, :0], r"0 feature\(s\)"),
    "infinity": (lambda X: _with(X, (3, 2), np.inf), "contains infinity.*'x2'"),
    "minus infinity": (lambda X: _with(X, (3, 2), -np.inf), "contains infinity"),
    "infinity in a frame": (
        lambda X: pd.DataFrame(_with(X, (3, 2), np.inf), columns=list(NAMES)),
        "contains infinity.*'c'",
    ),
    "infinity in a sparse matrix": (
        lambda X: sp.csr_matrix(_with(X, (3, 2), np.inf)),
        "contains infinity",
    ),
    "complex": (lambda X: X.astype(complex), "Complex data not supported"),
    "text": (lambda X: np.full(X.shape, "a"), "columns of text.*'x0'"),
    "text in a frame": (
        lambda X: pd.DataFrame(X, columns=list(NAMES)).assign(c="word"),
        "columns of text",
    ),
    "dates in a frame": (
        lambda X: pd.DataFrame(X, columns=list(NAMES)).assign(c=pd.Timestamp("2024-01-01")),
        "dates or times",
    ),
    "ragged rows": (lambda X: [[1.0, 2.0], [3.0]], "rows of equal length"),
    "doubled names": (lambda X: pd.DataFrame(X, columns=list("abcdefga")), "names.*must differ"),
    "names and numbers": (
        lambda X: pd.DataFrame(X, columns=[*"abcdefg", 7]),
        "must all be text",
    ),
    "more rows than y": (lambda X: np.vstack([X, X]), "inconsistent numbers of samples"),
}


@pytest.mark.parametrize("case", BAD_X)
@pytest.mark.parametrize("cls", CLASSES)
def test_bad_table(cls, case, no_work):
    small = small_problem(cls)
    spoil, match = BAD_X[case]
    refused(quick(cls), spoil(small.X), small.y, match)


BAD_Y = {
    "none": (lambda y: None, "requires y to be passed"),
    "nan": (lambda y: _with(y, 5, np.nan), "Input y contains NaN.*1 missing"),
    "None inside": (lambda y: _with(y, 5, None), "Input y contains NaN"),
    "infinity": (lambda y: _with(y, 5, np.inf), "Input y contains infinity"),
    "two columns": (lambda y: np.column_stack([y, y]), r"shape \(200, 2\)"),
    "too short": (lambda y: y[:-3], "inconsistent numbers of samples"),
    "empty": (lambda y: y[:0], "inconsistent numbers of samples|0 sample"),
    "complex": (lambda y: y.astype(complex), "Complex data not supported"),
}


def is_bad_for(cls: type, case: str) -> bool:
    """Two columns are two tasks to a multitask estimator, and no mistake."""
    return case != "two columns" or not cls().__sklearn_tags__().target_tags.multi_output


@pytest.mark.parametrize(
    ("cls", "case"), [(cls, case) for cls in CLASSES for case in BAD_Y if is_bad_for(cls, case)]
)
def test_bad_target(cls, case, no_work):
    small = small_problem(cls)
    spoil, match = BAD_Y[case]
    refused(quick(cls), small.X, spoil(small.y), match)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if is_classifier(cls())])
def test_bad_classes(cls, no_work):
    small = small_problem(cls)
    refused(quick(cls), small.X, np.zeros(200), "at least two classes. Got 1 class")
    refused(quick(cls), small.X, small.X[:, 0], "Unknown label type: continuous.*regressor")
    mixed = np.array(["a", 1] * 100, dtype=object)
    refused(quick(cls), small.X, mixed, "a mixture")
    only = (small.y == 0).astype(float)
    refused(quick(cls), small.X, small.y, "positive weight. Got 1 class", sample_weight=only)
    if "class_weight" not in cls().get_params():
        return
    refused(quick(cls, class_weight={9: 1.0}), small.X, small.y, "'class_weight'.*labels of y")
    refused(quick(cls, class_weight={0: -1.0}), small.X, small.y, "'class_weight'.*>= 0")
    refused(quick(cls, class_weight="even"), small.X, small.y, "'class_weight'.*'balanced'")


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if is_regressor(cls())])
def test_text_is_no_number_to_predict(cls, no_work):
    small = small_problem(cls)
    refused(quick(cls), small.X, np.array(["a", "b"] * 100), "numbers for regression")


BAD_WEIGHTS = {
    "negative": (np.r_[-1.0, np.ones(199)], "finite and >= 0. Got -1.0"),
    "nan": (np.r_[np.nan, np.ones(199)], "finite and >= 0. Got nan"),
    "infinite": (np.r_[np.inf, np.ones(199)], "finite and >= 0"),
    "too short": (np.ones(100), "inconsistent numbers of samples"),
    "two columns": (np.ones((200, 2)), "1D array"),
    "zeros": (np.zeros(200), "> 0 for at least one row"),
    "text": (np.array(["a"] * 200), "must hold numbers"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
@pytest.mark.parametrize("cls", CLASSES)
def test_bad_weights(cls, case, no_work):
    small = small_problem(cls)
    weight, match = BAD_WEIGHTS[case]
    refused(quick(cls), small.X, small.y, match, sample_weight=weight)


def _bad_rule(used):
    return np.ones(3)


BAD_COSTS = {
    "negative": ({"costs": [-1.0, *[1.0] * 7]}, "'costs' must be finite and >= 0. Got -1.0"),
    "nan": ({"costs": [np.nan, *[1.0] * 7]}, "'costs' must be finite"),
    "too few": ({"costs": [1.0, 2.0]}, "'costs'.*8"),
    "unknown name": ({"costs": {"bb": 2.0}}, "'costs'.*'bb'"),
    "unknown index": ({"costs": {12: 2.0}}, "'costs'.*12"),
    "text": ({"costs": "cheap"}, "'costs' must"),
    "feature groups too short": (
        {"feature_groups": ["p", "q"]},
        r"'feature_groups' must have one label per feature, 8",
    ),
    "groups of unknown names": ({"feature_groups": {"p": ["zz"]}}, "'feature_groups'.*'zz'"),
    "a matrix of groups lying down": ({"feature_groups": np.eye(2, 8)}, "one row per feature, 8"),
    "keep of unknown names": ({"keep": ["zz"]}, "'keep'.*'zz'"),
    "keep of unknown indices": ({"keep": [99]}, "'keep'.*99"),
    "a rule of the wrong shape": ({"costs": FeatureCosts(rule=_bad_rule)}, "_bad_rule.*shape"),
    "groups twice": (
        {
            "costs": FeatureCosts(feature_groups=list("ppqqrrss")),
            "feature_groups": list("ppqqrrss"),
        },
        "'feature_groups'",
    ),
    "more kept than allowed": ({"keep": [0, 1, 2], "max_features": 2}, "'max_features'.*3. Got 2"),
}


@pytest.mark.parametrize("case", BAD_COSTS)
@pytest.mark.parametrize("cls", having("costs", "feature_groups", "keep", "max_features"))
def test_bad_costs(cls, case, no_work):
    small = small_problem(cls)
    X = pd.DataFrame(small.X, columns=list(NAMES))
    params, match = BAD_COSTS[case]
    refused(quick(cls, **params), X, small.y, match)


BAD_PARAMETERS = {
    "on_interrupt": ["stop", None, 1],
    "on_step": [3, "print"],
    "stopping": [3, "patience", [3]],
    "time_limit": [0, -1.0, np.nan, "long"],
    "penalty": [-1.0, np.nan, np.inf, "high", None, [], [0.1, -1.0], ["auto"], True],
    "group_penalty": [-1.0, 1.0, np.nan, "high", None, [], [0.1, -1.0], ["auto"], True],
    "task_penalty": [-1.0, 1.0, np.nan, "high", None, [], [0.1, 0.1], {"nobody": 0.1}, True],
    "common_trees": [1, "yes", None],
    "search": ["binary", None],
    "expected_features": [0, 2.5, None, "few"],
    "delta": [0.0, 1.0, None],
    "leaf_size": [0, 2.5, None],
    "group_size": [0, 2.5, "large"],
    "learning_rate": [0.0, -0.1, np.inf, "slow"],
    "max_iter": [0, 2.5, None],
    "max_depth": [0, 17, 2.5],
    "max_bins": [1, 256],
    "min_samples_leaf": [0, "few", np.nan],
    "l2_regularization": [-1.0],
    "early_stopping": ["yes", None, 1],
    "validation_fraction": [0.0, 1.0],
    "n_iter_no_change": [0],
    "subsample": [0.0, 1.1],
    "feature_subsample": [0.0, 1.1],
    "max_features": [0, 2.5, "sqrt"],
    "cost_budget": [-1.0, np.nan],
    "leaf": ["median", None],
    "cut": ["beste", 0, 2.5, True],
    "cv": [-1, "five", 2.5, True],
    "random_state": ["a", -1],
    "n_jobs": [0, 1.5],
    "executor": ["tcp://somewhere", 2],
    "verbose": [-1, "loud"],
    "categorical_features": ["a", [99], ["zz"]],
    "loss": ["absolute", None],
    "quantile": [0.0, 1.0],
    "huber_delta": [0.0, -1.0],
    "truncation": [0, 1.5],
    "sigma": [0.0, -1.0],
    "eval_at": [0, 1.5],
    "model": ["quadratic", None],
    "l1": [-1.0, np.nan, np.inf, "high", None, [], [0.1, -1.0], ["auto"], True],
    "l0": [-1.0, np.nan, "high"],
    "l1_costs": [-1.0, np.nan, [1.0, 2.0]],
    "l2_costs": [-1.0, np.nan, [1.0, 2.0]],
    "l1_limit": [0.0, -1.0],
    "l2_limit": [0.0, -1.0],
    "l2": [-1.0, np.inf],
    "max_hidden": [0, 1.5],
    "adjust": ["some", None],
    "retries": [-1, 0.5],
    "standardize": ["yes", None, 1],
    "fit_intercept": ["yes", None, 1],
    "tol": [-1.0, np.nan, np.inf],
    "ranker": ["forest", None, 3, LogisticRegression],
    "evaluator": ["svm", None, 3, LogisticRegression],
    "n_neighbors": [0, 2.5, None],
    "n_candidates": [0, 2.5, None],
    "scoring": ["acuracy", 3],
    "epsilon": [np.nan, np.inf, "small", None],
    "weighting": ["hard", 1, True],
    "reset": ["yes", None, 1],
    "repeats": ["twice", None],
    "importance": ["mean", None],
    "gain_per_cost": ["yes", None, 1],
    "target_type": ["ranking", None],
    "order": [0, 13, 2.5],
    "n_features": [0, 2.5, 9, "all"],
    "multiclass": ["one", None],
    "half_life": [0, -1.0, np.nan, "long"],
    "group_mode": ["firm", None],
    "batch_size": [3, 2.5, None],
    "accumulate": [0, 1.5],
    "max_epochs": [0, 2.5, "many", None],
    "init": [np.nan, "one", [0.0, 1.0], [[0.0] * 8]],
    "for_model": ["forest", None, 3, LogisticRegression],
    "candidates": ["agbmm", "mutual_info", "auto", 3, [], LogisticRegression()],
    "on_answer": [3, "print"],
}


PARAMETERS_OF_CLASSES = [
    (cls, name) for cls in CLASSES for name in BAD_PARAMETERS if name in cls().get_params()
]


@pytest.mark.parametrize(("cls", "name"), PARAMETERS_OF_CLASSES)
def test_bad_parameters(cls, name, no_work):
    small = small_problem(cls)
    for value in BAD_PARAMETERS[name]:
        refused(quick(cls, **{name: value}), small.X, small.y, "must")


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_has_bad_values_above(cls):
    tested_elsewhere = {"costs", "feature_groups", "keep", "class_weight"}
    assert set(cls().get_params()) <= BAD_PARAMETERS.keys() | tested_elsewhere


@pytest.mark.parametrize("cls", having("cv"))
def test_bad_folds(cls, no_work):
    small = small_problem(cls)
    rows = np.arange(200)
    for folds, match in [
        ([], "at least one fold"),
        ([(rows[:50], rows[40:])], "one part of a fold"),
        ([(rows[[0, 0, 1]], rows[5:])], "one part of a fold"),
        ([(rows, rows[:0])], "none in fold 0"),
        ([(rows[:100], rows[100:] + 7)], "row numbers"),
        ([rows], "row numbers"),
        ([(rows[:100] / 2, rows[100:])], "row numbers"),
        (201, "more than the number of rows"),
    ]:
        refused(quick(cls, cv=folds), small.X, small.y, match, kind=ParameterError)


@pytest.mark.parametrize("cls", [cls for cls in having("loss", "quantile") if is_regressor(cls())])
def test_targets_that_a_loss_does_not_have(cls, no_work):
    small = small_problem(cls)
    refused(quick(cls, loss="poisson"), small.X, small.y, "must be >= 0 for the loss 'poisson'")
    refused(quick(cls, loss="quantile"), small.X, small.y, "needs 'quantile'")


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if takes_in_fit(cls, "X_val")])
def test_bad_validation_rows(cls, no_work):
    small = small_problem(cls)
    X_val, y_val = small.X_new, small.y_new
    for fit, match in [
        ({"X_val": X_val}, "must come together"),
        ({"y_val": y_val}, "must come together"),
        ({"sample_weight_val": np.ones(60)}, "must come together"),
        ({"X_val": X_val[:, :3], "y_val": y_val}, "X_val: X has 3 features.*8 features"),
        ({"X_val": X_val, "y_val": y_val[:5]}, "y_val: .*inconsistent numbers of samples"),
        ({"X_val": _with(X_val, (0, 0), np.inf), "y_val": y_val}, "contains infinity"),
    ]:
        refused(quick(cls), small.X, small.y, match, kind=InputError, **fit)
    if is_classifier(cls()):
        match = "labels that the fit knows. Got '9'"
        refused(quick(cls), small.X, small.y, match, X_val=X_val, y_val=y_val * 0 + 9)


# ---- later calls ------------------------------------------------------------------------------


@pytest.fixture(params=having("predict"), ids=lambda cls: cls.__name__)
def predicting(request):
    return fitted(request.param, in_frame), in_frame(small_problem(request.param).X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_other_columns_at_predict_time(predicting):
    selector, frame = predicting
    for method in ("predict", "transform", "predict_proba", "staged_predict"):
        if hasattr(selector, method):
            check_other_columns(getattr(selector, method), selector, frame)


def check_other_columns(call, selector, frame):
    moved = frame[list(NAMES[::-1])]
    with pytest.raises(InputError, match="must be in the same order") as caught:
        call(moved)
    assert "feature_names_in_" in str(caught.value)
    with pytest.raises(InputError, match="yet now missing:\n- h"):
        call(frame.drop(columns="h"))
    with pytest.raises(InputError, match="unseen at fit time:\n- z"):
        call(frame.rename(columns={"h": "z"}))
    with pytest.raises(InputError, match="expecting 8 features"):
        call(frame.to_numpy()[:, :7])
    with pytest.raises(InputError, match="8 features"):
        call(frame.to_numpy()[:, :7].tolist())
    with pytest.raises(InputError, match="Reshape your data"):
        call(frame.to_numpy()[0])
    np.testing.assert_array_equal(
        predictions(selector, moved[list(selector.feature_names_in_)]),
        predictions(selector, frame),
    )


def test_names_that_come_or_go_are_warned_of(predicting):
    selector, frame = predicting
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        without = selector.predict(frame.to_numpy())
    np.testing.assert_array_equal(without, selector.predict(frame))


def test_infinity_at_predict_time(predicting):
    selector, frame = predicting
    used = selector.selection_.names[0]
    with pytest.raises(InputError, match="contains infinity"):
        selector.predict(frame.assign(**{used: np.inf}))


@pytest.mark.parametrize("cls", having("categorical_features", "predict"))
def test_unknown_categories_are_missing_with_a_warning(cls):
    small = small_problem(cls)
    colour = np.array(["red", "green", "blue"])[np.digitize(small.X[:, 1], [-0.5, 0.5])]
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "noise": small.X[:, 0]})
    selector = quick(cls).fit(frame, small.y)
    assert selector.support_[0]
    pink = frame.assign(colour=pd.Categorical(["pink"] * 200))
    with pytest.warns(UnknownCategoryWarning, match="'colour'.*'pink'.*count as missing"):
        found = predictions(selector, pink)
    missing = frame.assign(colour=pd.Categorical([None] * 200, categories=["red"]))
    np.testing.assert_array_equal(found, predictions(selector, missing))


@pytest.mark.parametrize("cls", CLASSES)
def test_a_failed_fit_leaves_the_one_before_it_whole(cls):
    small = small_problem(cls)
    selector = quick(cls).fit(pd.DataFrame(small.X, columns=list(NAMES)), small.y)
    before = predictions(selector, pd.DataFrame(small.X_new, columns=list(NAMES)))
    with pytest.raises(InputError):
        selector.fit(small.X[:, :3], small.y[:5])
    assert selector.n_features_in_ == 8
    after = predictions(selector, pd.DataFrame(small.X_new, columns=list(NAMES)))
    np.testing.assert_array_equal(after, before)


def test_kinds_of_errors():
    assert issubclass(InputError, ValueError)
    assert issubclass(ParameterError, ValueError)
    assert issubclass(InputTypeError, TypeError)
