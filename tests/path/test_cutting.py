"""Which step each cutting rule takes, and how it says so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.exceptions import ParameterError
from secateur.path import (
    AtMost,
    Best,
    Elbow,
    NearBest,
    OneStandardError,
    Score,
    SelectionPath,
    Step,
    StopReason,
    WithinBudget,
    as_rule,
)

NAN = math.nan


# ---- best -------------------------------------------------------------------------------------


def test_best_takes_the_best_score(make_path):
    assert Best().choose(make_path([1, 2, 3], [0.5, 0.2, 0.4])) == 1


def test_best_knows_which_way_is_up():
    scores = [Score(mean, 0.1, (), "inner", "accuracy", True) for mean in (0.5, 0.9, 0.7)]
    steps = [Step.of(range(k + 1), score=score) for k, score in enumerate(scores)]
    path = SelectionPath(steps, StopReason.FINISHED, list("abc"), "demo")
    assert Best().choose(path) == 1


def test_best_breaks_ties_by_features_then_cost_then_order(make_path):
    assert Best().choose(make_path([3, 1, 2], [0.2, 0.2, 0.2])) == 1
    assert Best().choose(make_path([2, 2, 2], [0.2] * 3, costs=[5.0, NAN, 4.0])) == 2
    assert Best().choose(make_path([2, 2], [0.2, 0.2])) == 0


def test_best_without_scores_is_the_last_step(make_path):
    path = make_path([1, 2, 3])
    assert Best().choose(path) == 2
    assert path.cut("best").sentence == (
        "3 of 10 features: the last step; no step was scored (cv=0, or too few rows), so fewer "
        "features may be as good."
    )


@pytest.mark.parametrize("rule", [Best(), OneStandardError(), AtMost(3), Elbow()])
def test_nan_and_missing_scores_are_never_chosen(make_path, rule):
    path = make_path([1, 2, 3], [NAN, 0.4, None])
    assert rule.choose(path) == 1


@pytest.mark.parametrize("rule", [Best(), OneStandardError(), AtMost(3), Elbow()])
def test_a_path_of_nan_scores_is_refused(make_path, rule):
    with pytest.raises(ParameterError, match="finite score"):
        rule.choose(make_path([1, 2, 3], [NAN, NAN, None]))


# ---- one standard error -----------------------------------------------------------------------


def test_one_standard_error_takes_the_fewest_within_reach(make_path):
    path = make_path([1, 2, 3, 4], [0.50, 0.30, 0.25, 0.22], standard_error=0.1)
    assert OneStandardError().choose(path) == 1
    assert OneStandardError(0).choose(path) == 3
    assert OneStandardError(0.5).choose(path) == 2
    assert OneStandardError(5).choose(path) == 0


def test_one_standard_error_is_that_of_the_best_step():
    standard_errors, losses = (9.0, 9.0, 0.01), (0.9, 0.205, 0.2)
    scores = [
        Score(loss, standard_error, (), "inner")
        for loss, standard_error in zip(losses, standard_errors, strict=True)
    ]
    steps = [Step.of(range(k + 1), score=score) for k, score in enumerate(scores)]
    path = SelectionPath(steps, StopReason.FINISHED, list("abc"), "demo")
    assert OneStandardError().choose(path) == 1


def test_one_standard_error_breaks_ties_by_cost_then_score(make_path):
    losses = [0.25, 0.22, 0.20]
    assert OneStandardError().choose(make_path([2, 2, 3], losses, costs=[1.0, 2.0, 3.0])) == 0
    assert OneStandardError().choose(make_path([2, 2, 3], losses, costs=[1.0, 1.0, 3.0])) == 1
    assert OneStandardError().choose(make_path([2, 2, 3], losses)) == 1


def test_one_standard_error_tells_its_reason(make_path):
    path = make_path([1, 2, 5], [0.5, 0.231, 0.2292], standard_error=0.0041, n_features=300)
    assert path.cut("one_se").sentence == (
        "2 of 300 features: the fewest whose held-out log_loss (0.2310) is within "
        "one standard error (0.0041) of the best (0.2292, at 5 features)."
    )
    assert "within 2 standard errors (0.0082)" in path.cut(OneStandardError(2)).sentence


def test_one_standard_error_without_a_standard_error_is_best_and_says_so(make_path):
    path = make_path([1, 2], [0.25, 0.2], standard_error=NAN)
    chosen = path.cut()
    assert chosen.index == 1
    assert "standard error is unknown" in chosen.sentence


def test_one_standard_error_without_scores_is_the_last_step(make_path):
    chosen = make_path([1, 2]).cut()
    assert chosen.index == 1
    assert "no step was scored" in chosen.sentence


def test_one_standard_error_never_trades_all_features_for_an_error_as_large_as_the_gain(make_path):
    path = make_path([0, 1, 3, 9], [0.69, 0.68, 0.55, 0.50], standard_error=0.3, n_features=300)
    chosen = path.cut("one_se")
    assert chosen.n_features == 3  # 1 feature keeps little of the gain
    assert chosen.sentence == (
        "3 of 300 features: the fewest whose held-out log_loss (0.5500) keeps half of what the "
        "best (0.5000, at 9 features) gains over no features at all; that gain is within one "
        "standard error (0.3000), so it is uncertain."
    )
    assert path.cut(OneStandardError(0.61)).n_features == 1  # no features are out of reach here


def test_one_standard_error_takes_no_features_where_none_are_better(make_path):
    assert (
        make_path([0, 1, 3], [0.69, 0.69, 0.70], standard_error=0.3).cut("one_se").n_features == 0
    )


@given(
    st.lists(
        st.tuples(
            st.integers(0, 8),
            st.one_of(st.none(), st.floats(0, 1), st.just(NAN)),
            st.one_of(st.floats(0, 1), st.just(NAN)),
        ),
        min_size=1,
        max_size=12,
    ),
    st.floats(0, 3),
)
def test_one_standard_error_keeps_its_promise(rows, multiple):
    steps = [
        Step.of(range(k), score=None if loss is None else Score(loss, standard_error, (), "inner"))
        for k, loss, standard_error in rows
    ]
    path = SelectionPath(steps, StopReason.FINISHED, list("abcdefgh"), "demo")
    if path.has_scores and not np.isfinite(path.scores).any():
        return
    best, index = Best().choose(path), OneStandardError(multiple).choose(path)
    assert OneStandardError(multiple).sentence(path, index).endswith(".")
    if not path.has_scores or math.isnan(path.standard_errors[best]):
        assert index == best
        return
    within = path.scores <= path.scores[best] + multiple * path.standard_errors[best] + 1e-12
    assert within[index]
    assert path.n_features[index] <= path.n_features[best]
    assert (path.n_features[index] == 0) == (path.n_features[best] == 0)


# ---- limits -----------------------------------------------------------------------------------


def test_at_most_takes_the_best_that_fits(make_path):
    path = make_path([1, 2, 3, 4], [0.5, 0.2, 0.3, 0.1])
    assert AtMost(3).choose(path) == 1
    assert path.cut(3).sentence == (
        "2 of 10 features: the best held-out log_loss (0.2000) with at most 3 features."
    )


def test_at_most_without_scores_takes_the_largest_latest_that_fits(make_path):
    path = make_path([1, 3, 3, 5])
    assert AtMost(4).choose(path) == 2
    assert path.cut(4).sentence == (
        "3 of 10 features: the largest step with at most 4 features; no step was scored (cv=0, or "
        "too few rows), so fewer features may be as good."
    )


def test_a_limit_that_no_step_reaches_is_said_as_such(make_path):
    assert "at most 821 were asked for" in make_path([1, 3], [0.5, 0.2]).cut(821).sentence
    assert "at most 821 were asked for" in make_path([1, 3]).cut(821).sentence


def test_at_most_says_what_the_smallest_is(make_path):
    with pytest.raises(ParameterError, match=r"at most 1 feature\. .*smallest step has 3\."):
        AtMost(1).choose(make_path([5, 3], [0.1, 0.2]))


def test_within_budget_takes_the_best_that_is_paid_for(make_path):
    path = make_path([1, 2, 3], [0.5, 0.2, 0.1], costs=[1.0, 2.5, 9.0], cost_unit="ms")
    assert WithinBudget(2.5).choose(path) == 1
    assert path.cut(WithinBudget(3)).sentence == (
        "2 of 10 features: the best held-out log_loss (0.2000) "
        "at a cost of at most 3 ms (it costs 2.5 ms)."
    )


def test_within_budget_without_scores_takes_the_costliest_that_fits(make_path):
    assert WithinBudget(5.0).choose(make_path([1, 2, 3, 4], costs=[1.0, 4.0, 2.0, 9.0])) == 1


def test_within_budget_forgives_the_rounding_of_sums(make_path):
    assert WithinBudget(0.3).choose(make_path([3], [0.5], costs=[0.1 + 0.1 + 0.1])) == 0


def test_within_budget_leaves_out_steps_without_a_cost(make_path):
    assert WithinBudget(5.0).choose(make_path([1, 2], [0.5, 0.1], costs=[1.0, NAN])) == 0


def test_within_budget_names_the_lowest_cost(make_path):
    with pytest.raises(ParameterError, match=r"Got .*4 ms"):
        WithinBudget(1.0).choose(make_path([1, 2], costs=[4.0, 5.0], cost_unit="ms"))
    with pytest.raises(ParameterError, match="needs a path with costs"):
        WithinBudget(1.0).choose(make_path([1, 2], [0.2, 0.1]))


# ---- elbow ------------------------------------------------------------------------------------


def test_elbow_finds_the_planted_bend(make_path):
    path = make_path([1, 2, 3, 6, 10], [0.9, 0.6, 0.3, 0.25, 0.2])
    assert Elbow().choose(path) == 2
    assert path.cut("elbow").sentence == (
        "3 of 10 features: the elbow of held-out log_loss (0.3000) against the number of features, "
        "farthest from the chord between 1 and 10 features."
    )


def test_elbow_looks_at_the_upper_envelope_only(make_path):
    # Two worse steps of the same sizes, in no order, and a tail beyond the best.
    sizes = [3, 1, 2, 3, 6, 2, 10, 20]
    losses = [0.8, 0.9, 0.6, 0.3, 0.25, 0.95, 0.2, 0.4]
    assert Elbow().choose(make_path(sizes, losses, n_features=20)) == 3


@pytest.mark.parametrize(
    ("sizes", "losses"),
    [
        ([1, 2], [0.5, 0.2]),
        ([1, 2, 3], [0.2, 0.5, 0.5]),  # one step on the envelope
        ([1, 2, 3], [0.6, 0.4, 0.2]),  # a straight line
        ([1, 2, 3], [0.6, 0.59, 0.2]),  # bends the other way
    ],
)
def test_without_an_elbow_it_is_best_and_says_so(make_path, sizes, losses):
    path = make_path(sizes, losses)
    chosen = path.cut("elbow")
    assert chosen.index == Best().choose(path)
    assert chosen.sentence.endswith("; the scores have no elbow.")


def test_elbow_needs_scores(make_path):
    with pytest.raises(ParameterError, match="needs a path with scores"):
        Elbow().choose(make_path([1, 2, 3]))


# ---- shorthand and bad input ------------------------------------------------------------------


def test_shorthand():
    assert as_rule("best") == Best()
    assert as_rule("one_se") == as_rule(None) == OneStandardError()
    assert as_rule("elbow") == Elbow()
    assert as_rule(np.int64(4)) == as_rule(4) == AtMost(4)
    rule = WithinBudget(3.0)
    assert as_rule(rule) is rule


def test_a_rule_of_ones_own_is_taken(make_path):
    class First:
        def __repr__(self):
            return "First()"

        def choose(self, path):
            return np.int64(0)

        def sentence(self, path, index):
            return "The first."

    chosen = make_path([1, 2]).cut(First())
    assert (chosen.index, chosen.rule, str(chosen)) == (0, "First()", "The first.")


@pytest.mark.parametrize("index", [-1, 2])
def test_a_rule_that_points_outside_is_refused(make_path, index):
    class Outside:
        def choose(self, path):
            return index

        def sentence(self, path, index):
            return ""

    with pytest.raises(ParameterError, match="from 0 to 1"):
        make_path([1, 2]).cut(Outside())


@pytest.mark.parametrize("value", ["worst", 2.5, True, Best, object(), ["best"]])
def test_other_values_are_refused(value):
    with pytest.raises(ParameterError, match=r"'cut' must be .* Got .* Use "):
        as_rule(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AtMost(0),
        lambda: AtMost(2.0),
        lambda: AtMost(True),
        lambda: as_rule(-3),
        lambda: WithinBudget(-1.0),
        lambda: WithinBudget(NAN),
        lambda: WithinBudget("much"),
        lambda: OneStandardError(-0.5),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(ParameterError, match=r"must be a .* Got .*\. Use"):
        make()


@pytest.mark.parametrize("rule", [Best(), OneStandardError(), AtMost(1), WithinBudget(1), Elbow()])
def test_an_empty_path_cannot_be_cut(make_path, rule):
    path = make_path([], stop_reason=StopReason.MAX_FEATURES)
    with pytest.raises(ParameterError, match=r"without steps cannot be cut\. .*max_features"):
        path.cut(rule)
    with pytest.raises(ParameterError, match="without steps"):
        rule.choose(path)


def with_gains(path, gains):
    details = [{} if gain is None else {"gain_over_none": gain} for gain in gains]
    steps = [replace(step, details=each) for step, each in zip(path, details, strict=True)]
    return replace(path, steps=tuple(steps))


def test_nothing_is_chosen_where_the_gain_over_a_constant_may_be_chance(make_path):
    path = make_path([0, 1, 3], [0.69, 0.66, 0.65], standard_error=0.02)
    chosen = with_gains(path, [None, 1.0, 1.9]).cut()
    assert chosen.n_features == 0
    assert "constant" in chosen.sentence
    assert "1.9 standard errors" in chosen.sentence
    assert with_gains(path, [None, 1.0, 2.1]).cut().n_features == 1
    assert path.cut().n_features == 1  # unknown gains
    best = make_path([0, 1, 3], [0.60, 0.66, 0.65]).cut()
    assert best.n_features == 0
    assert "constant" in best.sentence
    assert with_gains(path, [None, 1.0, 1.9]).cut("best").n_features == 3


def path_with_errors(losses, errors, sizes=None):
    """A path of log losses with the standard errors of their differences to the best."""
    sizes = sizes or range(len(losses))
    steps = [
        Step.of(
            range(size),
            score=Score(loss, 0.3, (), "held_out", "log_loss"),
            details={"difference_error": error},
        )
        for size, loss, error in zip(sizes, losses, errors, strict=True)
    ]
    return SelectionPath(steps, StopReason.FINISHED, list("abcdefgh"), "demo")


def test_near_best_goes_by_the_error_of_differences_not_of_levels():
    path = path_with_errors([0.9, 0.5, 0.45, 0.44], [0.1, 0.02, 0.01, 0.0])
    assert OneStandardError().choose(path) == 1  # the level is uncertain by 0.3
    # 1.5 % of the gain of 0.46 is 0.0069, and half an error of 0.01 is 0.005
    assert NearBest().choose(path) == 2
    assert NearBest(tolerance=0.0).choose(path) == 3
    assert NearBest(tolerance=0.0, multiple=1.1).choose(path) == 2
    assert NearBest(tolerance=0.2).choose(path) == 1  # 0.092
    assert path.cut("near_best").sentence == (
        "2 of 8 features: the fewest whose held-out log_loss (0.4500) is within 0.0119 of the "
        "best (0.4400, at 3 features), about as good."
    )


def test_near_best_keeps_within_a_share_of_a_small_loss():
    path = path_with_errors([3.0, 0.107, 0.1], [0.1, 0.0, 0.0])
    assert NearBest().choose(path) == 1
    assert NearBest().choose(path_with_errors([3.0, 0.108, 0.1], [0.1, 0.0, 0.0])) == 2


def test_near_best_without_an_empty_step_goes_by_the_error_alone():
    path = path_with_errors([0.5, 0.45, 0.44], [0.02, 0.01, 0.0], sizes=[1, 2, 3])
    assert NearBest().choose(path) == 2
    assert NearBest(multiple=1.1).choose(path) == 1


def test_near_best_without_errors_of_differences_is_one_standard_error(make_path):
    path = make_path([1, 2, 3], [0.5, 0.45, 0.44], standard_error=0.02)
    assert NearBest().choose(path) == OneStandardError().choose(path) == 1
    stale = path_with_errors([0.9, 0.5, 0.45, 0.44], [0.1, 0.02, 0.0, 0.01])  # of another best
    assert NearBest().choose(stale) == OneStandardError().choose(stale)


def test_near_best_selects_nothing_where_the_best_may_be_chance():
    path = path_with_errors([0.7, 0.69], [0.01, 0.0])
    steps = [path[0], replace(path[1], details={**path[1].details, "gain_over_none": 1.0})]
    assert NearBest().choose(replace(path, steps=tuple(steps))) == 0


def test_a_small_gain_is_no_chance_where_permutations_show_a_relation():
    path = path_with_errors([0.7, 0.69], [0.01, 0.0])

    def tested(p_value):
        more = {"gain_over_none": 1.0, "row_limit": 5, "p_value": p_value}
        steps = [replace(step, details={**step.details, **more}) for step in path]
        return replace(path, steps=tuple(steps))

    assert tested(0.02).cut("near_best").n_features == 1
    none = tested(0.25).cut("near_best")
    assert none.n_features == 0
    assert none.sentence.endswith("as close to random permutations of the target (p = 0.25).")
