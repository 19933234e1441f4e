from __future__ import annotations

import numpy as np
import pytest
from report.examples import make_comparison, make_evidence, make_path

from secateur.model_selection.held_out import HeldOut
from secateur.model_selection.stability import Stability
from secateur.model_selection.statistics import nogueira
from secateur.path import Score
from secateur.report import Entry, entry_facts


def results():
    losses = np.linspace(0.9, 0.1, 40).tolist()
    path, comparison = make_path(losses), make_comparison()
    evidence = make_evidence(path)
    supports = (np.arange(40),) * 20
    names = path.feature_names
    yield path
    yield path[-1]
    yield path.cut("best")
    yield Score.of(losses, origin="held_out", metric="log_loss")
    yield HeldOut(path, (path,) * 5, (tuple(range(40)),) * 5, path[0].score, "Ridge", None, ())
    yield Stability(names, supports[0], supports, nogueira(supports, 50), (1.0, 0.5))
    yield nogueira(supports, 50)
    yield comparison
    yield comparison.trials[0]
    yield comparison.trials[0].subsets[0]
    yield comparison.curves()[0]
    yield comparison.ranks()[0]
    yield comparison.paired_tests("knn")[0]
    yield comparison.seconds()["agbm"]
    yield evidence
    yield evidence.distributions[0]
    yield evidence.steps[-1]
    yield Entry("demo", path, None, evidence)
    yield entry_facts(Entry("demo", path, None, evidence))


@pytest.mark.parametrize("result", list(results()), ids=lambda result: type(result).__name__)
def test_the_repr_of_a_result_is_one_short_line(result):
    words = repr(result)
    assert words.startswith(type(result).__name__)
    assert len(words) <= 300
    assert "\n" not in words
