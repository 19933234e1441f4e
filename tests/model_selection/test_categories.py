"""Comparisons on tables with categories: every method gets what it takes, features are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from secateur import (
    AGBMClassifier,
    FeatureCosts,
    FeatureGradientsSelector,
    GraftingClassifier,
    compare,
    held_out,
)
from secateur.engines.limits import Limits
from secateur.exceptions import InputError
from secateur.model_selection.baselines import Baseline
from secateur.model_selection.columns import as_matrix
from secateur.model_selection.encoding import (
    AsNumbers,
    on_numbers,
    over_columns,
    takes_categories,
    with_costs,
)
from secateur.model_selection.methods import read_methods
from secateur.model_selection.trials import subsets_of
from secateur.path import SelectionPath, Step, StopReason

TOWNS = ["Basel", "Bern", "Chur", "Genf"]


def people(n_rows=120, seed=0):
    """Two numbers and three columns of text; the town and one number matter."""
    rng = np.random.default_rng(seed)
    town = rng.choice(TOWNS, n_rows)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n_rows),
            "town": town,
            "noise": rng.normal(size=n_rows),
            "pet": pd.Categorical(rng.choice(["cat", "dog", "eel"], n_rows)),
            "rare": np.where(np.arange(n_rows) == 7, "once", "often"),
        }
    )
    is_far = np.isin(town, ["Chur", "Genf"])
    y = np.where(2.0 * is_far + frame["age"] + 0.4 * rng.normal(size=n_rows) > 1, "yes", "no")
    return frame, y


def thirds(n_rows=120):
    rows = np.arange(n_rows)
    return [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]


def one_hot(frame):
    """Columns of 0 and 1 for text, numbers as they are; and the feature of each column."""
    parts, sources = [], []
    for place, name in enumerate(frame.columns):
        if name in {"age", "noise"}:
            parts.append(frame[name].to_numpy())
            sources.append(place)
            continue
        for value in sorted(set(frame[name].astype(str))):
            parts.append((frame[name].astype(str) == value).to_numpy().astype(float))
            sources.append(place)
    return np.column_stack(parts), np.array(sources)


# ---- what methods get ----------------------------------------------------------------------------


def test_a_plain_selector_gets_columns_made_of_the_training_rows_and_features_are_counted():
    frame, y = people()
    found = compare(
        frame, y, {"k": SelectKBest(k=2)}, validators="logistic", cv=thirds(), sizes=[1, 3]
    )
    assert [trial.message for trial in found.trials] == [""] * 3
    for trial, (train, _) in zip(found.trials, thirds(), strict=True):
        columns, sources = one_hot(frame.iloc[train])
        with np.errstate(all="ignore"):
            scores = f_classif(columns, y[train])[0]
        best = [np.nan_to_num(scores[sources == feature]).max() for feature in range(5)]
        ranked = np.argsort(-np.array(best))
        assert trial.subset(1).order.tolist() == ranked[:1].tolist()
        assert trial.subset(3).order.tolist()[:2] == ranked[:2].tolist()
        own = np.unique(sources[np.argsort(-scores)[:2]])
        assert trial.subset(None).support.tolist() == own.tolist()
    assert found.feature_names == tuple(frame.columns)


class Columns(BaseEstimator):
    """Writes down the shape that it gets, and keeps the first column."""

    seen: list = []  # noqa: RUF012 - of the class, since it is cloned

    def fit(self, X, y):
        Columns.seen.append((type(X).__name__, X.shape))
        self.n_ = X.shape[1]
        return self

    def get_support(self):
        return np.arange(self.n_) == 0


class TaggedColumns(Columns):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def test_values_that_are_not_among_the_training_rows_have_no_column():
    frame, y = people()
    Columns.seen.clear()
    compare(frame, y, Columns(), validators="logistic", cv=thirds(), sizes=[1])
    # row 7 alone has the value "once", and is a test row of the second fold
    assert Columns.seen == [("ndarray", (80, 11)), ("ndarray", (80, 10)), ("ndarray", (80, 11))]


def test_methods_tagged_as_taking_categories_get_the_frame():
    frame, y = people()
    Columns.seen.clear()
    compare(frame, y, TaggedColumns(), validators="logistic", cv=thirds(), sizes=[1])
    assert Columns.seen == [("DataFrame", (80, 5))] * 3


def quickened(methods):
    wanted = {"max_iter": 5, "cv": 2, "max_epochs": 10}
    for method in methods.values():
        known = method.get_params()
        method.set_params(**{key: value for key, value in wanted.items() if key in known})
    return methods


@pytest.mark.parametrize(
    ("target_type", "library"),
    [
        ("classification", "polars"),
        pytest.param("classification", "pandas", marks=pytest.mark.slow),
        pytest.param("regression", "pandas", marks=pytest.mark.slow),
        pytest.param("regression", "polars", marks=pytest.mark.slow),
    ],
)
def test_every_default_method_ends_with_a_curve(target_type, library):
    frame, y = people()
    frame.loc[3:9, "age"] = np.nan
    frame.loc[5:15, "town"] = None
    if target_type == "regression":
        y = np.where(y == "yes", 1.5, 0.0) + frame["noise"].to_numpy()
    table = frame if library == "pandas" else pl.DataFrame(frame)
    methods = quickened(read_methods(None, target_type))
    found = compare(table, y, methods, validators="linear", cv=2, sizes=[1, 2], random_state=0)
    assert [(trial.method, trial.message) for trial in found.failures] == []
    assert {curve.method for curve in found.curves()} == set(methods)
    for trial in found.trials:
        assert all(0 <= feature < 5 for subset in trial.subsets for feature in subset.order)
        assert all(
            s.n_features <= s.size for s in trial.subsets if s.size and trial.method != "all"
        )
        assert np.isfinite([v for s in trial.subsets for v in s.scores.values()]).all()


def test_methods_of_numbers_find_the_category_that_matters():
    frame, y = people(180)
    y = np.where(np.isin(frame["town"], ["Chur", "Genf"]), "yes", "no")
    found = compare(
        frame, y, "grafting,f_classif,l1,mutual_info", validators="logistic", cv=2, sizes=[1]
    )
    for trial in found.trials:
        assert trial.subset(1).order.tolist() == [1], trial.method
        assert trial.score("logistic", 1) == 1.0


def test_text_is_categories_for_a_selector_without_that_parameter_set():
    frame, y = people()
    quick = AGBMClassifier(max_iter=5, cv=2)
    found = compare(frame, y, {"mine": quick}, validators={"me": quick}, cv=2, sizes=[2])
    assert [trial.message for trial in found.trials] == ["", ""]
    assert quick.categorical_features is None


def test_mutual_information_counts_codes_of_categories_not_their_order():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 400)
    y = np.isin(codes, [0, 2]).astype(int)  # no order of the codes separates it
    frame = pd.DataFrame({"n": rng.normal(size=400), "c": pd.Categorical(codes)})
    assert as_matrix(frame)[0][:, 1].tolist() == codes.tolist()
    assert Baseline("mutual_info", random_state=0).fit(frame, y).order_.tolist() == [1, 0]


def test_missing_categories_are_a_code_of_their_own():
    frame = pd.DataFrame({"c": pd.Categorical(["b", None, "a"])})
    assert as_matrix(frame)[0].ravel().tolist() == [1.0, -1.0, 0.0]


@pytest.mark.slow
def test_lightgbm_gets_the_categorical_features():
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(600) % 12)
    y = np.isin(codes, [0, 3, 5, 8, 10]).astype(int)
    frame = pd.DataFrame({"n": rng.normal(size=600), "c": pd.Categorical(codes)})
    found = compare(frame, y, "cegb", validators="logistic", cv=2, sizes=[1], random_state=0)
    assert [trial.subset(1).order.tolist() for trial in found.trials] == [[1], [1]]


# ---- columns and features ------------------------------------------------------------------------


def test_a_path_of_columns_becomes_one_of_features():
    steps = [
        Step.of([4], [0, 0, 0, 0, 3.0, 0]),
        Step.of([4, 3, 1], [0, 1.0, 0, 2.0, 3.0, 0]),
        Step.of([4, 3, 1, 0], [1.0] * 6),
    ]
    path = SelectionPath(steps, StopReason.FINISHED, list("uvwxyz"), "demo")
    sources = np.array([0, 1, 2, 2, 2, 3])

    class Fitted:
        path_ = path
        selection_ = path.cut(AtEnd())

    params = subsets_of(Fitted(), [1, 2], sources)
    assert [(s.size, s.order.tolist()) for s in params] == [
        (1, [2]),
        (2, [2, 1]),
        (None, [2, 1, 0]),
    ]


class AtEnd:
    def choose(self, path):
        return len(path) - 1

    def sentence(self, path, index):
        return "The last."


def test_a_ranking_of_columns_becomes_one_of_features():
    class Ranked:
        order_ = np.array([3, 0, 2, 4, 1])
        n_own_ = 3

    sources = np.array([0, 1, 2, 2, 3])
    params = subsets_of(Ranked(), [3], sources)
    assert [(s.size, s.order.tolist()) for s in params] == [(3, [2, 0, 3]), (None, [2, 0])]


# ---- costs -----------------------------------------------------------------------------------

SOURCES = np.array([0, 2, 1, 1, 3, 3, 3]), ("age", "town", "size", "pet")


def costs_of(method):
    given = with_costs(method, *SOURCES)
    assert getattr(given, "feature_groups", None) is None
    return given.costs.bind([f"x{number}" for number in range(7)])


def test_the_columns_of_a_category_are_selected_as_one():
    cost_model = costs_of(GraftingClassifier())
    used = np.zeros(7, bool)
    assert cost_model.costs(used).tolist() == [1.0] * 7
    used[3] = True  # of the town
    assert cost_model.costs(used).tolist() == [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0]


def test_costs_groups_and_kept_features_are_given_to_columns():
    costs = FeatureCosts(
        {"town": 3.0, "pet": 5.0},
        feature_groups={"walk": ["size", "town"]},
        keep=["age"],
        unit="franc",
    )
    cost_model = costs_of(GraftingClassifier(costs=costs))
    used = np.zeros(7, bool)
    assert cost_model.costs(used).tolist() == [0.0, 1.0, 3.0, 3.0, 5.0, 5.0, 5.0]
    used[1] = True  # the size: the town is in its group
    assert cost_model.costs(used).tolist() == [0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0]
    short = costs_of(
        FeatureGradientsSelector(costs=[1, 2, 3, 4], feature_groups=["w", "w", None, None])
    )
    assert short.cost.tolist() == [1, 3, 2, 2, 4, 4, 4]
    assert short.costs(np.arange(7) == 0).tolist() == [0.0, 3.0, 0.0, 0.0, 4.0, 4.0, 4.0]


def test_columns_of_a_category_are_one_group_unless_the_user_has_put_it_into_one():
    groups = costs_of(FeatureGradientsSelector()).feature_groups.toarray().T.tolist()
    assert groups == [[0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]]
    of_the_user = costs_of(FeatureGradientsSelector(feature_groups=[None, "walk", "walk", None]))
    groups = of_the_user.feature_groups.toarray().T.tolist()
    assert groups == [[0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]]


def test_limits_count_the_columns_of_a_category_once():
    cost_model = costs_of(GraftingClassifier())
    limits = Limits(cost_model, max_features=2)
    assert limits.allow(np.array([0, 2, 3]))
    assert not limits.allow(np.array([0, 2, 1]))
    assert limits.open(np.array([0, 2])).tolist() == [True, False, True, True, *[False] * 3]
    found = limits.filled(np.array([0]), np.array([4, 1, 5, 2]))
    assert found.tolist() == [0, 4, 5]


def test_a_whole_path_becomes_one_of_features():
    steps = [Step.of([]), Step.of([3, 0], np.arange(7.0)), Step.of([3, 0, 5, 2], np.arange(7.0))]
    path = SelectionPath(steps, StopReason.FINISHED, [f"x{k}" for k in range(7)], "demo")
    found = over_columns(path, *SOURCES)
    assert [step.order.tolist() for step in found] == [[], [1, 0], [1, 0, 3]]
    assert [step.weight.tolist() for step in found] == [[], [0.0, 3.0], [0.0, 3.0, 5.0]]
    assert found.feature_names == SOURCES[1]
    assert over_columns(path, None, "abcdefg").n_features.tolist() == [0, 2, 4]


def test_costs_that_columns_cannot_have_are_refused():
    rule = FeatureCosts(rule=lambda used: np.ones(len(used)))
    with pytest.raises(InputError, match="Encode the categories beforehand"):
        with_costs(GraftingClassifier(costs=rule), *SOURCES)


# ---- validation rows ------------------------------------------------------------------------


def test_a_plain_validator_gets_columns_made_of_the_training_rows():
    frame, y = people()
    found = compare(
        frame, y, {"all": "all"}, validators={"lr": LogisticRegression(C=0.5)}, cv=thirds()
    )
    for k, (train, test) in enumerate(thirds()):
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["town", "pet", "rare"]),
            remainder="passthrough",
        )
        model = make_pipeline(encoder, LogisticRegression(C=0.5))
        model.fit(frame.iloc[train], y[train])
        known = model.score(frame.iloc[test], y[test])
        assert found.scores("all", "lr", None)[k] == known


def test_held_out_takes_a_plain_validator_too():
    frame, y = people()
    quick = AGBMClassifier(max_iter=5, cv=2, categorical_features="from_dtype")
    held = held_out(quick, frame, y, cv=2, validator=LogisticRegression(), random_state=0)
    assert held.all_features_model == "LogisticRegression"
    assert all(np.isfinite(step.score.mean) for step in held.path)


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (LogisticRegression(), False),
        (AGBMClassifier(), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
        (make_pipeline(AsNumbers(), LogisticRegression()), True),
        (
            make_pipeline(make_column_transformer((OneHotEncoder(), [0])), LogisticRegression()),
            True,
        ),
        (GridSearchCV(make_pipeline(OneHotEncoder(), LogisticRegression()), {}), True),
        (GridSearchCV(LogisticRegression(), {}), False),
        (object(), False),
    ],
)
def test_who_takes_categories(estimator, takes):
    assert takes_categories(estimator) is takes


def test_weights_reach_the_model_at_the_end_of_a_pipeline_of_the_users():
    frame, y = people()
    weight = np.where(frame["town"] == "Bern", 5.0, 0.5)
    given = make_pipeline(StandardScaler(), LogisticRegression())
    steps = on_numbers(given, has_categories=True).steps
    assert [name for name, _ in steps] == ["asnumbers", "standardscaler", "logisticregression"]
    params = {"cv": 2, "random_state": 0, "sizes": [2], "validators": {"lr": given}}
    plain, weighted = (
        compare(frame, y, "all", sample_weight=w, scoring="log_loss", **params)
        for w in (None, weight)
    )
    assert not np.allclose(plain.scores("all", "lr", None), weighted.scores("all", "lr", None))


def test_a_category_without_any_value_is_a_feature_all_the_same():
    frame = pd.DataFrame({"n": [1.0, 2.0], "c": pd.Categorical([None, None], categories=["a"])})
    numbers = AsNumbers().fit(frame)
    assert numbers.transform(frame).tolist() == [[1.0, 0.0], [2.0, 0.0]]
    assert numbers.sources_.tolist() == [0, 1]
    assert numbers.get_feature_names_out().tolist() == ["n", "c="]
