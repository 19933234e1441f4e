"""Correlated features that folds selected in place of unstable ones."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from report.examples import make_evidence, make_path, make_table

from secateur.path import SelectionPath, Step, StopReason
from secateur.report import Entry, Evidence, entry_facts, gather_evidence, page
from secateur.report.evidence import Substitute
from secateur.report.from_data import substitutes

COPY = 0.9952  # the last column of `make_table` is the first with a little noise


def one_step(order, names="abcdef"):
    return SelectionPath([Step.of(order)], StopReason.FINISHED, list(names), "demo")


def found_for(shares, folds, correlation, order=(0, 1)):
    supports = [np.array(sorted(fold)) for fold in folds]
    return substitutes(Step.of(list(order)), shares, supports, correlation)


def test_the_one_that_most_folds_selected_is_the_substitute():
    correlation = {0: {2: 0.99, 3: -0.91, 4: 0.9, 1: 1.0}}
    folds = [{0, 1}, {1, 3}, {3}, {2, 4}, {2, 3, 4}]
    # 3 in three folds without 0; 4 is not correlated enough, 1 is selected anyway
    assert found_for((0.2, 0.4), folds, correlation) == (Substitute(0, 3, -0.91, 3),)


def test_of_two_that_as_many_folds_selected_the_more_correlated_one():
    correlation = {0: {2: 0.95, 3: -0.99, 4: 0.99}}
    folds = [{0}, {2, 3, 4}, {2, 3, 4}]
    assert found_for((1 / 3, 1.0), folds, correlation) == (Substitute(0, 3, -0.99, 2),)


@pytest.mark.parametrize(
    ("shares", "folds"),
    [
        ((0.5, 1.0), [{0}, {2}]),  # half of the folds is stable
        ((1 / 3, 1.0), [{0, 2}, {1}, {1}]),  # it was selected beside the feature only
        ((), []),
    ],
)
def test_stable_features_have_no_substitute_nor_have_those_of_which_none_was_selected(
    shares, folds
):
    assert found_for(shares, folds, {0: {2: 0.99}}) == ()


def swapped(path):
    """Three folds; two of them selected the copy, f5, where the path has f0."""
    other = SelectionPath(
        [Step.of([5 if j == 0 else j for j in step.order.tolist()]) for step in path],
        path.stop_reason,
        path.feature_names,
        "demo",
    )
    return [path, other, other]


def test_substitutes_are_found_in_the_table():
    path = make_path()
    evidence = make_evidence(path, fold_paths=swapped(path))
    X, _ = make_table(path)
    r = round(float(np.corrcoef(X[:, 0], X[:, 5])[0, 1]), 4)
    assert r == pytest.approx(COPY, abs=0.001)
    for step in evidence.steps:
        assert step.substitutes == (Substitute(0, 5, r, 2),)


def test_substitutes_are_in_the_sentence_and_beside_the_feature():
    path = make_path()
    result = entry_facts(Entry("demo", path, None, make_evidence(path, fold_paths=swapped(path))))
    assert "1 of 3" in result.chosen.unstable
    assert "f5 in 2 folds instead of f0" in result.chosen.unstable
    names = [result.features[row].name for row in result.chosen.rows]
    assert dict(zip(names, result.chosen.substitutes, strict=True)) == {
        "f2": "",
        "f1": "",
        "f0": "f5 in 2 folds",
    }
    text = page([Entry("demo", path, None, make_evidence(path, fold_paths=swapped(path)))])
    assert '"substitutes":["","","f5 in 2 folds"]' in text
    without = entry_facts(Entry("demo", path, None, make_evidence(path)))
    assert without.chosen.substitutes == ()


def test_categories_have_substitutes_too():
    codes = np.random.default_rng(0).integers(0, 3, 120)
    frame = pd.DataFrame(
        {
            "town": pd.Categorical.from_codes(codes, ["Bern", "Chur", "Genf"]),
            "canton": pd.Categorical.from_codes(codes, ["BE", "GR", "GE"]),
            "age": np.arange(120.0) % 7,
        }
    )
    path = one_step([0], frame.columns)
    others = [one_step([1], frame.columns)] * 2
    evidence = gather_evidence(
        frame, codes == 1, path, target_type="classification", fold_paths=[path, *others]
    )
    assert evidence.steps[0].substitutes == (Substitute(0, 1, 1.0, 2),)


def test_substitutes_are_saved():
    path = make_path()
    evidence = make_evidence(path, fold_paths=swapped(path))
    text = evidence.to_json()
    assert Evidence.from_json(text).steps == evidence.steps


def test_substitutes_are_in_the_document_and_on_the_console():
    pytest.importorskip("typer")
    from rich.console import Console

    from secateur.cli.documents import selection_document, selection_shown

    path = make_path()
    evidence = make_evidence(path, fold_paths=swapped(path))
    document = selection_document(Entry("demo", path, None, evidence))
    rows = {row["name"]: row for row in document["features"]}
    assert rows["f0"]["substitute"] == {
        "name": "f5",
        "index": 5,
        "correlation": evidence.steps[0].substitutes[0].correlation,
        "folds": 2,
    }
    assert rows["f1"]["substitute"] is None
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*selection_shown(document))
    text = console.export_text()
    assert "f5 (2)" in text
