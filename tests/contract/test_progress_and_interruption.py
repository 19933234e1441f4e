"""A fit reports its progress, and what it has done is not lost when it is stopped."""

from __future__ import annotations

import pickle
import re
from io import StringIO

import numpy as np
import pytest
from contract.registry import (
    InTens,
    estimator_classes,
    having,
    predictions,
    quick,
    rounds,
    small_problem,
)
from rich.console import Console
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate

from secateur import SelectionPath, StopReason, held_out
from secateur.exceptions import InterruptedWarning

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")

CLASSES = estimator_classes()
PENALTIES = ["auto", 0.001]


class Counter:
    """A callback that counts tasks, and stops or fails at one of them."""

    def __init__(self, at=None, error=None, stop=False):
        self.at, self.error, self.stop = at, error, stop
        self.begun = self.ended = self.n_setups = self.n_teardowns = 0

    def setup(self, estimator, context):
        self.n_setups += 1

    def teardown(self, estimator, context):
        self.n_teardowns += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        if self.ended == self.at:
            if self.error is not None:
                raise self.error
            return self.stop
        return False


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("cls", having("penalty", "set_callbacks"))
def test_callbacks_hear_of_every_round(cls, penalty):
    small = small_problem(cls)
    counter = Counter()
    selector = quick(cls, penalty=penalty).set_callbacks(counter).fit(small.X, small.y)
    assert counter.n_setups == counter.n_teardowns == 1
    assert counter.begun == counter.ended
    assert counter.ended > len(selector.path_)
    plain = quick(cls, penalty=penalty).fit(small.X, small.y)
    np.testing.assert_array_equal(
        predictions(selector, small.X_new), predictions(plain, small.X_new)
    )


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("cls", having("penalty", "set_callbacks"))
@pytest.mark.parametrize("how", ["ctrl_c", "asked"])
def test_an_interrupted_fit_keeps_what_was_done(cls, penalty, how, tmp_path):
    small = small_problem(cls)
    stopper = Counter(
        **{
            "ctrl_c": {"at": 40 if penalty == "auto" else 3, "error": KeyboardInterrupt()},
            "asked": {"at": 3, "stop": True},
        }[how]
    )
    selector = quick(cls, penalty=penalty, on_interrupt="keep", **rounds(cls, 10))
    selector.set_callbacks(stopper)
    with pytest.warns(InterruptedWarning, match="was interrupted. It keeps the"):
        assert selector.fit(small.X, small.y) is selector
    assert stopper.n_teardowns == 1
    assert selector.path_.stop_reason is StopReason.INTERRUPTED
    assert len(selector.path_) >= 1
    assert predictions(selector, small.X_new).shape[0] == 60
    assert selector.transform(small.X_new).shape == (60, selector.support_.sum())
    if hasattr(selector, "staged_predict"):
        assert len(list(selector.staged_predict(small.X_new))) == len(selector.path_)
    selector.with_cut("best")
    selector.path_.save(tmp_path / "path.json")
    loaded = SelectionPath.load(tmp_path / "path.json")
    assert loaded.stop_reason is StopReason.INTERRUPTED
    selector.set_callbacks()
    again = pickle.loads(pickle.dumps(selector))  # noqa: S301
    expected = predictions(selector, small.X_new)
    np.testing.assert_array_equal(predictions(again, small.X_new), expected)
    whole = clone(selector).fit(small.X, small.y)
    for a, b in zip(selector.path_, whole.path_, strict=False):
        assert a.penalty == b.penalty


@pytest.mark.parametrize("cls", having("penalty", "set_callbacks"))
def test_an_interruption_before_anything_is_done_goes_on(cls):
    small = small_problem(cls)
    stopper = Counter(at=1, error=KeyboardInterrupt())
    selector = quick(cls).set_callbacks(stopper)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(small.X, small.y)
    assert stopper.n_teardowns == 1
    assert not hasattr(selector, "selection_")


class Interrupt:
    """Ctrl-C at a step of a path, counted over all fits."""

    n_steps = 0

    def __init__(self, at):
        self.at = at

    def __call__(self, step):
        Interrupt.n_steps += 1
        if Interrupt.n_steps == self.at:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def no_steps_yet():
    Interrupt.n_steps = 0


@pytest.mark.parametrize("how", ["raise", "keep"])
@pytest.mark.parametrize("cls", CLASSES)
def test_ctrl_c_keeps_the_path_and_goes_on_unless_asked_otherwise(cls, how):
    small = small_problem(cls)
    selector = quick(cls, on_step=Interrupt(1), on_interrupt=how)
    if how == "raise":
        with pytest.raises(KeyboardInterrupt, match=f"{cls.__name__} .* 1 step "):
            selector.fit(small.X, small.y)
    else:
        with pytest.warns(InterruptedWarning, match=f"{cls.__name__} .* 1 step "):
            assert selector.fit(small.X, small.y) is selector
    assert selector.path_.stop_reason is StopReason.INTERRUPTED
    assert len(selector.path_) == 1
    assert len(predictions(selector.with_cut("best"), small.X_new)) == 60


@pytest.mark.parametrize("how", ["raise", "keep"])
@pytest.mark.parametrize("cls", CLASSES)
def test_ctrl_c_ends_the_loops_around_a_fit(cls, how):
    small = small_problem(cls)
    selector = quick(cls, on_step=Interrupt(1), on_interrupt=how)
    qid = np.arange(200) // 10 if issubclass(cls, InTens) else None
    with pytest.raises(KeyboardInterrupt):
        held_out(selector, small.X, small.y, cv=2, qid=qid)
    if how == "raise" and hasattr(cls, "predict"):
        Interrupt.n_steps = 0
        with pytest.raises(KeyboardInterrupt):
            GridSearchCV(selector, {"random_state": [0, 1]}, cv=2).fit(small.X, small.y)
        Interrupt.n_steps = 0
        with pytest.raises(KeyboardInterrupt):
            cross_validate(selector, small.X, small.y, cv=2)


@pytest.mark.parametrize("cls", having("penalty", "set_callbacks"))
def test_other_errors_are_raised_as_they_are(cls):
    small = small_problem(cls)
    stopper = Counter(at=2, error=ZeroDivisionError("mine"))
    with pytest.raises(ZeroDivisionError, match="mine"):
        quick(cls, penalty=0.001).set_callbacks(stopper).fit(small.X, small.y)
    assert stopper.n_teardowns == 1


@pytest.mark.parametrize("cls", having("set_callbacks"))
def test_progress_bar_of_scikit_learn(cls, capfd):
    small = small_problem(cls)
    selector = quick(cls).set_callbacks(callback.ProgressBar()).fit(small.X, small.y)
    assert selector.support_.any()
    assert cls.__name__ in capfd.readouterr().out


@pytest.mark.parametrize("cls", having("set_callbacks", "predict"))
def test_callbacks_reach_into_a_search(cls):
    small = small_problem(cls)
    search = GridSearchCV(quick(cls), {"max_features": [2, 3]}, cv=2)
    if not hasattr(search, "set_callbacks"):
        pytest.skip("searches have no callbacks yet")
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(small.X, small.y)
    assert search.best_estimator_.support_.any()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("cls", having("verbose", "penalty"))
def test_silence_is_the_default(cls, penalty, capfd):
    small = small_problem(cls)
    quick(cls, penalty=penalty).fit(small.X, small.y)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("on_screen", [True, False])
@pytest.mark.parametrize("cls", having("verbose", "penalty"))
def test_verbose_shows_a_bar_and_nothing_else(cls, on_screen, penalty, capfd, monkeypatch):
    small = small_problem(cls)
    shown = StringIO()
    console = Console(file=shown, force_terminal=on_screen, width=80, color_system=None)
    monkeypatch.setattr("rich._console", console)
    quick(cls, penalty=penalty, verbose=1).fit(small.X, small.y)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", shown.getvalue().replace("\r", "\n"))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert lines
    assert all(re.fullmatch(cls.__name__ + r" [━╸╺ ]+ *\d+/\d+ [-:\d]+", line) for line in lines)
    if not on_screen:
        done, of = lines[-1].split()[-2].split("/")
        assert 0 < int(done) == int(of)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("cls", having("verbose"))
def test_a_bar_ends_however_the_fit_ends(cls, ending, monkeypatch):
    small = small_problem(cls)
    shown = StringIO()
    console = Console(file=shown, force_terminal=False, width=80, color_system=None)
    monkeypatch.setattr("rich._console", console)

    def end(step):
        if ending is not None:
            raise ending

    selector = quick(cls, verbose=1, on_step=end, stopping=StopAt(1))
    if ending is None:
        selector.fit(small.X, small.y)
    else:
        with pytest.raises(ending):
            selector.fit(small.X, small.y)
    assert not console._live_stack  # no bar is left running
    done, of = re.findall(r"(\d+)/(\d+)", shown.getvalue())[-1]
    assert (int(done) == int(of)) == (ending is None)


class StopAt:
    """A stopping rule of the user's own."""

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def reason(self, history):
        return StopReason.PATIENCE if history.n_raw_steps >= self.n_steps else None
