"""The quick form of every figure of the papers runs, and its page can be written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("psutil")
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from papers import __main__ as papers  # noqa: E402  # found in the folder above
from papers.figure import Figure, Shown  # noqa: E402  # as above


def figures() -> Iterator[object]:
    for paper in papers.PAPERS:
        for name, figure in papers.figures_of(paper).items():
            marks = [pytest.mark.slow] if figure.is_slow else []
            yield pytest.param(paper, name, id=f"{paper}-{name}", marks=marks)


@pytest.mark.parametrize(("paper", "name"), figures())
def test_quick_form(paper: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.kept.FOLDER", tmp_path)
    try:
        found = papers.run(paper, name, quick=True)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    if found is None:
        pytest.skip("its data are not there")
    text = papers.block(paper, name, found, tmp_path)
    assert (tmp_path / f"{paper}-{name}.png").stat().st_size > 1_000
    assert "**Here.**" in text
    assert "nan" not in text.lower().split()


def test_a_page_says_what_has_not_been_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = Figure("Figure 9", "It is so.", lambda *_: {}, lambda *_: Shown("", ""))
    monkeypatch.setattr(papers, "figures_of", lambda _: {"fig9": figure})
    monkeypatch.setattr(papers, "DOCS", tmp_path)
    papers.write_page("gbfs")
    text = (tmp_path / "gbfs.md").read_text(encoding="utf-8")
    assert "Not run yet: `./dev papers gbfs fig9`." in text
