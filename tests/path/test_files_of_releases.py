"""Files that a release wrote are read by all later ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from secateur import Comparison, FeatureGradientsSelector, SelectionPath
from secateur.path.codec import Saved
from secateur.report import Evidence

FORMATS = Path(__file__).resolve().parents[1] / "formats"
RELEASES = sorted(file.parent for file in FORMATS.glob("*/path.json"))
STREAMS = sorted(file.parent for file in FORMATS.glob("*/stream.npz"))
KINDS = {"path": SelectionPath, "evidence": Evidence, "comparison": Comparison}


def facts_of(release: Path) -> dict:
    return json.loads((release / "facts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda folder: folder.name)
def test_files_are_read_as_they_were_meant(release):
    facts = facts_of(release)
    path = SelectionPath.load(release / "path.json")
    assert [[step.penalty, step.support.tolist()] for step in path] == facts["path"]
    assert path.cut("best").support.tolist() == facts["chosen"]
    evidence = Evidence.load(release / "evidence.json")
    assert evidence.n_rows == facts["evidence"]["n_rows"]
    assert list(evidence.features) == facts["evidence"]["features"]
    ranks = Comparison.load(release / "comparison.json").ranks()
    assert [rank.method for rank in ranks] == [method for method, _ in facts["comparison"]]
    np.testing.assert_allclose([r.mean for r in ranks], [mean for _, mean in facts["comparison"]])


@pytest.mark.parametrize("release", STREAMS, ids=lambda folder: folder.name)
def test_streams_go_on_where_they_ended(release):
    facts = facts_of(release)["stream"]
    selector = FeatureGradientsSelector(n_features=2, random_state=0)
    selector.resume_stream(release / "stream.npz")
    assert np.flatnonzero(selector.support_).tolist() == facts["chosen"]
    np.testing.assert_allclose(selector.scores_, facts["scores"])
    X = np.random.default_rng(1).normal(size=(150, 6))
    assert selector.partial_fit(X, X[:, 1] - X[:, 4]).support_.sum() == 2


def test_every_version_of_today_has_a_file():
    """A format whose version went up needs a folder of files of the release that writes it."""
    for name, kind in KINDS.items():
        files = (folder / f"{name}.json" for folder in RELEASES)
        versions = {json.loads(file.read_text(encoding="utf-8"))["version"] for file in files}
        assert kind._format.version in versions, name


def test_every_format_is_among_the_files():
    ours = (each for each in Saved.__subclasses__() if each.__module__.startswith("secateur."))
    assert {each._format.name for each in ours} == {kind._format.name for kind in KINDS.values()}
