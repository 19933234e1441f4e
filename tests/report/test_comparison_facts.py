from __future__ import annotations

import math

import pytest
from report.examples import HOSTILE, make_comparison

from secateur.path.rendering import score_with_error
from secateur.report.comparison import (
    comparison_facts,
    curves_figure,
    seconds_figure,
    stability_figure,
)

METHODS = ("agbm", "grafting", "random", HOSTILE)


@pytest.fixture(scope="module")
def comparison():
    return make_comparison()


@pytest.fixture(scope="module")
def facts(comparison):
    return comparison_facts(comparison)


def test_methods_come_by_rank_with_what_the_comparison_says(comparison, facts):
    assert [row[0] for row in facts["table"][1]] == [(name, name) for name in METHODS]
    heads, rows = facts["table"]
    best = dict(zip(heads, rows[0], strict=True))
    assert best["rank"] == ("1.0", comparison.ranks()[0].mean)
    assert best["own features"] == ("4", 4.0)
    own = next(c for c in comparison.curves("knn") if c.method == "agbm").own
    assert best["knn, own"] == (score_with_error(own.score), own.score.mean)
    assert best["stability, ≤ 5"][1] == comparison.stability(5)["agbm"].index
    assert [row[heads.index("seconds")][1] for row in rows] == [0.5, 1.5, 4.5, 13.5]


def test_the_best_is_tested_against_all_others_by_each_validator(facts):
    assert {tuple(words for words, _ in row[:3]) for row in facts["tests"]} == {
        (validator, method, "agbm")
        for validator in ("logistic", "knn")
        for method in ("grafting", "random", HOSTILE)
    }
    assert all(difference < 0 for _, _, _, (_, difference), *_ in facts["tests"])


def test_failures_are_listed(facts):
    [failure] = facts["failures"]
    assert (failure["method"], failure["status"], failure["n_folds"]) == (HOSTILE, "failed", 1)
    assert failure["message"] == "no luck: <b>singular</b>"


def test_the_answer_names_the_best_method_and_the_sentences_what_was_compared(facts):
    assert "agbm" in facts["answer"]
    assert facts["sentences"][0].startswith("4 methods on 3 folds")
    assert facts["answer"] not in facts["sentences"]


def test_curves_have_every_point_once(comparison):
    figure = curves_figure(comparison, "logistic")
    lines = [trace for trace in figure["data"] if trace["mode"] == "lines+markers"]
    stars = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    assert len(lines) == len(stars) == 4
    curve = next(c for c in comparison.curves("logistic") if c.method == "agbm")
    assert lines[0]["x"] == [1.0, 2.0, 5.0]
    assert lines[0]["y"] == pytest.approx([point.score.mean for point in curve.points])
    assert lines[0]["error_y"]["array"] == pytest.approx(
        [p.score.standard_error for p in curve.points]
    )
    assert stars[0]["x"] == [4.0]
    assert "&lt;script&gt;" in lines[3]["name"]


def test_times_and_stability_are_drawn_by_method(comparison):
    seconds = seconds_figure(comparison)
    assert seconds["data"][0]["x"] == [0.5, 1.5, 4.5, 13.5]
    stability = stability_figure(comparison)["data"][0]
    found = [comparison.stability()[each].index for each in METHODS]
    assert stability["x"] == pytest.approx([index for index in found if math.isfinite(index)])
    assert stability["y"][0] == "agbm"
