"""What a fit leaves behind: a path, the step that was chosen, and how it was chosen."""

from __future__ import annotations

import numpy as np
import pytest
from contract.registry import (
    INFORMATIVE,
    NAMES,
    estimator_classes,
    fitted,
    having,
    predictions,
    quick,
    small_problem,
)
from sklearn.exceptions import NotFittedError

from secateur import (
    AtMost,
    CostBudget,
    FeatureCosts,
    MaxFeatures,
    Patience,
    SelectionPath,
    StopReason,
    TimeLimit,
    WithinBudget,
)
from secateur.exceptions import EmptySelectionWarning, ParameterError

CLASSES = estimator_classes()


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def solved(request):
    """A fitted selector of each kind, and its problem."""
    return fitted(request.param), small_problem(request.param)


def test_attributes_fit_together(solved):
    selector, small = solved
    assert isinstance(selector.path_, SelectionPath)
    assert selector.path_.algorithm == type(selector).__name__
    assert selector.path_.stop_reason is not StopReason.INTERRUPTED
    step = selector.path_[selector.selection_.index]
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), step.support)
    np.testing.assert_array_equal(selector.get_support(), selector.support_)
    assert selector.n_features_in_ == small.X.shape[1] == len(selector.support_)
    assert selector.support_[list(INFORMATIVE[:1])].all()


def test_sentence_names_the_right_numbers(solved):
    selector, _ = solved
    chosen = selector.selection_
    assert f"{selector.support_.sum()} of {selector.n_features_in_} features" in str(chosen)
    if chosen.score is not None:
        assert f"({chosen.score.mean:.4f})" in str(chosen)
        if "OneStandardError" not in chosen.rule:
            return
        best = selector.path_.cut("best")
        assert f"{best.score.mean:.4f}, at {best.n_features} feature" in str(chosen)
        assert f"{best.score.standard_error:.4f}" in str(chosen)


def test_ranking_begins_with_the_selected(solved):
    selector, _ = solved
    np.testing.assert_array_equal(selector.ranking_ == 1, selector.support_)
    entered = np.unique(np.concatenate([step.support for step in selector.path_]))
    never = np.setdiff1d(np.arange(selector.n_features_in_), entered)
    later = selector.ranking_[np.setdiff1d(entered, np.flatnonzero(selector.support_))]
    assert sorted(later) == list(range(2, 2 + len(later)))
    assert (selector.ranking_[never] == 2 + len(later)).all()


@pytest.mark.parametrize("cls", having("feature_importances_"))
def test_importances_are_shares_of_the_selected(cls):
    selector = fitted(cls)
    shares = selector.feature_importances_
    assert shares.shape == (selector.n_features_in_,)
    assert (shares >= 0).all()
    assert not shares[~selector.support_].any()
    assert shares.sum() == pytest.approx(1.0)
    assert shares.argmax() in INFORMATIVE


@pytest.mark.parametrize("rule", ["best", "one_se", "elbow", None])
def test_with_cut_chooses_again_and_leaves_the_first_alone(solved, rule):
    selector, small = solved
    before = selector.support_.copy()
    parameters = selector.get_params()
    other = selector.with_cut(rule)
    assert other is not selector
    assert type(other) is type(selector)
    assert other.path_ is selector.path_
    assert other.cut is rule
    np.testing.assert_array_equal(selector.support_, before)
    assert selector.get_params() == parameters
    refitted = quick(type(selector), cut=rule).fit(small.X, small.y)
    np.testing.assert_array_equal(other.support_, refitted.support_)
    np.testing.assert_array_equal(other.ranking_, refitted.ranking_)
    assert str(other.selection_) == str(refitted.selection_)
    expected = predictions(refitted, small.X_new)
    np.testing.assert_array_equal(predictions(other, small.X_new), expected)
    if hasattr(other, "n_iter_"):
        assert other.n_iter_ == refitted.n_iter_


@pytest.mark.parametrize("cls", having("penalty"))
def test_every_limit_has_a_step(cls):
    small = small_problem(cls)
    costs = np.array([1.0, 5.0, 1.0, 1.0, 2.5, 1.0, 0.1, 1.0])
    for rule, most in ((1, 1), (AtMost(2), 2), (WithinBudget(0.05), 0)):
        selector = quick(cls, short_grid=False, cut=rule, costs=costs).fit(small.X, small.y)
        assert selector.support_.sum() <= most


@pytest.mark.parametrize("cls", having("penalty"))
def test_a_path_without_a_suitable_step_is_kept(cls):
    small = small_problem(cls)
    selector = quick(cls, penalty=0.0).fit(small.X, small.y)
    selector.set_params(cut=1)
    with pytest.raises(ParameterError, match="No step has at most 1 feature") as caught:
        selector.fit(small.X, small.y)
    assert "with_cut" in caught.value.__notes__[0]
    with pytest.raises(NotFittedError):
        predictions(selector, small.X)
    assert len(predictions(selector.with_cut("best"), small.X)) == 200


def test_with_cut_refuses_what_is_no_rule(solved):
    selector, _ = solved
    with pytest.raises(ParameterError, match="'cut' must be"):
        selector.with_cut("beste")


@pytest.mark.parametrize("cls", having("staged_predict"))
def test_staged_predictions_are_those_of_every_step(cls):
    small = small_problem(cls)
    selector = fitted(cls)
    stages = list(selector.staged_predict(small.X_new))
    assert len(stages) == len(selector.path_) > 1
    chosen = stages[selector.selection_.index]
    np.testing.assert_array_equal(chosen, selector.predict(small.X_new))
    for index, stage in enumerate(stages):
        size = selector.path_[index].n_features
        if (selector.path_.n_features == size).sum() == 1 and size:
            other = selector.with_cut(_At(index))
            np.testing.assert_array_equal(stage, other.predict(small.X_new))
    if hasattr(selector, "staged_predict_proba"):
        shares = list(selector.staged_predict_proba(small.X_new))[selector.selection_.index]
        np.testing.assert_array_equal(shares, selector.predict_proba(small.X_new))


class _At:
    """A rule of the user's own."""

    def __init__(self, index):
        self.index = index

    def choose(self, path):
        return self.index

    def sentence(self, path, index):
        return f"Step {index}, because I say so."


@pytest.mark.parametrize("cls", having("staged_predict"))
def test_staged_predictions_refuse_at_the_call(cls):
    small = small_problem(cls)
    selector = fitted(cls)
    with pytest.raises(ValueError, match="expecting 8 features"):
        selector.staged_predict(small.X_new[:, :3])


@pytest.mark.parametrize("cls", having("keep"))
@pytest.mark.parametrize("named", [False, True])
def test_kept_features_are_in_every_step_and_free(cls, named):
    import pandas as pd

    small = small_problem(cls)
    X = pd.DataFrame(small.X, columns=list(NAMES)) if named else small.X
    keep = ["a", "d"] if named else [0, 3]
    selector = quick(cls, keep=keep, costs=100.0).fit(X, small.y)
    for step in selector.path_:
        assert {0, 3} <= set(step.support.tolist())
        assert step.cost == 100.0 * (step.n_features - 2)
    assert selector.support_[[0, 3]].all()


@pytest.mark.parametrize("cls", having("max_features"))
@pytest.mark.parametrize("most", [1, 2])
def test_max_features_holds_in_every_step(cls, most):
    small = small_problem(cls)
    selector = quick(cls, max_features=most).fit(small.X, small.y)
    assert (selector.path_.n_features <= most).all()
    assert selector.with_cut(most).support_.sum() == most


@pytest.mark.parametrize("cls", having("cost_budget", "costs"))
def test_cost_budget_holds_in_every_step(cls):
    small = small_problem(cls)
    costs = np.array([1.0, 5.0, 1.0, 1.0, 2.5, 1.0, 0.5, 1.0])
    selector = quick(cls, short_grid=False, costs=costs, cost_budget=4.0).fit(small.X, small.y)
    assert (selector.path_.costs <= 4.0).all()
    assert not selector.support_[1]
    for step in selector.path_:
        assert step.cost == pytest.approx(costs[step.support].sum())
    assert selector.selection_.cost == pytest.approx(costs[selector.support_].sum())
    if selector.path_.costs.min() > 0.0:
        with pytest.raises(ParameterError, match="No step costs at most"):
            selector.with_cut(WithinBudget(0.0))


@pytest.mark.parametrize("cls", having("costs"))
def test_costs_in_every_form(cls):
    import pandas as pd

    small = small_problem(cls)
    X = pd.DataFrame(small.X, columns=list(NAMES))
    costs = np.array([1.0, 40.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    expected = quick(cls, costs=costs).fit(X, small.y)
    for form in (
        costs.tolist(),
        tuple(costs),
        pd.Series(costs, index=list(NAMES)),
        {"b": 40.0},
        {1: 40.0},
        FeatureCosts({"b": 40.0}),
        FeatureCosts(rule=lambda used: costs),
    ):
        same = quick(cls, costs=form).fit(X, small.y)
        np.testing.assert_array_equal(same.support_, expected.support_)
        np.testing.assert_array_equal(same.path_.costs, expected.path_.costs)
    with_unit = quick(cls, costs=FeatureCosts({"b": 40.0}, unit="euro")).fit(X, small.y)
    assert with_unit.path_.cost_unit == "euro"


@pytest.mark.parametrize("cls", having("costs"))
def test_a_costly_feature_is_replaced_by_its_copy_of_lower_cost(cls):
    small = small_problem(cls)
    X = np.column_stack([small.X, small.X[:, 1]])
    expensive = quick(cls, costs={1: 3.0}).fit(X, small.y)
    assert expensive.support_[8]
    assert not expensive.support_[1]
    other = quick(cls, costs={8: 3.0}).fit(X, small.y)
    assert other.support_[1]
    assert not other.support_[8]


@pytest.mark.parametrize("cls", having("feature_groups"))
def test_groups_pay_once(cls):
    small = small_problem(cls)
    labels = ["p", "q", "p", "r", "q", "r", "q", None]
    forms = [
        labels,
        {"p": [0, 2], "q": [1, 4, 6], "r": [3, 5]},
        np.array([[label == bag for bag in "pqr"] for label in labels]),
    ]
    fits = [quick(cls, feature_groups=form).fit(small.X, small.y) for form in forms]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.support_, fits[0].support_)
    for step in fits[0].path_:
        bags = {labels[j] or j for j in step.support}
        assert step.cost == len(bags)
    assert fits[0].support_[list(INFORMATIVE)].all()
    assert fits[0].selection_.cost < len(INFORMATIVE)


@pytest.mark.parametrize("cls", having("costs", "predict", "penalty"))
def test_a_huge_price_buys_nothing_and_predictions_still_come(cls):
    small = small_problem(cls)
    known = cls().get_params()
    expensive = {name: 0.5 for name in ("penalty", "group_penalty") if name in known}
    selector = quick(cls, costs=1e12, **expensive)
    with pytest.warns(EmptySelectionWarning, match=f"{cls.__name__} .* 0 of 8 features"):
        selector.fit(small.X, small.y)
    assert not selector.support_.any()
    assert "0 of 8 features" in str(selector.selection_)
    assert len({str(value) for value in selector.predict(small.X_new)}) == 1
    assert not selector.feature_importances_.any()
    with pytest.warns(EmptySelectionWarning, match=cls.__name__):
        assert selector.transform(small.X_new).shape == (60, 0)


# ---- limits and stopping rules ----------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_all_selectors_have_the_same_limits(cls):
    common = {"costs", "feature_groups", "keep", "max_features", "cost_budget", "time_limit"}
    common |= {"stopping", "on_step", "on_interrupt", "random_state", "n_jobs", "verbose"}
    assert common <= cls().get_params().keys()
    for name in common:
        assert f"\n{name} : " in cls.__doc__


@pytest.mark.parametrize("cls", CLASSES)
def test_every_step_is_shown_as_it_comes(cls):
    small = small_problem(cls)
    seen = []
    selector = quick(cls, on_step=seen.append).fit(small.X, small.y)
    kept = [step.support.tolist() for step in selector.path_]
    shown = [step.support.tolist() for step in seen]
    assert [each for n, each in enumerate(shown) if n == 0 or each != shown[n - 1]] == [
        each for n, each in enumerate(kept) if n == 0 or each != kept[n - 1]
    ]
    assert all(step.cost == len(step.support) for step in seen)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"time_limit": 1e-9}, StopReason.TIME_LIMIT),
        ({"stopping": TimeLimit(1e-9)}, StopReason.TIME_LIMIT),
        ({"stopping": [TimeLimit(1e9), TimeLimit(1e-9)]}, StopReason.TIME_LIMIT),
    ],
)
@pytest.mark.parametrize("cls", CLASSES)
def test_a_fit_out_of_time_keeps_its_first_step(cls, limit, reason):
    small = small_problem(cls)
    seen = []
    selector = quick(cls, on_step=seen.append, **limit).fit(small.X, small.y)
    assert selector.path_.stop_reason is reason
    assert len(seen) == len(selector.path_) == 1
    assert len(predictions(selector, small.X_new)) == 60


@pytest.mark.parametrize("cls", CLASSES)
def test_stopping_rules_end_the_path(cls):
    small = small_problem(cls)
    whole = fitted(cls).path_
    for rule, most in ((MaxFeatures(1), 1), (CostBudget(2.0), 2), ([MaxFeatures(3)], 3)):
        selector = quick(cls, stopping=rule, cut="best")
        n_fitting = next((n for n, size in enumerate(whole.n_features) if size > most), len(whole))
        if n_fitting:
            path = selector.fit(small.X, small.y).path_
            assert path.n_features.tolist() == whole.n_features[:n_fitting].tolist()
        else:
            with pytest.raises(ParameterError, match="before its first step"):
                selector.fit(small.X, small.y)
    with pytest.raises(ParameterError, match="stopping"):
        quick(cls, stopping=Patience).fit(small.X, small.y)
    with pytest.raises(ParameterError, match="stopping"):
        quick(cls, stopping="patience").fit(small.X, small.y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("time_limit", 0), ("on_step", 1), ("on_interrupt", "stop"), ("cost_budget", -1.0)],
)
@pytest.mark.parametrize("cls", CLASSES)
def test_limits_of_the_wrong_kind(cls, name, value):
    small = small_problem(cls)
    with pytest.raises(ParameterError, match=f"'{name}' must be .* Got {value!r}"):
        quick(cls, **{name: value}).fit(small.X, small.y)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_budget_of_nothing_selects_nothing_and_says_so(cls):
    small = small_problem(cls)
    with pytest.warns(EmptySelectionWarning, match=cls.__name__):
        selector = quick(cls, cost_budget=0.0).fit(small.X, small.y)
    assert not selector.support_.any()
    assert selector.path_.costs.tolist() == [0.0] * len(selector.path_)


@pytest.mark.parametrize("cls", CLASSES)
def test_arguments_are_keywords_and_the_class_is_named(cls):
    with pytest.raises(TypeError, match=rf"{cls.__name__}\(0.1\)"):
        cls(0.1)
    with pytest.raises(TypeError, match=f"{cls.__name__} .*'on_stop'.*'on_step'"):
        cls(on_stop=print)
    small = small_problem(cls)
    with pytest.raises(ParameterError, match=r"'cut' must be .* Got 0"):
        quick(cls, cut=0).fit(small.X, small.y)


PENALISED = [cls for name in ("penalty", "group_penalty", "l1") for cls in having(name)]


@pytest.mark.parametrize(("n_rows", "size"), [(30, 2), (120, 1)])
@pytest.mark.parametrize("cls", PENALISED)
def test_a_number_of_features_is_searched_for(cls, n_rows, size):
    small = small_problem(cls, n_rows=n_rows)
    selector = quick(cls, short_grid=False, cut=size, cv=None).fit(small.X, small.y)
    assert selector.support_.sum() == size
