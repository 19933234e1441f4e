from __future__ import annotations

import io
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from secateur.exceptions import ParameterError, StorageError
from secateur.model_selection.comparison import Comparison, Subset, Trial
from secateur.model_selection.statistics import corrected_t, nogueira

# accuracy by method, size (None: own choice) and fold
SCORES = {
    "wise": {1: (0.7, 0.8, 0.7), 5: (0.9, 0.8, 0.9), None: (0.9, 0.9, 0.8)},
    "lucky": {1: (0.7, 0.6, 0.6), 5: (0.8, 0.9, 0.8), None: (0.8, 0.8, 0.7)},
    "all": {None: (0.85, 0.8, 0.8)},
}
CHOSEN = {1: 1, 5: 4, None: 3}


def trial_of(method, fold, by_size):
    subsets = [
        Subset(
            size,
            np.arange(10) if method == "all" else (np.arange(CHOSEN[size]) + fold % 2)[::-1],
            {"knn": scores[fold], "trees": scores[fold] - 0.1 * (method == "wise")},
        )
        for size, scores in by_size.items()
    ]
    return Trial(method, fold, "done", seconds=1.0 + fold, subsets=subsets)


def made(**changes):
    trials = [trial_of(m, f, by_size) for m, by_size in SCORES.items() for f in range(3)]
    trials += [
        Trial("slow", 0, "timed_out", "It took longer than 2 seconds.", 2.0),
        Trial("slow", 1, "failed", "ValueError: <b>no</b> [bold]good", 0.5),
        trial_of("slow", 2, {5: (0, 0, 0.2)}),
    ]
    what = {
        "trials": trials,
        "methods": ["wise", "lucky", "slow", "all"],
        "validators": ["knn", "trees"],
        "sizes": [5, 1],
        "feature_names": [f"f{j}" for j in range(10)],
        "fold_sizes": [(20, 10)] * 3,
        "target_type": "classification",
        "metric": "accuracy",
        "greater_is_better": True,
        "seed": 7,
        "parameters": {"time_limit": 2.0, "cv": None},
        "versions": {"secateur": "0"},
    }
    return Comparison(**{**what, **changes})


def test_curves_have_the_folds_and_their_standard_error():
    curve = next(c for c in made().curves("knn") if c.method == "wise")
    assert [point.size for point in curve.points] == [1, 5]
    assert curve.points[1].score.folds == (0.9, 0.8, 0.9)
    assert curve.points[1].score.standard_error == pytest.approx(
        np.std([0.9, 0.8, 0.9], ddof=1) / 3**0.5
    )
    assert curve.points[1].score.origin == "held_out"
    assert curve.points[1].n_features == 4.0
    assert curve.own.n_features == 3.0
    assert len(made().curves()) == 8


def test_a_curve_has_only_the_sizes_and_folds_that_there_are():
    by_method = {curve.method: curve for curve in made().curves("knn")}
    assert by_method["all"].points == ()
    assert by_method["all"].own.n_features == 10
    [only] = by_method["slow"].points
    assert (only.size, only.score.folds) == (5, (0.2,))
    assert by_method["slow"].own is None


def test_mean_ranks_by_hand():
    ranks = {rank.method: rank for rank in made().ranks("knn")}
    # folds at size 1: wise 1.5, 1, 1; lucky 1.5, 2, 2; slow 3, 3, 3
    # folds at size 5: wise 1, 2, 1; lucky 2, 1, 2; slow 3, 3, 3
    assert ranks["wise"].mean == pytest.approx(7.5 / 6)
    assert ranks["lucky"].mean == pytest.approx(10.5 / 6)
    assert ranks["slow"].mean == 3.0
    assert ranks["wise"].n_rankings == 6
    assert "all" not in ranks
    assert [rank.method for rank in made().ranks("knn", 5)] == ["wise", "lucky", "slow"]


def test_where_less_is_better_ranks_and_differences_turn_round():
    less = made(greater_is_better=False, metric="log_loss")
    assert [rank.method for rank in less.ranks("knn")] == ["lucky", "wise", "slow"]
    [test] = [t for t in less.paired_tests("knn", 5) if t.method == "wise" and t.other == "lucky"]
    assert test.difference == pytest.approx(-1 / 30)


def test_paired_tests_are_corrected_twice():
    tests = made().paired_tests("knn")
    assert [(t.method, t.other) for t in tests] == [
        ("wise", "lucky"),
        ("wise", "all"),
        ("lucky", "all"),
    ]
    first = tests[0]
    standard_error, _, _ = corrected_t(np.array([0.1, 0.1, 0.1]), 0.5)
    assert (first.difference, first.n_folds) == (pytest.approx(0.1), 3)
    assert first.standard_error == pytest.approx(standard_error, abs=1e-12)
    assert all(test.p_adjusted >= test.p for test in tests)
    against = made().paired_tests("knn", 5, against="wise")
    assert [(t.method, t.other, t.size) for t in against] == [("lucky", "wise", 5)]
    assert against[0].difference == pytest.approx(-1 / 30)


def test_stability_is_nogueiras_index_of_the_folds():
    found = made().stability(5)
    sets = [np.arange(4) + fold % 2 for fold in range(3)]
    assert found["wise"] == nogueira(sets, 10)
    assert math.isnan(found["slow"].index)
    assert math.isnan(made().stability()["all"].index)


def test_seconds_count_what_was_done_and_what_was_not():
    seconds = made().seconds()
    assert seconds["wise"].median == 2.0
    assert (seconds["slow"].median, seconds["slow"].total, seconds["slow"].n_done) == (3.0, 5.5, 1)


def test_failures_are_reported():
    comparison = made()
    assert [trial.status for trial in comparison.failures] == ["timed_out", "failed"]
    assert "slow failed on 2 folds" in str(comparison)
    assert comparison.is_complete
    assert not made(trials=comparison.trials[:-1]).is_complete
    assert "so far" in str(made(trials=comparison.trials[:-1]))


def test_frame_has_a_row_for_each_method_fold_size_and_validator():
    frame = made().frame()
    assert len(frame) == 2 * (3 * 3 + 3 * 3 + 3 + 1) + 2
    wise = frame.query("method == 'wise' and fold == 1 and validator == 'knn'")
    assert wise["score"].tolist() == [0.8, 0.8, 0.9]
    assert wise["size"].isna().tolist() == [False, False, True]
    assert wise["features"].iloc[0] == ["f1"]
    failed = frame[frame["status"] != "done"]
    assert failed["message"].tolist()[0] == "It took longer than 2 seconds."


def test_json_brings_back_everything(tmp_path):
    comparison = made()
    again = Comparison.from_json(comparison.to_json())
    assert again.to_json() == comparison.to_json()
    assert again.sizes == (1, 5)
    assert again.trials[0].subsets[1].order.tolist() == [3, 2, 1, 0]
    comparison.save(tmp_path / "c.json")
    assert Comparison.load(tmp_path / "c.json").to_json() == comparison.to_json()
    assert [file.name for file in tmp_path.iterdir()] == ["c.json"]
    assert pickle.loads(pickle.dumps(comparison)).to_json() == comparison.to_json()  # noqa: S301


def test_a_comparison_without_trials_has_an_empty_frame():
    empty = made(trials=[])
    assert len(empty.frame()) == 0
    assert "score" in empty.frame().columns
    assert empty.ranks() == empty.paired_tests() == ()
    assert "no scores" in str(empty)


def test_files_of_version_1_are_read_for_ever():
    golden = Path(__file__).parents[1] / "golden" / "comparison_v1.json"
    assert json.loads(Comparison.load(golden).to_json()) == json.loads(golden.read_bytes())
    assert Comparison.load(golden).to_json() == made().to_json()


def test_json_is_strict_and_keeps_what_is_not_a_number():
    nan = Trial("wise", 0, "done", "knn failed", math.nan, [Subset(1, [0], {"knn": math.nan})])
    text = made(trials=[nan]).to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    again = Comparison.from_json(text).trials[0]
    assert math.isnan(again.seconds)
    assert math.isnan(again.score("knn", 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="secateur.path"), "must have the format"),
        (lambda d: d.update(version=99), "newer secateur"),
        (lambda d: d.pop("trials"), "damaged"),
        (lambda d: d["trials"][0].update(status="perhaps"), "damaged"),
        (lambda d: d["trials"][0].update(method="nobody"), "damaged"),
        (lambda d: d["trials"][0].update(fold=17), "damaged"),
        (lambda d: d["trials"][0]["subsets"][0].update(order=[99]), "damaged"),
        (lambda d: d["trials"].append(d["trials"][0]), "damaged"),
        (lambda d: d.update(methods="wise"), "damaged"),
    ],
)
def test_a_damaged_file_is_refused_in_plain_words(change, message):
    document = json.loads(made().to_json())
    change(document)
    with pytest.raises(StorageError, match=message):
        Comparison.from_json(json.dumps(document))


def test_unknown_names_and_sizes_are_refused():
    comparison = made()
    with pytest.raises(ParameterError, match="no such validator"):
        comparison.curves("svm")
    with pytest.raises(ParameterError, match="no such size"):
        comparison.stability(3)
    with pytest.raises(ParameterError, match="no such method"):
        comparison.paired_tests(against="nobody")
    with pytest.raises(ParameterError, match="one subset for each size"):
        Trial("a", 0, "done", subsets=[Subset(1, [0]), Subset(1, [1])])


def test_results_cannot_be_written_to():
    comparison = made()
    with pytest.raises(ValueError, match="read-only"):
        comparison.trials[0].subsets[0].order[0] = 5
    with pytest.raises(TypeError):
        comparison.trials[0].subsets[0].scores["knn"] = 1.0


def test_tables_show_names_as_text_and_the_best_first():
    markup = "[bold]<script>"
    trials = [Trial(markup, 0, "done", seconds=1.0, subsets=[Subset(5, [1], {"knn": 0.5})])]
    shown = made(trials=trials, methods=[markup], fold_sizes=[(20, 10)])
    console = Console(file=io.StringIO(), width=200)
    console.print(shown)
    assert markup in console.file.getvalue()
    assert "&lt;script&gt;" in shown._repr_html_()
    console.print(made())
    text = console.file.getvalue()
    assert text.index("wise") < text.index("lucky") < text.index("slow")
    assert repr(made()) == "Comparison(4 methods, 3 folds, 2 validators, 12 of 12 trials)"
