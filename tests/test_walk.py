"""How far a reader walks from a public function to its kernel: modules passed, frames deep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import secateur
from secateur import AGBMClassifier, FeatureGradientsSelector, compare
from secateur.cli import main

ROOT = str(Path(secateur.__file__).parent)


class Walk:
    """The modules of secateur whose functions a call passes, and the depth of a kernel."""

    def __init__(self, call: Callable[[], Any], kernel: str = "") -> None:
        self.modules: set[str] = set()
        self.depth = 0
        self._kernel = kernel
        before = sys.getprofile()
        sys.setprofile(self._on_event)
        try:
            call()
        finally:
            sys.setprofile(before)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        name = _module(frame)
        if event != "call" or not name:
            return
        self.modules.add(name)
        if name == self._kernel:
            caller = sys._getframe(1)  # a compiled kernel has no frame of its own
            self.depth = max(self.depth, _depth(caller) + (caller is not frame))


def _module(frame: FrameType) -> str:
    file = frame.f_code.co_filename
    return file.removeprefix(ROOT)[1:] if file.startswith(ROOT) else ""


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        # comprehensions have frames before Python 3.12 only
        depth += bool(_module(frame)) and frame.f_code.co_name[0] != "<"
        frame = frame.f_back
    return depth


@pytest.fixture(scope="module")
def problem() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def test_the_walk_of_a_boosted_fit(problem):
    model = AGBMClassifier(max_iter=3, random_state=0).fit(*problem)  # kernels are compiled
    walk = Walk(lambda: model.fit(*problem), kernel="_kernels/boosting.py")
    assert len(walk.modules) <= 40, sorted(walk.modules)
    assert not any(name.startswith("storage/") for name in walk.modules), sorted(walk.modules)
    assert 1 < walk.depth <= 10


def test_the_walk_of_feature_gradients(problem):
    model = FeatureGradientsSelector(max_epochs=2, random_state=0)
    walk = Walk(lambda: model.fit(*problem))
    assert len(walk.modules) <= 40, sorted(walk.modules)


def test_the_walk_of_a_comparison(problem):
    methods = {"agbm": AGBMClassifier(penalty=0.01, max_iter=3, random_state=0)}
    walk = Walk(lambda: compare(*problem, methods, cv=2, random_state=0))
    assert len(walk.modules) <= 88, sorted(walk.modules)


@pytest.mark.slow
def test_the_walk_of_the_command_select(problem, tmp_path, monkeypatch):
    X, y = problem
    monkeypatch.chdir(tmp_path)
    rows = np.column_stack([X, y])
    np.savetxt("t.csv", rows, delimiter=",", header="a,b,c,d,y", comments="", fmt="%.5g")
    walk = Walk(lambda: main(["select", "t.csv", "--target", "y", "--max-features", "2"]))
    assert len(walk.modules) <= 130, sorted(walk.modules)
