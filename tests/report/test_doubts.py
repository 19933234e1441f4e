"""Features that few of the folds chose are marked, in words."""

from __future__ import annotations

import pytest
from report.worlds import make_evidence, make_path

from secateur.path import SelectionPath
from secateur.report import Entry, entry_facts, page
from secateur.report.answers import doubts


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ([1.0, 0.5, 0.6], ""),
        ([], ""),
        ([1.0, 0.4, 1.0], "Doubtful is 1 of 3, which fewer than half of the folds chose: b."),
        ([0.0, 0.4, 1.0], "Doubtful are 2 of 3, which fewer than half of the folds chose: a, b."),
    ],
)
def test_fewer_than_half_is_doubtful(shares, sentence):
    assert doubts(list("abc"), shares) == sentence


def test_long_lists_are_cut():
    assert doubts([f"f{j}" for j in range(9)], [0.0] * 9).endswith("f5 and 3 more.")


def one_fold_in_three(path):
    """Evidence of three folds, of which two chose the first feature only."""
    first = SelectionPath(path.steps[:1], path.stop_reason, path.feature_names, "a")
    return make_evidence(path, fold_paths=[path, first, first])


def test_every_step_says_which_of_its_features_are_doubtful():
    path = make_path()
    told = entry_facts(Entry("demo", path, None, one_fold_in_three(path)))
    assert told.steps[0].doubt == ""
    assert (
        told.chosen.doubt
        == "Doubtful are 2 of 3, which fewer than half of the folds chose: f2, f1."
    )
    assert entry_facts(Entry("demo", path)).chosen.doubt == ""


def test_the_page_says_it_and_marks_what_it_means():
    path = make_path()
    text = page([Entry("demo", path, None, one_fold_in_three(path))])
    assert (
        '<p class="doubt">Doubtful are 2 of 3, which fewer than half of the folds chose: f2, f1.'
        in text
    )
    assert '"least_share":0.5' in text
