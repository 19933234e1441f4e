from __future__ import annotations

import sys

import numpy as np
import pytest
from report.examples import make_path, score

from secateur import GraftingClassifier, SelectionPathDisplay
from secateur.exceptions import InputTypeError, MissingDependencyError, ParameterError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


import matplotlib.pyplot as plt  # noqa: E402 - after the choice of a backend without a screen


def test_a_path_is_drawn_with_its_error_and_its_cut():
    path = make_path()
    display = SelectionPathDisplay.from_path(path, selection="one_se", all_features=score(0.34))
    assert display.line_.get_xdata().tolist() == [1, 2, 3, 4]
    assert display.line_.get_ydata().tolist() == [0.5, 0.4, 0.35, 0.345]
    assert display.cut_.get_offsets().tolist() == [[3, 0.35]]
    assert display.band_ is not None
    assert display.ax_.get_ylabel() == "held-out log loss"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["DemoSelector", "cut: 3 features", "all features"]


def test_an_estimator_shows_what_it_chose():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    model = GraftingClassifier(random_state=0).fit(X, X[:, 0] > 0)
    display = SelectionPathDisplay.from_estimator(model, name="mine")
    at = model.selection_.index
    [[x, y]] = display.cut_.get_offsets().tolist()
    assert (x, y) == (model.path_[at].n_features, model.path_[at].score.mean)
    assert display.line_.get_label() == "mine"


def test_it_draws_into_the_axes_that_it_is_given_and_again():
    _, (left, right) = plt.subplots(1, 2)
    path = make_path(costs=[2.0, 3.0, 5.0, 9.0], unit="ms")
    display = SelectionPathDisplay.from_path(path, ax=left)
    assert display.ax_ is left
    assert display.cut_ is None
    display.plot(right, x="cost", line_kw={"color": "k"})
    assert display.ax_ is right
    assert right.get_xlabel() == "cost (ms)"
    assert display.line_.get_xdata().tolist() == [2, 3, 5, 9]
    assert display.line_.get_color() == "k"
    assert display.plot(x="penalty").ax_.get_xlabel() == "penalty"


def test_a_path_without_scores_shows_its_objective():
    display = SelectionPathDisplay.from_path(make_path([None, None]))
    assert display.ax_.get_ylabel() == "training objective"
    assert display.band_ is None


def test_wrong_words_are_refused():
    with pytest.raises(ParameterError, match="'x' must be one of"):
        SelectionPathDisplay.from_path(make_path(), x="size")
    with pytest.raises(ParameterError, match="no cost in any step"):
        SelectionPathDisplay.from_path(make_path(), x="cost")
    with pytest.raises(InputTypeError, match="GraftingClassifier without 'path_'"):
        SelectionPathDisplay.from_estimator(GraftingClassifier())


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"secateur\[plot\]"):
        SelectionPathDisplay.from_path(make_path())
