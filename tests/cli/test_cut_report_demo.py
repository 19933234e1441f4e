"""``secateur cut``, ``report`` and ``demo``; saved results are all they need."""

from __future__ import annotations

import json
import shutil

import pytest

from secateur.cli import select as demonstrating

from .conftest import QUICK, python  # noqa: TID252 - beside this file


@pytest.fixture
def results(run, table, tmp_path):
    assert run("select", table, "-y", "y", "-o", "r", *QUICK).code == 0
    table.unlink()  # what follows does without the data
    return tmp_path / "r"


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ((), "NearBest"),
        (("--one-se",), "OneStandardError"),
        (("--best",), "Best"),
        (("--elbow",), "Elbow"),
        (("--at-most", 4), "AtMost(n_features=4)"),
        (("--budget", 4), "WithinBudget(cost=4.0)"),
    ],
)
def test_choose_again(run, results, options, rule):
    done = run("cut", results / "path.json", *options, "--json")
    assert done.code == 0, done.err
    document = done.document
    assert document["rule"].startswith(rule)
    assert document["features"][0]["frequency"] is not None


def test_a_cut_can_be_written(run, results, tmp_path):
    done = run("cut", results, "--best", "--out", "s")
    assert "Written to s" in done.out
    names = sorted(file.name for file in (tmp_path / "s").iterdir())
    assert names == ["features.txt", "path.json", "report.html", "selection.json"]


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        (("--best", "--elbow"), 2, "one rule"),
        (("--at-most", 0), 2, "at-most"),
        (("--budget", -1), 2, "budget"),
    ],
)
def test_cuts_that_cannot_be(run, results, options, code, reason):
    done = run("cut", results, *options)
    assert (done.code, done.out) == (code, "")
    assert reason in done.err


def test_a_budget_of_zero_needs_a_step_without_features(run, table):
    for name, more in (("grid", ()), ("one", ("--set", "penalty=0.01"))):
        assert run("select", table, "-y", "y", "-o", name, *QUICK, *more).code == 0
    assert run("cut", "grid", "--budget", 0, "--json").document["n_features"] == 0
    done = run("cut", "one", "--budget", 0)
    assert (done.code, done.out) == (1, "")
    assert "lowest cost is 3" in done.err


@pytest.mark.parametrize("text", ["", "{}", '{"format": "secateur.path", "version": 99}', "[1"])
def test_files_that_are_no_paths(run, tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    for command in ("cut", "report"):
        done = run(command, "p.json")
        assert done.code == 1
        assert "p.json" in done.err
    assert run("cut", "missing.json").code == 1


def test_one_page_of_several_paths(run, results, tmp_path):
    done = run("report", results, results / "path.json", "--out", "page.html", "--title", "Both")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert "<title>Both</title>" in page
    again = run("report", results, "--out", "page.html")
    assert again.code == 1
    assert "--force" in again.err
    assert run("report", results, "--out", "page.html", "--force", "--json").document["paths"] == [
        "r"
    ]


@pytest.mark.parametrize("name", ["path.json", "thesis.html"])
def test_a_page_replaces_nothing_but_pages(run, results, tmp_path, name):
    folder = tmp_path / "copy"
    shutil.copytree(results, folder)
    (folder / "thesis.html").write_text("<html>years of work</html>")
    before = (folder / name).read_bytes()
    done = run("report", folder, "--out", folder / name, "--force")
    assert done.code == 1
    assert f"{name} must be a new file" in done.err
    assert (folder / name).read_bytes() == before
    assert run("report", folder, "--out", folder / "report.html").code == 1
    assert run("report", folder, "--out", folder / "report.html", "--force").code == 0


def test_the_page_shows_the_selection_that_was_made(run, table, tmp_path):
    run("select", table, "-y", "y", "-o", "r", "--cut", "best", *QUICK)
    run("report", "r", "-o", "page.html")
    sentence = json.loads((tmp_path / "r" / "selection.json").read_text())["sentence"]
    assert sentence in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--cut", "best"), {"version": 1, "kind": "best"}),
        (("--cut", "2"), {"version": 1, "kind": "at_most", "n_features": 2}),
        ((), {"version": 1, "kind": "near_best", "tolerance": 0.015, "multiple": 0.5}),
    ],
)
def test_the_rule_is_kept_and_cuts_again(run, table, tmp_path, options, rule):
    run("select", table, "-y", "y", "-o", "r", *options, *QUICK)
    document = json.loads((tmp_path / "r" / "selection.json").read_text())
    assert document["cut"] == rule
    assert json.loads((tmp_path / "r" / "path.json").read_text())["cut"] == rule
    (tmp_path / "r" / "path.json").rename(tmp_path / "alone.json")
    assert run("cut", "alone.json", "--json").document["sentence"] == document["sentence"]
    assert run("report", "alone.json", "-o", "page.html").code == 0
    assert document["sentence"] in (tmp_path / "page.html").read_text()


def test_a_path_of_an_older_version_is_shown_as_its_selection_says(run, results, tmp_path):
    text = json.loads((results / "path.json").read_text())
    del text["cut"]
    (results / "path.json").write_text(json.dumps(text))
    result = json.loads((results / "selection.json").read_text())
    result["sentence"] = "Chosen long ago."
    (results / "selection.json").write_text(json.dumps(result))
    assert run("report", results, "-o", "page.html").code == 0
    assert "Chosen long ago." in (tmp_path / "page.html").read_text()


def test_a_cut_that_is_written_keeps_its_own_rule(run, results, tmp_path):
    run("cut", results, "--best", "--out", "s")
    assert run("cut", "s", "--json").document["rule"] == "Best()"


def test_cutting_loads_no_numba_and_no_data_library(results):
    code = (
        "import sys; from secateur.cli import main; "
        f"main(['cut', {str(results)!r}, '--json']); "
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = python("-c", code)
    assert {"numba", "polars", "pandas", "pyarrow", "sklearn"}.isdisjoint(done.stderr.split())
    json.loads(done.stdout)


@pytest.mark.slow
def test_the_demonstration_keeps_no_decoy(run):
    done = run("demo", "--out", "d", "--json")
    names = [row["name"] for row in done.document["features"]]
    assert 5 <= len(names) <= 20
    assert [name for name in names if name.startswith("shuffled")] == []
    score, of_all = done.document["score"], done.document["all_features"]
    assert score["mean"] <= of_all["mean"] + of_all["standard_error"]


def test_the_demonstration_needs_no_arguments(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(demonstrating, "QUICK", ["cv=2", "learning_rate=0.4", "max_iter=10"])
    done = run("demo")
    assert done.code == 0, done.err
    assert "minutes" in done.out
    [folder] = tmp_path.glob("secateur-demo-*")
    assert (folder / "report.html").exists()
    assert str(folder) in done.out
