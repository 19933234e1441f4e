"""The quick form of every figure of the papers runs, and its page can be written."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("lightgbm")
pytest.importorskip("psutil")
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from papers import __main__ as papers  # noqa: E402  # found in the folder above
from papers import regularizers  # noqa: E402  # as above
from papers.figure import Figure, Shown  # noqa: E402  # as above


def figures() -> Iterator[object]:
    for paper in papers.PAPERS:
        for name, figure in papers.figures_of(paper).items():
            marks = [pytest.mark.slow] if figure.is_slow else []
            yield pytest.param(paper, name, id=f"{paper}-{name}", marks=marks)


@pytest.mark.parametrize(("paper", "name"), list(figures()))
def test_quick_form(paper: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.kept.FOLDER", tmp_path)
    try:
        found = papers.run(paper, name, quick=True)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    if found is None:
        pytest.skip("its data are not there")
    found = json.loads(papers.as_text(found))  # as the page has it
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


@pytest.mark.parametrize("strength", [0.01, 0.1])
def test_many_small_regressions_are_those_of_scikit_learn(strength: float) -> None:
    problems = regularizers.draw(3, 4, 1.0, 10, np.random.default_rng(0))
    ridge = regularizers.ridge(problems.X, problems.y, strength)
    lasso = regularizers.lasso(problems.X, problems.y, strength, 3000)
    n_rows = problems.X.shape[1]
    for i, (X, y) in enumerate(zip(problems.X, problems.y, strict=True)):
        kinds = ((ridge, 0.0, 2.0 * strength), (lasso, 1.0, strength))
        for weights, l1_ratio, penalty in kinds:
            model = LogisticRegression(
                C=1.0 / (penalty * n_rows), l1_ratio=l1_ratio, solver="saga", tol=1e-6,
                max_iter=20_000,
            ).fit(X[:, :-1], y)  # fmt: skip
            np.testing.assert_allclose(model.coef_[0], weights[i, :-1], atol=2e-3)


def test_elimination_drops_the_feature_of_the_least_loss() -> None:
    problems = regularizers.draw(2, 3, 1.0, 10, np.random.default_rng(1))
    weights = regularizers.eliminate(problems.X, problems.y)
    assert [np.count_nonzero(w[:, :-1], axis=1).tolist() for w in weights] == [
        [k, k] for k in range(6)
    ]
    full, y = problems.X, problems.y
    for i in range(2):
        losses = []
        for j in range(5):
            X = full[i : i + 1] * (np.arange(6) != j)
            w = regularizers.ridge(X, y[i : i + 1], regularizers.TINY, 100)
            losses.append(np.logaddexp(0, -y[i] * (X[0] @ w[0])).mean())
        assert weights[4][i, int(np.argmin(losses))] == 0.0


def test_no_chosen_penalty_is_at_the_edge_of_its_grid() -> None:
    found = papers.values_of("agbm", "table3")
    assert found is not None
    for methods in found["values"]["sets"].values():
        tuned = {name: each for name, each in methods.items() if "tried" in each}
        assert len(tuned) >= 3
        for name, each in tuned.items():
            grid = [penalty for penalty, *_ in each["tried"]]
            assert min(grid) < each["penalty"] < max(grid), name


def test_tests_named_in_the_table_of_fidelity_exist() -> None:
    tests = Path(__file__).resolve().parent
    text = (tests.parent / "docs" / "papers" / "fidelity.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    code = "".join(file.read_text(encoding="utf-8") for file in tests.rglob("test_*.py"))
    assert len(named) > 80
    assert named <= set(re.findall(r"^def (test_\w+)", code, re.MULTILINE))


def test_the_page_of_the_sets_is_that_of_the_table() -> None:
    page = (papers.DOCS / "data.md").read_text(encoding="utf-8")
    assert page == papers.data_page(), "./dev papers gbfs --page writes it again"
    assert "| `madelon`" in page
