"""The loop around every algorithm: what it books, merges, asks, and keeps when interrupted."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from path_differences import paths_equal

import secateur
from secateur.engines import drive as drive_module
from secateur.engines.drive import drive
from secateur.exceptions import ParameterError
from secateur.path import (
    CostBudget,
    MaxFeatures,
    Patience,
    Score,
    Step,
    StopReason,
    TimeLimit,
)

NAMES = [f"f{j}" for j in range(20)]


def rounds(sizes, *, penalties=None):
    for number, size in enumerate(sizes):
        penalty = 0.1 if penalties is None else penalties[number]
        yield Step.of(range(size), penalty=penalty, model=number, details={"round": number})


def run(trace, **changes):
    return drive(trace, **{"feature_names": NAMES, "algorithm": "demo", **changes})


def scoring(losses):
    """Score round k by losses[k]; None is no score."""

    def score(step):
        loss = losses[step.details["round"]]
        return None if loss is None else Score(loss, math.nan, (), "inner")

    return score


def kept_rounds(path):
    return [step.details["round"] for step in path]


# ---- merging ----------------------------------------------------------------------------------


def test_equal_supports_that_follow_each_other_become_one_step():
    path = run(rounds([1, 1, 2, 2, 2, 4]))
    assert path.n_features.tolist() == [1, 2, 4]
    assert path.stop_reason is StopReason.FINISHED


def test_without_scores_the_latest_round_stands_for_its_support():
    assert kept_rounds(run(rounds([1, 1, 2, 2, 2, 4]))) == [1, 4, 5]


def test_with_scores_the_best_round_stands_and_ties_go_to_the_earlier():
    path = run(rounds([1, 1, 1, 2, 2, 2]), score=scoring([0.5, 0.4, 0.45, 0.3, 0.2, 0.2]))
    assert kept_rounds(path) == [1, 4]
    assert path.scores.tolist() == [0.4, 0.2]
    assert [step.model for step in path] == [1, 4]


def test_a_greater_score_is_kept_where_greater_is_better():
    def accuracy(step):
        return Score([0.5, 0.7, 0.6][step.details["round"]], 0.0, (), "inner", "accuracy", True)

    assert kept_rounds(run(rounds([1, 1, 1]), score=accuracy)) == [1]


@pytest.mark.parametrize(
    ("losses", "kept"),
    [
        ([None, 0.4, None], 1),
        ([math.nan, 0.4, math.nan], 1),
        ([math.nan, None, math.nan], 2),
        ([0.4, math.inf, math.nan], 0),
        ([math.inf, 0.4, 0.5], 1),
    ],
)
def test_rounds_without_a_usable_score_do_not_stand_for_scored_ones(losses, kept):
    assert kept_rounds(run(rounds([1, 1, 1]), score=scoring(losses))) == [kept]


def test_a_support_that_comes_back_is_a_new_step():
    assert run(rounds([1, 2, 1])).n_features.tolist() == [1, 2, 1]


def test_equal_sizes_are_not_equal_supports():
    trace = iter([Step.of([0, 1]), Step.of([0, 2]), Step.of([2, 0])])
    path = run(trace)
    assert [step.order.tolist() for step in path] == [[0, 1], [2, 0]]


def test_another_control_is_another_step_and_nan_equals_nan():
    path = run(rounds([2, 2, 2, 2, 2], penalties=[0.1, 0.2, 0.2, math.nan, math.nan]))
    assert kept_rounds(path) == [0, 2, 4]


def test_empty_supports_merge_too():
    assert run(rounds([0, 0, 1])).n_features.tolist() == [0, 1]


# ---- booking ----------------------------------------------------------------------------------


def test_costs_are_booked_and_asked_only_when_the_order_changes():
    asked = []

    def costs(order):
        asked.append(order.tolist())
        return 2.0 * order.size

    path = run(rounds([1, 1, 1, 2, 2]), costs=costs, cost_unit="ms")
    assert path.costs.tolist() == [2.0, 4.0]
    assert asked == [[0], [0, 1]]
    assert path.cost_unit == "ms"


def test_costs_may_depend_on_the_order_of_entry():
    trace = iter([Step.of([0, 1], penalty=0.1), Step.of([1, 0], penalty=0.2)])
    assert run(trace, costs=lambda order: float(order[0])).costs.tolist() == [0.0, 1.0]


def test_costs_and_scores_that_the_steps_bring_are_kept():
    score = Score(0.5, 0.1, (), "inner")
    path = run(iter([Step.of([0], cost=3.0, score=score)]))
    assert path[0].cost == 3.0
    assert path[0].score is score


def test_the_scorer_sees_the_model_and_the_cost():
    seen = []

    def score(step):
        seen.append((step.model, step.cost))

    run(rounds([1, 2]), costs=lambda order: float(order.size), score=score)
    assert seen == [(0, 1.0), (1, 2.0)]


def test_seconds_run_from_the_start(monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(drive_module, "perf_counter", lambda: float(next(ticks)))
    path = run(rounds([1, 2, 3]))
    seconds = [step.seconds for step in path]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def test_facts_of_the_run_are_kept():
    path = run(rounds([1]), parameters={"depth": 3}, penalty_name="alpha")
    assert path.algorithm == "demo"
    assert path.feature_names == tuple(NAMES)
    assert dict(path.parameters) == {"depth": 3}
    assert path.penalty_name == "alpha"
    assert path.versions["secateur"] == secateur.__version__


def test_the_same_trace_gives_the_same_path():
    losses = [0.5, 0.4, 0.3, 0.35]
    a, b = (run(rounds([1, 1, 2, 3]), score=scoring(losses)) for _ in range(2))
    assert paths_equal(a, b)


def test_an_empty_trace_gives_an_empty_path():
    path = run(iter([]))
    assert len(path) == 0
    assert path.stop_reason is StopReason.FINISHED


def test_on_step_sees_every_booked_raw_step():
    seen = []
    run(rounds([1, 1, 2]), score=scoring([0.5, 0.6, 0.4]), on_step=seen.append)
    assert [step.details["round"] for step in seen] == [0, 1, 2]
    assert [step.score.mean for step in seen] == [0.5, 0.6, 0.4]


# ---- stopping ---------------------------------------------------------------------------------


def endless():
    number = 0
    while True:
        yield Step.of(range(1 + number // 3), penalty=0.1, details={"round": number})
        number += 1


def test_a_full_support_lives_until_the_next_purchase_which_stays_out():
    scored = []

    def score(step):
        scored.append(step.n_features)

    path = run(endless(), rules=[MaxFeatures(2)], score=score, on_step=lambda s: None)
    assert path.stop_reason is StopReason.MAX_FEATURES
    assert kept_rounds(path) == [2, 5]
    assert max(scored) == 2  # what stays out is not scored


def test_a_limit_crossed_by_the_first_step_leaves_an_empty_path():
    path = run(rounds([5, 6]), rules=[MaxFeatures(3)])
    assert len(path) == 0
    assert path.stop_reason is StopReason.MAX_FEATURES
    with pytest.raises(ParameterError, match="max_features"):
        path.cut()


def test_the_budget_is_not_overspent():
    path = run(endless(), costs=lambda order: 1.5 * order.size, rules=[CostBudget(4.0)])
    assert path.stop_reason is StopReason.COST_BUDGET
    assert path.costs.tolist() == [1.5, 3.0]


def test_a_budget_without_costs_is_an_error():
    with pytest.raises(ParameterError, match="needs steps with costs"):
        run(endless(), rules=[CostBudget(4.0)])


def test_patience_counts_raw_steps_since_the_best_score():
    losses = [0.5, 0.4, 0.45, 0.3, 0.35, 0.36, 0.31, 0.2]
    path = run(rounds([1, 1, 1, 1, 2, 2, 2, 2]), score=scoring(losses), rules=[Patience(3)])
    assert path.stop_reason is StopReason.PATIENCE
    assert kept_rounds(path) == [3, 6]


def test_patience_never_ends_a_run_without_scores():
    assert run(rounds([1] * 50), rules=[Patience(2)]).stop_reason is StopReason.FINISHED
    nan = scoring([math.nan] * 50)
    assert run(rounds([1] * 50), score=nan, rules=[Patience(2)]).stop_reason is StopReason.FINISHED


def test_time_limit_keeps_the_step_that_was_done(monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr(drive_module, "perf_counter", lambda: float(next(ticks)))
    path = run(endless(), rules=[TimeLimit(0.5)])
    assert path.stop_reason is StopReason.TIME_LIMIT
    assert len(path) == 1


def test_the_first_rule_with_a_reason_names_it():
    rules = [Patience(1), TimeLimit(1e-12)]
    losses = scoring([0.5] * 5)
    assert run(rounds([1] * 5), score=losses, rules=rules).stop_reason is StopReason.TIME_LIMIT
    both = [TimeLimit(1e9), Patience(1)]
    assert run(rounds([1] * 5), score=losses, rules=both).stop_reason is StopReason.PATIENCE


def test_a_rule_of_ones_own_sees_the_history():
    histories = []

    class AfterThree:
        def reason(self, history):
            histories.append((history.n_raw_steps, history.n_since_best, history.latest.n_features))
            return StopReason.FINISHED if history.n_raw_steps == 3 else None

    path = run(endless(), rules=[AfterThree()])
    assert histories == [(1, 0, 1), (2, 1, 1), (3, 2, 1)]
    assert path.stop_reason is StopReason.FINISHED


# ---- interruption and errors ------------------------------------------------------------------


def interrupted_at(number, sizes):
    for step in rounds(sizes):
        if step.details["round"] == number:
            raise KeyboardInterrupt
        yield step


def raise_at(number, error):
    def hook(step):
        if step.details["round"] == number:
            raise error

    return hook


def test_an_interruption_while_pulling_keeps_what_is_there():
    path = run(interrupted_at(3, [1, 1, 2, 3]))
    assert path.stop_reason is StopReason.INTERRUPTED
    assert kept_rounds(path) == [1, 2]


def test_an_interruption_while_scoring_keeps_the_scored_steps():
    path = run(rounds([1, 2, 3]), score=raise_at(2, KeyboardInterrupt))
    assert path.stop_reason is StopReason.INTERRUPTED
    assert path.n_features.tolist() == [1, 2]


def test_an_interruption_in_the_hook_keeps_its_step():
    path = run(rounds([1, 2, 3]), on_step=raise_at(1, KeyboardInterrupt))
    assert path.stop_reason is StopReason.INTERRUPTED
    assert path.n_features.tolist() == [1, 2]


def test_an_interruption_before_the_first_step_is_raised_again():
    with pytest.raises(KeyboardInterrupt):
        run(interrupted_at(0, [1, 2]))


@pytest.mark.parametrize("where", ["score", "on_step", "costs"])
def test_other_errors_are_raised_as_they_are(where):
    def fail(given):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        run(rounds([1, 2]), **{where: fail})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rules": [MaxFeatures(1)]},
        {"on_step": raise_at(1, KeyboardInterrupt)},
        {"on_step": raise_at(1, RuntimeError)},
    ],
)
def test_the_generator_is_closed_at_the_end(changes):
    closed = []

    def trace():
        try:
            yield from rounds([1, 1, 2, 3])
        finally:
            closed.append(True)

    with suppress(RuntimeError):
        run(trace(), **changes)
    assert closed == [True]


def test_a_generator_may_say_why_it_ended():
    def trace():
        yield Step.of([0])
        return StopReason.NO_GAIN

    assert run(trace()).stop_reason is StopReason.NO_GAIN


def test_a_rule_that_ends_a_run_has_the_last_word():
    def trace():
        yield Step.of([0])
        yield Step.of([0, 1])
        return StopReason.NO_GAIN

    assert run(trace(), rules=[MaxFeatures(1)]).stop_reason is StopReason.MAX_FEATURES
