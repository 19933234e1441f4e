"""A page in one call."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import secateur
from secateur.exceptions import ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 5))
Y = X[:, 1] - X[:, 3] + 0.1 * RNG.normal(size=90)
SELECTOR = secateur.GraftingRegressor(l1=[0.3, 0.1])


def test_a_selector_becomes_a_page(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    file = secateur.report(SELECTOR, frame, Y, tmp_path / "p.html", cv=2, title="my table")
    text = file.read_text()
    assert secateur.report.is_page(file)
    assert "<title>Features of my table</title>" in text
    assert "held-out" in text
    assert not hasattr(SELECTOR, "path_")


def test_the_type_of_target_may_be_found_by_the_fit(tmp_path):
    selector = secateur.FeatureGradientsSelector(n_features=2, max_epochs=5)
    text = secateur.report(selector, X, Y > 0, tmp_path / "p.html", cv=2).read_text()
    assert "(classification)" in text


def test_costs_of_the_selector_are_shown(tmp_path):
    selector = secateur.AGBMRegressor(
        penalty=0.1, max_iter=5, costs=[1, 2, 3, 4, 5], feature_groups={"left": [1, 3]}
    )
    text = secateur.report(selector, X, Y, tmp_path / "p.html", cv=2).read_text()
    assert "Marginal cost" in text
    assert "left" in text


def test_a_result_of_held_out_is_shown_as_it_is(tmp_path):
    held = secateur.held_out(SELECTOR, X, Y, cv=2, random_state=0)
    file = secateur.report(held, X, Y, tmp_path / "p.html")
    assert held.path.algorithm in file.read_text()
    with pytest.raises(ParameterError, match="'cv'"):
        secateur.report(held, X, Y, tmp_path / "p.html", cv=2)


def test_the_package_is_callable_without_being_imported():
    code = "import secateur; assert callable(secateur.report); secateur.report.write_page"
    subprocess.run([sys.executable, "-c", code], check=True)
