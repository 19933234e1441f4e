"""Features that few of the folds selected are marked as unstable, in words."""

from __future__ import annotations

import pytest
from report.examples import make_evidence, make_path

from secateur.path import SelectionPath, Step, StopReason
from secateur.report import Entry, entry_facts, page
from secateur.report.evidence import StepEvidence
from secateur.report.sentences import unstable_sentence


def sentence(names, frequency):
    path = SelectionPath([Step.of(range(len(names)))], StopReason.FINISHED, list(names), "demo")
    return unstable_sentence(path, 0, StepEvidence(frequency=tuple(frequency)))


@pytest.mark.parametrize("frequency", [[1.0, 0.5, 0.6], []])
def test_half_of_the_folds_is_enough(frequency):
    assert sentence("abc", frequency) == ""


@pytest.mark.parametrize(
    ("frequency", "facts"),
    [([1.0, 0.4, 1.0], ("1 of 3", ": b.")), ([0.0, 0.4, 1.0], ("2 of 3", ": a, b."))],
)
def test_fewer_than_half_is_unstable(frequency, facts):
    assert all(fact in sentence("abc", frequency) for fact in facts)


def test_long_lists_are_cut():
    assert sentence([f"f{j}" for j in range(9)], [0.0] * 9).endswith("f5 and 3 more.")


def one_fold_in_three(path):
    """Evidence of three folds, of which two selected the first feature only."""
    first = SelectionPath(path.steps[:1], path.stop_reason, path.feature_names, "a")
    return make_evidence(path, fold_paths=[path, first, first])


def test_every_step_names_its_unstable_features():
    path = make_path()
    facts = entry_facts(Entry("demo", path, None, one_fold_in_three(path)))
    assert facts.steps[0].unstable == ""
    assert facts.chosen.unstable.startswith("2 of 3 ")
    assert facts.chosen.unstable.endswith("f2, f1.")
    assert entry_facts(Entry("demo", path)).chosen.unstable == ""


def test_the_page_names_them_and_gives_the_limit_to_the_script():
    path = make_path()
    entry = Entry("demo", path, None, one_fold_in_three(path))
    text = page([entry])
    assert f'<p class="unstable">{entry_facts(entry).chosen.unstable}</p>' in text
    assert '"min_frequency":0.5' in text
