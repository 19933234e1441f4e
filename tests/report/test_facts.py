from __future__ import annotations

import math

import numpy as np
import pytest
from report.examples import make_evidence, make_path, score

from secateur.exceptions import ParameterError
from secateur.path import AtMost, SelectionPath, Step, StopReason
from secateur.report import Entry, entry_facts
from secateur.report import facts as thinning


def test_facts_of_a_path_alone():
    result = entry_facts(Entry("demo", make_path([0.5, 0.4, 0.35, 0.345])))
    assert (result.title, result.path.algorithm) == ("demo", "DemoSelector")
    assert result.score_kind == "held-out log loss"
    assert result.steps[result.cut].step.n_features == 3  # 0.35 is within 0.01 of 0.345
    assert result.rules == {"near_best": 2, "one_se": 2, "best": 3, "elbow": 1}
    assert result.shown.n_features.tolist() == [1, 2, 3, 4]
    assert result.shown.scores.tolist() == [0.5, 0.4, 0.35, 0.345]
    assert not result.has_costs
    assert result.evidence is None


def test_features_of_a_step_come_in_order_of_entry_with_their_share_of_the_weight():
    chosen = entry_facts(Entry("demo", make_path())).chosen
    # weights 3, 2, 1 of features 2, 1, 0, which is also the order of entry
    assert chosen.place == (1, 2, 3)
    assert chosen.gain == (3 / 6, 2 / 6, 1 / 6)


def test_rows_of_the_table_are_those_of_the_cut_and_then_the_others():
    result = entry_facts(Entry("demo", make_path()))
    assert [each.name for each in result.features] == ["f2", "f1", "f0", "f3"]
    assert result.chosen.rows == (0, 1, 2)
    assert result.steps[3].rows == (3, 0, 1, 2)


def test_a_selection_of_ones_own_is_the_cut_and_keeps_its_sentence():
    path = make_path()
    chosen = path.cut(AtMost(2))
    result = entry_facts(Entry("demo", path, chosen))
    assert result.chosen.step.n_features == 2
    assert result.chosen.reason == chosen.sentence
    assert result.steps[0].reason == "Step 1 of 4, chosen by hand."
    assert result.steps[3].reason == path.cut("best").sentence


def test_steps_are_ordered_by_size_whichever_way_the_path_went():
    path = make_path([0.5, 0.4, 0.3])
    back = SelectionPath(path.steps[::-1], path.stop_reason, path.feature_names, "demo")
    result = entry_facts(Entry("demo", back))
    assert result.shown.n_features.tolist() == [1, 2, 3]
    assert [step.index for step in result.steps] == [2, 1, 0]
    assert result.chosen.step.n_features == 3
    assert back.left(result.steps[0].index) == ("f1",)


def test_steps_of_one_size_are_labelled_with_their_penalty():
    steps = [Step.of([0], penalty=0.5), Step.of([1], penalty=0.25), Step.of([0, 1], penalty=0.1)]
    path = SelectionPath(steps, StopReason.FINISHED, "abc", "demo", "l1")
    labels = [step.label for step in entry_facts(Entry("demo", path)).steps]
    assert labels == ["1 feature, l1 0.5", "1 feature, l1 0.25", "2 features"]


def test_a_path_without_scores_has_no_rules_and_no_kind():
    result = entry_facts(Entry("demo", make_path([None, None])))
    assert result.rules == {}
    assert result.score_kind == ""
    assert result.chosen.step.n_features == 2


def test_weights_of_zero_share_nothing():
    path = SelectionPath([Step.of([0, 1], np.zeros(2))], StopReason.FINISHED, "ab", "demo")
    assert entry_facts(Entry("demo", path)).chosen.gain == (0.0, 0.0)


def test_negative_weights_count_by_their_size():
    path = SelectionPath([Step.of([0, 1], [-3.0, 1.0])], StopReason.FINISHED, "ab", "demo")
    assert entry_facts(Entry("demo", path)).chosen.gain == (0.75, 0.25)


def test_evidence_of_steps_and_features():
    path = make_path(costs=[2.0, 5.0, 9.0, 10.0], unit="ms")
    evidence = make_evidence(
        path, costs=[1, 4, 3, 2, 7, 7], feature_groups={"lab": [0, 1], "x": [1]}
    )
    result = entry_facts(Entry("demo", path, None, evidence))
    assert result.has_costs
    first = {each.name: each for each in result.features}
    assert (first["f2"].cost, first["f2"].groups) == (3.0, ())
    assert (first["f1"].cost, first["f1"].groups) == (4.0, ("lab", "x"))
    # f1 pays for the group that f0 is in as well
    assert result.chosen.paid == (3.0, 4.0, 0.0)
    # two folds of three have the same path, the third knows feature 0 only
    assert result.chosen.frequency == (2 / 3, 2 / 3, 1.0)
    assert result.chosen.answer == (
        "3 of 6 features for 9 ms instead of 20: held-out log loss 0.3500, 0.0100 worse than all "
        "6 features (0.3400), which is within one standard error (0.0100)."
    )


def test_tasks_come_in_the_order_of_their_numbers():
    order = ["10", "2", "field 10", "field 9", "field 9b", "²", "field 0010", "east", "9" * 5000]
    steps = [Step.of([0], supports={task: [0] for task in order})]
    path = SelectionPath(steps, StopReason.FINISHED, ["a"], "demo")
    result = list(entry_facts(Entry("demo", path)).chosen.tasks)
    assert result[:3] == ["2", "10", "9" * 5000]
    assert result[3:] == ["east", "field 9", "field 9b", "field 10", "field 0010", "²"]


def test_tasks_list_their_rows():
    step = Step.of([2, 0, 1], supports={"a": np.array([0, 2]), "b": np.array([1])})
    path = SelectionPath([step], StopReason.FINISHED, ["f0", "f1", "f2"], "demo")
    result = entry_facts(Entry("demo", path))
    names = [each.name for each in result.features]
    in_words = {task: {names[row] for row in rows} for task, rows in result.chosen.tasks.items()}
    assert in_words == {"a": {"f0", "f2"}, "b": {"f1"}}


def test_long_paths_are_thinned_but_rules_and_ends_stay(monkeypatch):
    monkeypatch.setattr(thinning, "MAX_STEPS", 10)
    losses = [1.0 - 0.01 * size for size in range(60)]
    path = make_path(losses)
    result = entry_facts(Entry("demo", path, path.cut(AtMost(7))))
    assert len(result.steps) <= 10
    assert result.chosen.step.n_features == 7
    assert result.steps[-1].step.n_features == 60
    assert result.steps[result.rules["best"]].step.n_features == 60


def test_wide_steps_list_the_features_of_largest_weight(monkeypatch):
    monkeypatch.setattr(thinning, "MAX_LISTED", 3)
    path = SelectionPath(
        [Step.of([4, 0, 3, 1, 2], np.arange(5.0))], StopReason.FINISHED, "abcde", "demo"
    )
    result = entry_facts(Entry("demo", path))
    names = [result.features[row].name for row in result.chosen.rows]
    assert names == ["e", "d", "c"]
    assert result.chosen.place == (1, 3, 5)
    assert result.chosen.n_unlisted == 2
    assert result.chosen.gain == (0.4, 0.3, 0.2)


def test_entries_share_the_limits(monkeypatch):
    monkeypatch.setattr(thinning, "MAX_ROWS", 120)
    path = make_path([1.0 - 0.001 * size for size in range(100)])
    assert len(entry_facts(Entry("demo", path)).features) == 100
    assert len(entry_facts(Entry("demo", path), n_entries=2).features) == 60


def test_a_path_without_steps_is_refused():
    path = SelectionPath([], StopReason.MAX_FEATURES, ["a"], "demo")
    with pytest.raises(ParameterError, match=r"paths with steps\. Got none in 'demo'"):
        entry_facts(Entry("demo", path))


def test_evidence_of_another_path_is_refused():
    path, other = make_path([0.5, 0.4]), make_path([0.5, 0.4, 0.3])
    with pytest.raises(ParameterError, match="evidence must be of the same path"):
        entry_facts(Entry("demo", path, None, make_evidence(other)))


def test_no_step_of_the_page_has_more_features_than_the_path_says():
    result = entry_facts(Entry("demo", make_path([math.nan, 0.4])))
    assert math.isnan(result.shown.scores[0])
    assert result.steps[0].answer == "1 of 4 features: no score."
    assert score(None) is None
