"""The path as a sequence, as arrays, as rows and as tables."""

from __future__ import annotations

import io
import math
import pickle
import re
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from path_differences import paths_equal
from rich.console import Console

from secateur.exceptions import ComparisonError, MissingDependencyError, ParameterError
from secateur.path import Score, SelectionPath, Step, StopReason


def shown(renderable, width=160):
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(renderable)
    return stream.getvalue()


def test_a_path_is_a_sequence_of_steps(make_path):
    path = make_path([1, 2, 4])
    assert len(path) == 3
    assert path[-1].n_features == 4
    assert [step.n_features for step in path[:2]] == [1, 2]
    assert path[1:3].n_features.tolist() == [2, 4]
    assert path[1:].names_of(path[1]) == ("f0", "f1")
    assert path[::-1].cut("best").n_features == 1
    assert repr(path[3:]) == "SelectionPath('demo', no steps, finished)"
    assert list(path) == list(path.steps)


def test_arrays_have_nan_where_nothing_is_known(make_path):
    path = make_path([1, 2], [0.5, None], standard_error=0.1, costs=[math.nan, 2.0])
    np.testing.assert_array_equal(path.n_features, [1, 2])
    np.testing.assert_array_equal(path.costs, [math.nan, 2.0])
    np.testing.assert_array_equal(path.scores, [0.5, math.nan])
    np.testing.assert_array_equal(path.standard_errors, [0.1, math.nan])
    np.testing.assert_array_equal(path.utilities, [-0.5, math.nan])


def test_arrays_of_an_empty_path_are_empty(make_path):
    path = make_path([])
    assert path.n_features.dtype == np.int64
    assert path.scores.shape == path.costs.shape == (0,)
    assert repr(path) == "SelectionPath('demo', no steps, finished)"
    assert path.to_rows() == []
    assert "no steps" in shown(path)


def test_a_path_cannot_be_changed(make_path):
    path = make_path([1], parameters={"depth": [1, 2], "loss": {"name": "log"}})
    with pytest.raises(FrozenInstanceError):
        path.algorithm = "other"
    with pytest.raises(TypeError):
        path.parameters["depth"] = 3
    with pytest.raises(TypeError):
        path.parameters["loss"]["name"] = "other"
    assert path.parameters["depth"] == (1, 2)


def test_changing_the_given_parameters_does_not_change_the_path(make_path):
    parameters = {"depth": [1, 2]}
    path = make_path([1], parameters=parameters)
    parameters["depth"].append(3)
    assert path.parameters["depth"] == (1, 2)


def test_names_follow_the_support():
    steps = [Step.of([2, 0]), Step.of([2, 1, 3])]
    path = SelectionPath(steps, StopReason.FINISHED, list("abcd"), "demo")
    assert path.names_of(path[0]) == ("a", "c")
    assert path.entered(0) == ("c", "a")
    assert path.entered(1) == path.entered(-1) == ("b", "d")
    assert path.left(0) == ()
    assert path.left(1) == ("a",)
    with pytest.raises(IndexError):
        path.entered(2)


def test_cut_gives_the_step_and_its_names(make_path):
    path = make_path([1, 3], [0.5, 0.2], costs=[1.0, 2.0])
    chosen = path.cut("best")
    assert chosen.index == 1
    assert chosen.names == ("f0", "f1", "f2")
    assert chosen.rule == "Best()"
    assert chosen.cost == 2.0
    assert chosen.score is path[1].score
    assert chosen.n_features == 3
    assert chosen.mask.tolist() == [True] * 3 + [False] * 7


def test_rows_are_plain():
    score = Score(0.5, 0.1, (0.4, 0.6), "held_out", "log_loss")
    step = Step.of([1, 0], penalty=0.2, objective=0.3, cost=2.0, score=score, details={"round": 7})
    path = SelectionPath([step, Step.of([1])], StopReason.FINISHED, ["a", "b"], "demo")
    first, second = path.to_rows()
    assert first == {
        "step": 0,
        "n_features": 2,
        "cost": 2.0,
        "score": 0.5,
        "standard_error": 0.1,
        "metric": "log_loss",
        "origin": "held_out",
        "penalty": 0.2,
        "objective": 0.3,
        "seconds": 0.0,
        "entered": ["b", "a"],
        "left": [],
        "details.round": 7,
    }
    assert math.isnan(second["score"])
    assert second["left"] == ["a"]


def test_frame_has_one_row_for_each_step(make_path):
    pytest.importorskip("pandas")
    frame = make_path([1, 2], [0.5, 0.2]).to_frame()
    assert frame["n_features"].tolist() == [1, 2]
    assert frame["score"].tolist() == [0.5, 0.2]


def test_without_pandas_the_error_says_what_to_install(make_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pip install 'pandas'"):
        make_path([1]).to_frame()


def test_repr_is_short(make_path):
    path = make_path([2, 1, 4], stop_reason=StopReason.PATIENCE)
    assert repr(path) == "SelectionPath('demo', 3 steps, 1 to 4 of 10 features, patience)"
    assert repr(make_path([2])) == "SelectionPath('demo', 1 step, 2 of 10 features, finished)"


def test_the_console_table_shows_what_happened(make_path):
    path = make_path([1, 3], [0.5, 0.2], costs=[1.0, 2.5], cost_unit="ms")
    text = shown(path)
    assert "cost (ms)" in text
    assert "held-out log_loss" in text
    assert "penalty" in text
    assert "0.2000 ± 0.1000" in text
    assert "f1, f2" in text


def test_what_is_not_known_is_left_blank(make_path):
    assert "nan" not in make_path([1, 2])._repr_html_()
    assert "nan" not in make_path([1], [0.5], standard_error=math.nan)._repr_html_()


def test_features_that_left_are_shown_with_a_minus(make_path):
    assert "-f1, -f2" in shown(make_path([3, 1]))


def test_names_with_markup_are_shown_and_not_obeyed():
    names = ["[red]a[/red]", "<script>alert(1)</script>", "[/]"]
    path = SelectionPath([Step.of([0, 1, 2])], StopReason.FINISHED, names, "<b>", "<i>", "<u>")
    assert "[red]a[/red], <script>alert(1)</script>, [/]" in shown(path)
    page = path._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not any(tag in page for tag in ("<b>", "<i>", "<u>"))
    assert "[red]a[/red]" in shown(path.cut())


def test_long_paths_and_many_names_are_shortened(make_path):
    path = make_path(range(20, 220, 2), n_features=300)
    page = path._repr_html_()
    assert page.count("<tr>") == 42  # head, 40 steps, dots
    assert "(60 more steps)" in page
    assert "f5 and 14 more" in page
    assert "f216, f217" in page  # the last step is there


def test_notebooks_show_the_curve_of_a_path_with_scores(make_path):
    page = make_path([1, 2, 5], [0.5, 0.3, 0.4])._repr_html_()
    assert page.count("<circle") == 3
    # the step of 5 features is no better than that of 2: the line does not go there
    assert re.search('points="([^"]*)"', page)[1] == "64.0,10.0 135.0,108.0"
    assert ">0.5000</text>" in page
    assert ">5 features</text>" in page


@pytest.mark.parametrize(
    ("sizes", "losses"), [([1, 2], None), ([1, 1], [0.5, 0.4]), ([1, 2], [0.5, math.nan])]
)
def test_without_two_scores_there_is_no_curve(make_path, sizes, losses):
    assert "<svg" not in make_path(sizes, losses)._repr_html_()


def test_equal_scores_make_a_flat_curve(make_path):
    assert 'points="64.0,59.0"' in make_path([1, 2], [0.5, 0.5])._repr_html_()


def test_the_selection_shows_itself_in_notebooks():
    step = Step.of([0, 1])
    path = SelectionPath([step], StopReason.FINISHED, ["<b>a</b>", "c"], "demo")
    page = path.cut()._repr_html_()
    assert "<b>&lt;b&gt;a&lt;/b&gt;, c</b>" in page
    assert "2 of 2 features" in page


def test_the_selection_shows_its_sentence(make_path):
    chosen = make_path([1, 2], [0.5, 0.2]).cut("best")
    assert "the best held-out log_loss (0.2000)." in shown(chosen)
    assert "f0, f1" in shown(chosen)
    assert "and 40 more" in shown(make_path([100], n_features=100).cut())
    assert repr(chosen) == "Selection(2 of 10 features, Best())"


def test_paths_and_selections_survive_pickling(make_path):
    path = make_path([1, 2], [0.5, 0.2], parameters={"depth": [1, {"a": 2}]}, versions={"x": "1"})
    again = pickle.loads(pickle.dumps(path))  # noqa: S301
    assert paths_equal(path, again)
    assert again.versions == path.versions
    chosen = pickle.loads(pickle.dumps(path.cut("best")))  # noqa: S301
    assert chosen.names == ("f0", "f1")
    assert not chosen.support.flags.writeable


def test_every_feature_must_have_a_name(make_path):
    with pytest.raises(ParameterError, match="Got 3 names and feature 4"):
        make_path([1, 5], n_features=3)


def test_scores_of_one_path_are_of_one_kind():
    scores = [Score(0.1, 0.0, (), "inner"), Score(0.1, 0.0, (), "held_out")]
    steps = [Step.of([0], score=score) for score in scores]
    with pytest.raises(ComparisonError, match="one metric and one origin"):
        SelectionPath(steps, StopReason.FINISHED, ["a"], "demo")


def test_parameters_must_be_json_values(make_path):
    with pytest.raises(ParameterError, match=r"'parameters\.model' must be a JSON value"):
        make_path([1], parameters={"model": object()})


def test_a_stop_reason_reads_as_its_word():
    assert str(StopReason.TIME_LIMIT) == StopReason.TIME_LIMIT == "time_limit"
    with pytest.raises(ValueError, match="bored"):
        SelectionPath([], "bored", [], "demo")


def test_selection_keeps_names_and_support_together(make_path):
    from dataclasses import replace

    with pytest.raises(ParameterError, match="one name for each feature"):
        replace(make_path([2]).cut("best"), names=("a",))
